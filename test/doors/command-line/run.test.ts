/** `operations-bridge run`: one call through the bridge, carried out once, and waited for if asked to. */

import { after, answers, asks, cut, hangUp, never, ok, page, problem, times, withCtrlC } from './answers.ts';
import { describeScenarios, type Scenario } from './scenario.ts';

const BRANCHES = 'POST /api/v2/projects/p-1/branches';
const KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const branch = { branch: { id: 'br-1', name: 'ci' }, operations: [{ id: 'op-1', project_id: 'p-1' }] };
const started = answers(201, branch);
const SENT = 'GET /bridge/v1/projects/p-1/commands/req-1';
const running = ok({ command: { settled: false, events: [] } });
const settledAs = (outcome: string) =>
  ok({ command: { settled: true, events: [{ detail_type: 'Command Settled', detail: { outcome } }] } });

const OF_THE_LINE = { 'bridge-request-id': 'req-2', 'bridge-command': '/bridge/v1/commands/cmd-1' };
const queued = answers(
  202,
  { command: { command_id: 'cmd-1', project_id: 'p-1', state: 'queued' } },
  OF_THE_LINE,
);
const QUEUED = 'GET /bridge/v1/commands/cmd-1';
const inLine = (state: string, reason?: string) =>
  ok({ command: { command_id: 'cmd-1', project_id: 'p-1', state, reason } });

const inLineWith = (state: string, status: number, content?: object) => {
  const answer = { status, body: JSON.stringify(content) };
  return ok({ command: { command_id: 'cmd-1', project_id: 'p-1', state, answer } });
};

const create = ['run', 'POST', '/projects/p-1/branches', '--data', '{"branch":{"name":"ci"}}'];
const inProgress = problem(409, 'The first request is in progress.', { type: 'in-progress' });

const sending: readonly Scenario[] = [
  {
    title: 'prints the answer as it is, and sends no key with a read',
    args: ['run', 'GET', '/projects?limit=2'],
    script: [
      asks('GET /api/v2/projects?limit=2', ok({ projects: [{ id: 'p-1' }] }), {
        headers: { 'idempotency-key': null, prefer: null, 'bridge-deadline': null, 'content-type': null },
      }),
    ],
    code: 0,
    output: JSON.stringify({ projects: [{ id: 'p-1' }] }, null, 2),
    notes: '',
    asProcess: true,
  },
  ...(['POST', 'PUT', 'PATCH', 'DELETE'] as const).map(
    (method): Scenario => ({
      title: `sends a ${method} with a key, which makes its repetition safe`,
      args: ['run', method.toLowerCase(), '/projects/p-1', '--data', '{"project":{}}'],
      script: [
        asks(`${method} /api/v2/projects/p-1`, hangUp, {
          headers: { 'idempotency-key': KEY, 'content-type': 'application/json' },
          body: { project: {} },
        }),
        asks(`${method} /api/v2/projects/p-1`, ok({ project: { id: 'p-1' } }), {
          headers: { 'idempotency-key': KEY },
          body: { project: {} },
        }),
      ],
      code: 0,
      waits: [1, 1],
    }),
  ),
  {
    title: 'takes the key that was given, and a path of the bridge as it is',
    args: ['run', 'DELETE', '/bridge/v1/freeze', '--idempotency-key', 'deploy-7'],
    script: [
      asks('DELETE /bridge/v1/freeze', ok({ frozen: false }), { headers: { 'idempotency-key': 'deploy-7' } }),
    ],
    code: 0,
  },
  {
    title: 'repeats a command that was hung up on, cut off and never answered, until it is answered',
    args: create,
    script: [
      asks(BRANCHES, hangUp),
      asks(BRANCHES, cut(branch)),
      asks(BRANCHES, never),
      asks(BRANCHES, started),
    ],
    code: 0,
    output: JSON.stringify(branch, null, 2),
    waits: [36, 60],
  },
  {
    title: 'asks again while the first request under the key is in progress, and prints what became of it',
    args: create,
    script: [...times(2, asks(BRANCHES, inProgress)), asks(BRANCHES, started)],
    code: 0,
    output: JSON.stringify(branch, null, 2),
    waits: [3, 3],
  },
  {
    title: 'stops asking after four answers that it is in progress',
    args: [...create, '--json'],
    script: times(4, asks(BRANCHES, inProgress)),
    code: 3,
    json: { status: 409, outcome: 'unknown' },
    waits: [6, 6],
  },
  ...[400, 401, 403, 404, 409, 422, 423, 429, 503].map(
    (status): Scenario => ({
      title: `says once that it was refused with ${status}, and repeats nothing`,
      args: [...create, '--json'],
      script: [asks(BRANCHES, problem(status, 'It cannot be.', { headers: { 'retry-after': '7' } }))],
      code: 2,
      json: { status, outcome: 'refused', answer: { detail: 'It cannot be.' } },
      notes: `The bridge answered ${status}.`,
    }),
  ),
  {
    title: 'names the key under which a question to a person is found again',
    args: create,
    script: [asks(BRANCHES, problem(403, 'Send the same request again.', { type: 'approval-required' }))],
    code: 2,
    notes: /--idempotency-key [0-9a-f-]{36}/,
  },
  {
    title: 'prints a page of a proxy as it is',
    args: ['run', 'GET', '/projects'],
    script: [asks('GET /api/v2/projects', page(404))],
    code: 2,
    output: '<html><body>Bad Gateway</body></html>',
    notes: 'The bridge answered 404.',
  },
  {
    title: 'holds the answer as JSON with --json, also when there is none',
    args: ['run', 'DELETE', '/projects/p-1/branches/br-1', '--json'],
    script: [asks('DELETE /api/v2/projects/p-1/branches/br-1', answers(204, ''))],
    code: 0,
    json: { status: 204, outcome: 'done', answer: '' },
  },
  {
    title: 'holds a text that is no JSON in a JSON document with --json',
    args: ['run', 'GET', '/projects', '--json'],
    script: [asks('GET /api/v2/projects', page(502))],
    code: 1,
    json: { status: 502, outcome: 'failed', answer: '<html><body>Bad Gateway</body></html>' },
  },
  {
    title: 'does not know what became of a command when a proxy answers in place of the bridge',
    args: [...create, '--json'],
    script: [asks(BRANCHES, page(502))],
    code: 3,
    json: { status: 502, outcome: 'unknown' },
    notes:
      /It is not known whether the command was carried out\..*ask again with --idempotency-key [0-9a-f-]{36}/,
  },
  ...(
    [
      [create, BRANCHES, 3, 'unknown'],
      [['run', 'GET', '/projects'], 'GET /api/v2/projects', 1, 'failed'],
    ] as const
  ).map(
    ([args, request, code, outcome]): Scenario => ({
      title: `ends with ${code} when what answers ${request} is no bridge`,
      args: [...args, '--wait', '--json'],
      script: [asks(request, page(200))],
      code,
      json: { status: 200, outcome },
      notes: /^http:\S+ answers, but not as a bridge does; check the address\.$/m,
    }),
  ),
  {
    title: 'refuses a token that no header can hold without a request, and does not repeat it',
    args: create,
    environment: { OPERATIONS_BRIDGE_TOKEN: 'opb_one\nopb_two' },
    script: [],
    code: 2,
    notes: 'The token has a character that no header can hold; copy it again.',
  },
  {
    title: 'reads the body from a file, and the token from the standard input',
    args: ['run', 'POST', '/projects', '--data', '@{home}/body.json', '--token-stdin'],
    files: { 'body.json': '{"project":{"name":"one"}}' },
    input: 'opb_from-the-input\n',
    script: [
      asks('POST /api/v2/projects', answers(201, { project: { id: 'p-1' } }), {
        headers: { authorization: 'Bearer opb_from-the-input' },
        body: { project: { name: 'one' } },
      }),
    ],
    code: 0,
  },
  {
    title: 'asks for a place in line with --queue, for as long as --timeout says',
    args: [...create, '--queue', '--timeout', '2h'],
    script: [asks(BRANCHES, queued, { headers: { prefer: 'respond-async', 'bridge-deadline': '7200' } })],
    code: 0,
  },
  {
    title: 'asks for a day in line at most',
    args: [...create, '--queue', '--timeout', '48h'],
    script: [asks(BRANCHES, queued, { headers: { 'bridge-deadline': '86400' } })],
    code: 0,
  },
  {
    title: 'does not follow a redirect with its token',
    args: ['run', 'GET', '/projects'],
    script: [asks('GET /api/v2/projects', answers(302, '', { location: '{origin}/elsewhere' }))],
    code: 2,
    notes: 'The bridge answered 302.',
  },
  {
    title: 'ends at once on Ctrl-C while the bridge is silent',
    args: create,
    script: [asks(BRANCHES, withCtrlC(never))],
    code: 130,
    asProcess: true,
  },
];

const PROJECTS = 'GET /api/v2/projects?limit=2';
const projectPage = (ids: readonly number[], cursor?: string) =>
  ok({ projects: ids.map((id) => ({ id })), ...(cursor !== undefined && { pagination: { cursor } }) });

const paginating: readonly Scenario[] = [
  {
    title: 'reads the pages of the upstream to the empty one, and waits for the rate limit',
    args: ['run', 'GET', '/projects?limit=2', '--paginate', '--json'],
    script: [
      asks(PROJECTS, projectPage([1, 2], 'c 1')),
      asks(`${PROJECTS}&cursor=c 1`, problem(429, 'Slowly.', { headers: { 'retry-after': '20' } })),
      asks(`${PROJECTS}&cursor=c 1`, projectPage([3], 'c2')),
      asks(`${PROJECTS}&cursor=c2`, projectPage([], 'c2')),
    ],
    code: 0,
    json: { status: 200, outcome: 'done', answer: { projects: [{ id: 1 }, { id: 2 }, { id: 3 }] } },
    notes: /the next page follows in 20 s/,
    waits: [20, 20],
  },
  {
    title: 'reads the pages of the bridge, empty ones among them, to the one without a cursor',
    args: ['run', 'GET', '/bridge/v1/incidents', '--paginate'],
    script: [
      asks('GET /bridge/v1/incidents', ok({ incidents: [], cursor: 'c1' })),
      asks('GET /bridge/v1/incidents?cursor=c1', ok({ incidents: [{ incident_id: 'i-1' }] })),
    ],
    code: 0,
    json: { incidents: [{ incident_id: 'i-1' }] },
  },
  {
    title: 'prints what is no list as it is, and no part of a list that breaks off',
    args: ['run', 'GET', '/projects?limit=2', '--paginate', '--json'],
    script: [
      asks(PROJECTS, projectPage([1, 2], 'c1')),
      asks(`${PROJECTS}&cursor=c1`, problem(403, 'It cannot be.')),
    ],
    code: 2,
    json: { status: 403, outcome: 'refused' },
  },
];

const choosing: readonly Scenario[] = [
  {
    title: 'prints what the expression finds in all pages',
    args: ['run', 'GET', '/projects?limit=2', '--paginate', '--query', 'projects[?id > `1`].id'],
    script: [
      asks(PROJECTS, projectPage([1, 2], 'c1')),
      asks(`${PROJECTS}&cursor=c1`, projectPage([3], 'c2')),
      asks(`${PROJECTS}&cursor=c2`, projectPage([], 'c2')),
    ],
    code: 0,
    json: [2, 3],
  },
  {
    title: 'prints a text that it finds without quotes, so that a shell can use it',
    args: [...create, '--query', 'branch.id'],
    script: [asks(BRANCHES, started)],
    code: 0,
    output: 'br-1',
  },
  {
    title: 'applies it to what the upstream has answered to a command in line, and prints that answer',
    args: [...create, '--queue', '--wait', '--query', 'branch.id'],
    script: [asks(BRANCHES, queued), asks(`${QUEUED}?wait=25`, inLineWith('succeeded', 201, branch))],
    code: 0,
    output: 'br-1',
  },
  {
    title: 'prints the refusal of the upstream whole that a command in line has met',
    args: [...create, '--queue', '--wait', '--query', 'branch.id', '--json'],
    script: [
      asks(BRANCHES, queued),
      asks(`${QUEUED}?wait=25`, inLineWith('refused', 404, { message: 'There is no such project.' })),
    ],
    code: 2,
    json: { status: 404, outcome: 'refused', answer: { message: 'There is no such project.' } },
  },
  {
    title: 'says that the bridge has not kept the answer to a command in line',
    args: [...create, '--queue', '--wait', '--query', 'branch.id'],
    script: [asks(BRANCHES, queued), asks(`${QUEUED}?wait=25`, inLineWith('succeeded', 201))],
    code: 0,
    output: '',
    notes: /^The bridge has not kept the body of the answer 201\.$/m,
  },
  {
    title: 'prints the whole answer of a command to which the expression cannot be applied',
    args: [...create, '--query', 'length(nothing)'],
    script: [asks(BRANCHES, started)],
    code: 0,
    json: branch,
    notes: /--query cannot be applied to the answer, which is printed whole/,
  },
];

const waiting: readonly Scenario[] = [
  {
    title: 'waits for Command Settled of what was sent at once',
    args: [...create, '--wait', '--json'],
    script: [
      asks(BRANCHES, started),
      asks(`${SENT}?wait=25`, running),
      asks(`${SENT}?wait=25`, settledAs('succeeded')),
    ],
    code: 0,
    json: { status: 201, outcome: 'succeeded', answer: branch, end: { outcome: 'succeeded' } },
    notes: [/command req-1: running/, /^The command has succeeded\.$/m],
    waits: [1, 1],
    asProcess: true,
  },
  {
    title: 'follows the command in line whose answer a repetition under its key gets',
    args: [...create, '--wait', '--json'],
    script: [
      asks(BRANCHES, answers(201, branch, OF_THE_LINE)),
      asks(`${QUEUED}?wait=25`, inLineWith('succeeded', 201, branch)),
    ],
    code: 0,
    json: { status: 201, outcome: 'succeeded', answer: branch },
  },
  {
    title: 'follows the first request under the key when this one was a repetition',
    args: [...create, '--wait'],
    script: [
      asks(
        BRANCHES,
        answers(201, branch, { 'bridge-request-id': 'req-2', 'bridge-first-request-id': 'req-1' }),
      ),
      asks(`${SENT}?wait=25`, settledAs('succeeded')),
    ],
    code: 0,
  },
  ...(
    [
      ['succeeded', 0, 'succeeded', 'has succeeded.'],
      ['failed', 1, 'failed', 'has failed.'],
      [
        'incomplete',
        124,
        'incomplete',
        'was accepted, and its operations had not all ended when the bridge stopped waiting for them (incomplete).',
      ],
      ['refused', 2, 'refused', 'was not carried out (refused).'],
      ['expired', 2, 'refused', 'was not carried out (expired).'],
      ['cancelled', 2, 'refused', 'was not carried out (cancelled).'],
      ['denied', 2, 'refused', 'was not carried out (denied).'],
      ['unknown', 3, 'unknown', 'may have been carried out, which is not known.'],
    ] as const
  ).flatMap(([state, code, outcome, words]): readonly Scenario[] => [
    {
      title: `ends with ${code} when the command has settled as ${state}`,
      args: [...create, '--wait', '--json'],
      script: [asks(BRANCHES, started), asks(`${SENT}?wait=25`, settledAs(state))],
      code,
      json: { status: 201, outcome },
      notes: new RegExp(`^The command ${words.replaceAll(/[().]/g, '\\$&')}$`, 'm'),
    },
    {
      title: `ends with ${code} when the queued command is ${state}`,
      args: [...create, '--queue', '--wait', '--json'],
      script: [
        asks(BRANCHES, queued),
        ...['awaiting_approval', 'queued', 'sent', 'running'].map((each) =>
          asks(`${QUEUED}?wait=25`, inLine(each)),
        ),
        asks(`${QUEUED}?wait=25`, inLine(state, 'for a reason')),
      ],
      code,
      json: { status: 202, outcome, end: { state } },
      notes: [
        new RegExp(`cmd-1: ${state}: for a reason`),
        new RegExp(`^The command ${words.replaceAll(/[().]/g, '\\$&')}$`, 'm'),
      ],
      waits: [4, 4],
    },
  ]),
  {
    title: 'waits through errors, a hang-up, a page of a proxy and what is not known yet',
    args: [...create, '--queue', '--wait'],
    script: [
      asks(BRANCHES, queued),
      ...[
        problem(500, 'A fault.'),
        hangUp,
        page(502),
        problem(404, 'There is no such command.'),
        cut({}),
        inLine('running'),
      ].map((answer) => asks(`${QUEUED}?wait=25`, answer)),
      asks(`${QUEUED}?wait=25`, inLine('succeeded')),
    ],
    code: 0,
    waits: [6, 12],
  },
  {
    title: 'counts the time until the first answer as part of --timeout',
    args: [...create, '--wait', '--timeout', '30s'],
    script: [
      asks(BRANCHES, after(20, started)),
      asks(`${SENT}?wait=10`, after(4, running)),
      asks(`${SENT}?wait=5`, after(5, running)),
    ],
    code: 124,
    notes: /^The command has not ended \(running\)\.$/m,
    waits: [29, 31],
  },
  {
    title: 'ends soon after --timeout when the bridge never answers how it went',
    args: [...create, '--wait', '--timeout', '30s'],
    script: [asks(BRANCHES, started), asks(`${SENT}?wait=25`, never)],
    code: 124,
    notes: /^The command has not ended\.$/m,
    waits: [30, 35],
  },
  {
    title: 'sees a command expire in line whose deadline is that of --timeout',
    args: [...create, '--queue', '--wait', '--timeout', '30s', '--json'],
    script: [
      asks(BRANCHES, after(2, queued)),
      asks(`${QUEUED}?wait=25`, after(25, inLine('queued'))),
      asks(`${QUEUED}?wait=2`, after(2, inLine('queued'))),
      asks(`${QUEUED}?wait=25`, after(4, inLine('expired', 'Its deadline passed before it could be sent.'))),
    ],
    code: 2,
    json: { outcome: 'refused', end: { state: 'expired' } },
    notes: /Its deadline has passed; the bridge takes it out of the line within a minute\./,
    waits: [34, 34],
  },
  {
    title: 'ends with 124 when a command is still in line a minute after its deadline',
    args: [...create, '--queue', '--wait', '--timeout', '30s', '--json'],
    script: [
      asks(BRANCHES, after(4, queued)),
      asks(`${QUEUED}?wait=25`, after(26, inLine('queued'))),
      ...times(2, asks(`${QUEUED}?wait=25`, after(25, inLine('queued')))),
      asks(`${QUEUED}?wait=18`, after(18, inLine('queued'))),
    ],
    code: 124,
    json: { outcome: 'pending', end: { state: 'queued' } },
    waits: [100, 100],
  },
  {
    title: 'waits for no end when the answer names none',
    args: ['run', 'PATCH', '/projects/p-1', '--data', '{}', '--wait'],
    script: [asks('PATCH /api/v2/projects/p-1', ok({ project: { id: 'p-1' }, operations: [] }))],
    code: 0,
  },
  ...(
    [
      ['that was sent', [], started, `${SENT}?wait=25`, 201, 'req-1 --project p-1'],
      ['in line', ['--queue'], queued, `${QUEUED}?wait=25`, 202, 'cmd-1'],
    ] as const
  ).map(
    ([where, options, first, ask, status, named]): Scenario => ({
      title: `prints the answer to a command ${where} whose end the bridge refuses to tell, and does not call it refused`,
      args: [...create, ...options, '--wait', '--json'],
      script: [asks(BRANCHES, first), asks(ask, problem(403, 'The token was limited.'))],
      code: 3,
      json: { status, outcome: 'unknown' },
      notes: [
        /answered 403: The token was limited/,
        new RegExp(`"operations-bridge wait command ${named}"`),
        /^The command may have been carried out, which is not known\.$/m,
      ],
    }),
  ),
  {
    title: 'ends with 130 on Ctrl-C, and prints what it knows',
    args: [...create, '--queue', '--wait', '--json'],
    script: [asks(BRANCHES, queued), asks(`${QUEUED}?wait=25`, withCtrlC(never))],
    code: 130,
    json: { status: 202, outcome: 'pending' },
    asProcess: true,
  },
];

const refused = (
  [
    [['FETCH', '/projects'], '"FETCH" is no method; it takes GET, POST, PUT, PATCH, DELETE.'],
    [
      ['GET', 'projects'],
      'The path is "projects"; it takes one such as /projects/icy-hat-70322459/branches.',
    ],
    [
      ['GET', '//host/projects'],
      'The path is "//host/projects"; it takes one such as /projects/icy-hat-70322459/branches.',
    ],
    [
      ['POST', '/p', '--data', '{'],
      '--data is no JSON; it takes a JSON object, or @ and the name of a file with one.',
    ],
    [['POST', '/p', '--data', '@{home}/no'], /"\S+\/no" of --data cannot be read \(ENOENT/],
    [['POST', '/p', '--timeout', '5'], '--timeout is "5"; it takes a duration such as 90s, 5m or 2h.'],
    [['GET', '/p', '--data', '{}'], '--data is a body, which a GET does not have; leave it out.'],
    [
      ['POST', '/p', '--idempotency-key', 'a\nb'],
      'The value of the header idempotency-key has a character that no header can hold; copy it again.',
    ],
    [['POST', '/p', '--paginate'], '--paginate reads a list; it takes the method GET.'],
    [['POST', '/p', '--query', 'a['], /--query is "a\["; it takes a JMESPath expression/],
    [['POST', '/p', '--query', 'jq(a)'], /--query is "jq\(a\)"; it takes a JMESPath expression/],
    [['GET'], "Missing required argument 'path'"],
  ] as const
).map(
  ([args, notes]): Scenario => ({
    title: `refuses ${args.join(' ')} without a request`,
    args: ['run', ...args],
    script: [],
    code: 2,
    output: '',
    notes,
  }),
);

describeScenarios('run sends', sending);
describeScenarios('run --wait', waiting);
describeScenarios('run --paginate', paginating);
describeScenarios('run --query', choosing);
describeScenarios('run', refused);
