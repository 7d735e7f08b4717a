/** `operations-bridge listen` and `trigger`: the feed through outages, each event once, and each forwarded until it is accepted. */

import { createHash } from 'node:crypto';
import { after, answers, asks, cut, hangUp, never, ok, page, problem, times, withCtrlC } from './answers.ts';
import { describeScenarios, type Scenario, SIGNING_SECRET } from './scenario.ts';
import type { Answer, Exchange } from './scripted-server.ts';

const event = (id: string, second = 0) => ({
  id,
  detail_type: 'Project Discovered',
  source: 'operations-bridge',
  time: `2026-01-16T20:59:${String(second).padStart(2, '0')}.000Z`,
  detail: { project_id: 'p-1', observed_at: '2026-01-16T20:59:00.000Z' },
});
const feed = (cursor: string, ...events: readonly object[]) =>
  ok({ events, cursor, has_more: events.length > 0 });

/** The first question of a run, and each later one. */
const begins = (from: string, answer: Answer): Exchange =>
  asks(`GET /bridge/v1/events?from=${from}&limit=100&wait=0`, answer);
const goesOn = (cursor: string, answer: Answer): Exchange =>
  asks(`GET /bridge/v1/events?cursor=${cursor}&limit=100&wait=20`, answer);

/** The first question of a run that goes on where another has stopped. */
const resumes = (cursor: string, answer: Answer): Exchange =>
  asks(`GET /bridge/v1/events?cursor=${cursor}&limit=100&wait=0`, answer);

const ended = (cursor: string): Exchange => goesOn(cursor, withCtrlC(never));
const PROJECTS = 'GET /bridge/v1/projects?limit=100';
const ids = (...expected: readonly string[]) => expected.map((id) => ({ id }));

const feeds: readonly Scenario[] = [
  {
    title: 'shows each event once, page by page, as EventBridge would deliver it',
    args: ['listen', '--since', 'beginning', '--json'],
    script: [
      begins('beginning', feed('c1', event('a', 1), event('b', 2))),
      goesOn('c1', feed('c2', event('b', 2), event('c', 3))),
      goesOn('c2', after(20, feed('c2'))),
      ended('c2'),
    ],
    code: 0,
    jsonLines: [
      {
        version: '0',
        id: 'a',
        'detail-type': 'Project Discovered',
        source: 'operations-bridge',
        resources: [],
      },
      { id: 'b' },
      { id: 'c' },
    ],
    notes: /^Listening from the beginning on; Ctrl-C ends it\.$/,
    waits: [20, 20],
    asProcess: true,
  },
  {
    title: 'asks for no more than the filters let through, each of which takes several values in any case',
    args: 'listen --project p-1 --project p-2 --status Failed --status error --action start-compute --type command-settled --count 1'.split(
      ' ',
    ),
    script: [
      asks(
        'GET /bridge/v1/events?action=start_compute&detail_type=Command Settled&from=now&limit=100&project_id=p-1,p-2&status=failed,error&wait=0',
        feed('c1', event('a')),
      ),
      asks(PROJECTS, ok({ projects: [{ project_id: 'p-1' }, { project_id: 'p-2' }] })),
    ],
    code: 0,
    output: /p-1 .* Project Discovered/,
    notes: /^Listening from now on; Ctrl-C ends it\.\ntime +project +action +change +detected after$/,
  },
  {
    title: 'says that nothing has a project, a status and an action, which may be new ones, and listens',
    args: 'listen --project another-project --status paused --action rebuild_index --count 1'.split(' '),
    script: [
      asks(
        'GET /bridge/v1/events?action=rebuild_index&from=now&limit=100&project_id=another-project&status=paused&wait=0',
        feed('c1', event('a')),
      ),
      asks(PROJECTS, ok({ projects: [{ project_id: 'icy-hat-70322459' }] })),
    ],
    code: 0,
    notes: [
      /^--status is "paused", which nothing has so far; known are scheduling, running, /m,
      /^--action is "rebuild_index", which nothing has so far; known are apply_config, /m,
      /^--project is "another-project", which nothing has so far; known are icy-hat-70322459\.\nListening /m,
    ],
  },
  {
    title: 'refuses a project that is nearly another one before it says that it listens',
    args: ['listen', '--project', 'icy-hat-7032245'],
    script: [
      asks(
        'GET /bridge/v1/events?from=now&limit=100&project_id=icy-hat-7032245&wait=0',
        feed('c1', event('a')),
      ),
      asks(PROJECTS, ok({ projects: [{ project_id: 'icy-hat-70322459' }] })),
    ],
    code: 2,
    output: '',
    notes: '--project is "icy-hat-7032245"; did you mean "icy-hat-70322459"?',
  },
  {
    title: 'listens although the token may not list the projects',
    args: ['listen', '--project', 'p-1', '--count', '1'],
    script: [
      asks('GET /bridge/v1/events?from=now&limit=100&project_id=p-1&wait=0', feed('c1', event('a'))),
      asks(PROJECTS, problem(403, 'The token lacks projects:read.')),
    ],
    code: 0,
    notes: /^Listening from now on; Ctrl-C ends it\.\ntime /,
  },
  {
    title: 'goes on through each kind of outage, and says once that it began and that it is over',
    args: ['listen', '--json'],
    script: [
      begins('now', feed('c1', event('a'))),
      ...[
        problem(500, 'A fault.'),
        page(502),
        problem(503, 'Away.'),
        hangUp,
        cut({}),
        problem(429, 'Slowly.'),
      ].map((answer) => goesOn('c1', answer)),
      goesOn('c1', feed('c2', event('b'))),
      goesOn('c2', problem(500, 'Again.')),
      goesOn('c2', feed('c3', event('c'))),
      ended('c3'),
    ],
    code: 0,
    jsonLines: ids('a', 'b', 'c'),
    notes:
      /^Listening [^\n]*\n[^\n]*answered 500: A fault\. Trying again\.\nThe bridge answers again\.\n[^\n]*Again\. Trying again\.\nThe bridge answers again\.$/,
    waits: [5, 60],
  },
  {
    title: 'begins although the bridge is away at first',
    args: ['listen', '--count', '1', '--json'],
    script: [...times(3, begins('now', hangUp)), begins('now', feed('c1', event('a')))],
    code: 0,
    jsonLines: ids('a'),
    waits: [1, 10],
  },
  {
    title: 'never asks more often than each quarter of a minute while the bridge stays away',
    args: ['listen', '--for', '10m', '--json'],
    script: [...times(4, begins('now', hangUp)), ...times(40, begins('now', problem(500, 'A fault.')))],
    code: 0,
    output: '',
    waits: [600, 601],
  },
  {
    title: 'comes back when the bridge has asked it to, and not before',
    args: ['listen', '--count', '1', '--json'],
    script: [
      begins('now', problem(429, 'Slowly.', { headers: { 'retry-after': '40' } })),
      begins('now', feed('c1', event('a'))),
    ],
    code: 0,
    waits: [40, 41],
  },
  {
    title: 'is not kept away for longer than a minute by a bridge that asks for a day',
    args: ['listen', '--count', '1', '--json'],
    script: [
      begins('now', problem(503, 'Away.', { headers: { 'retry-after': '86400' } })),
      begins('now', feed('c1', event('a'))),
    ],
    code: 0,
    waits: [60, 61],
  },
  {
    title: 'asks again when an answer takes longer than the longest hold',
    args: ['listen', '--count', '1', '--json'],
    script: [begins('now', never), begins('now', feed('c1', event('a')))],
    code: 0,
    waits: [30, 40],
  },
  ...[400, 401, 403, 404, 422].map(
    (status): Scenario => ({
      title: `ends with 2 when the bridge refuses with ${status}`,
      args: ['listen', '--json'],
      script: [begins('now', problem(status, 'It cannot be.'))],
      code: 2,
      output: '',
      notes: new RegExp(`^The bridge at \\S+ answered ${status}: It cannot be\\.`),
    }),
  ),
  {
    title: 'says what is wrong when something else answers',
    args: ['listen'],
    script: [begins('now', ok({ events: [] }))],
    code: 2,
    notes: /answers, but not as a bridge does; check the address\.$/,
  },
  {
    title: 'ends after --for, also while the bridge holds its answer back',
    args: ['listen', '--for', '90s', '--json'],
    script: [begins('now', after(20, feed('c1'))), ...times(4, goesOn('c1', after(20, feed('c1'))))],
    code: 0,
    waits: [90, 90],
  },
  {
    title: 'refuses to run with the token of another account',
    args: ['listen', '--account', 'main'],
    script: [asks('GET /bridge/v1/me', ok({ account_id: 'other' }))],
    code: 2,
    notes: 'The token belongs to the account "other" and not to "main"; use a token of that account.',
  },
];

const CURSOR = 'A'.repeat(60);

const beginnings: readonly Scenario[] = (
  [
    ['now', 'from=now'],
    ['beginning', 'from=beginning'],
    ['10m', 'from=2026-01-16T20:50:00.000Z'],
    ['2d', 'from=2026-01-14T21:00:00.000Z'],
    ['2026-01-16T20:00:00+01:00', 'from=2026-01-16T19:00:00.000Z'],
    ['2026-01-16', 'from=2026-01-16T00:00:00.000Z'],
    [CURSOR, `cursor=${CURSOR}`],
  ] as const
).map(
  ([since, asked]): Scenario => ({
    title: `begins with ${asked} for --since ${since}`,
    args: ['listen', '--since', since, '--count', '1', '--json'],
    script: [asks(`GET /bridge/v1/events?${asked}&limit=100&wait=0`, feed('c1', event('a')))],
    code: 0,
    jsonLines: ids('a'),
  }),
);

/** The file in which a run keeps its position is named after what tells two streams apart. */
const stream = (place: string, ...filters: readonly (string | null)[]) => {
  const text = JSON.stringify([place, ...Array.from({ length: 6 }, (_, index) => filters[index] ?? null)]);
  return `.local/state/operations-bridge/listen-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.json`;
};

const LOCAL_RUN = {
  '.local/state/operations-bridge/local-run.json':
    '{"process_id":{pid},"url":"{origin}","token":"opb_of-the-run","aws_endpoint":"{origin}","access_key_id":"k","upstream_base_url":"{origin}/api/v2"}',
};
const ofThisMachine = { OPERATIONS_BRIDGE_URL: undefined, OPERATIONS_BRIDGE_TOKEN: undefined };
const kept = { cursor: 'c1', last_time: '2026-01-16T20:59:30.000Z', recent_ids: ['a'] };

const positions: readonly Scenario[] = [
  {
    title: 'keeps how far it has come, also in the middle of a page',
    args: ['listen', '--count', '2', '--json'],
    environment: ofThisMachine,
    files: LOCAL_RUN,
    script: [begins('now', feed('c1', event('a'))), goesOn('c1', feed('c2', event('b'), event('c')))],
    code: 0,
    jsonLines: ids('a', 'b'),
    leaves: { [stream('this machine')]: [/"cursor":"c1"/, /"recent_ids":\["a","b"\]/] },
  },
  {
    title: 'goes on where the last run has stopped, and leaves out what that run has dealt with',
    args: ['listen', '--json'],
    environment: ofThisMachine,
    files: { ...LOCAL_RUN, [stream('this machine')]: JSON.stringify(kept) },
    script: [resumes('c1', feed('c2', event('a'), event('b'))), ended('c2')],
    code: 0,
    jsonLines: ids('b'),
    notes:
      'Listening where the last run stopped, after 2026-01-16T20:59:30.000Z (--since now begins anew); Ctrl-C ends it.',
    leaves: { [stream('this machine')]: [/"cursor":"c2"/] },
  },
  {
    title: 'reads again from a minute before the last event when the bridge does not know the position',
    args: ['listen', '--json'],
    environment: ofThisMachine,
    files: { ...LOCAL_RUN, [stream('this machine')]: JSON.stringify(kept) },
    script: [
      resumes('c1', problem(400, 'The cursor is not known.')),
      begins('2026-01-16T20:58:30.000Z', feed('c9', event('a'), event('b'))),
      ended('c9'),
    ],
    code: 0,
    jsonLines: ids('b'),
    notes: /does not know the kept position; going on from 2026-01-16T20:58:30\.000Z/,
    waits: [0.5, 1],
  },
  {
    title: 'goes on from a minute before the last event when the last run has stopped inside its first page',
    args: ['listen', '--json'],
    environment: ofThisMachine,
    files: {
      ...LOCAL_RUN,
      [stream('this machine')]: JSON.stringify({ last_time: kept.last_time, recent_ids: kept.recent_ids }),
    },
    script: [begins('2026-01-16T20:58:30.000Z', feed('c2', event('a'), event('b'))), ended('c2')],
    code: 0,
    jsonLines: ids('b'),
    notes: /^Listening where the last run stopped, after 2026-01-16T20:59:30\.000Z/,
  },
  {
    title: 'goes on from a minute before its last event when the bridge is set up anew meanwhile',
    args: ['listen', '--json'],
    environment: ofThisMachine,
    files: LOCAL_RUN,
    script: [
      begins('now', feed('c1', event('a', 30))),
      goesOn('c1', hangUp),
      goesOn('c1', problem(400, 'The cursor is not known.')),
      begins('2026-01-16T20:58:30.000Z', feed('c9', event('a', 30), event('b', 40))),
      ended('c9'),
    ],
    code: 0,
    jsonLines: ids('a', 'b'),
    notes: /does not know the kept position; going on from 2026-01-16T20:58:30\.000Z/,
    waits: [0.5, 2],
  },
  ...(
    [
      ['now', '2026-01-16T21:00:00.000Z'],
      ['10m', '2026-01-16T20:50:00.000Z'],
      ['beginning', 'beginning'],
    ] as const
  ).map(
    ([since, from]): Scenario => ({
      title: `reads again from its beginning with --since ${since} when it has seen nothing, and the bridge is set up anew`,
      args: ['listen', '--since', since, '--json'],
      environment: ofThisMachine,
      files: LOCAL_RUN,
      script: [
        begins(since === '10m' ? from : since, feed('c1')),
        goesOn('c1', after(20, problem(400, 'The cursor is not known.'))),
        begins(from, feed('c9', event('a'))),
        ended('c9'),
      ],
      code: 0,
      jsonLines: ids('a'),
      waits: [20, 21],
    }),
  ),
  {
    title: 'goes on from its beginning when the bridge does not know a position at which nothing was seen',
    args: ['listen', '--json'],
    environment: ofThisMachine,
    files: { ...LOCAL_RUN, [stream('this machine')]: '{"cursor":"c1","recent_ids":[]}' },
    script: [
      resumes('c1', problem(400, 'The cursor is not known.')),
      begins('2026-01-16T21:00:00.000Z', feed('c9', event('a'))),
      ended('c9'),
    ],
    code: 0,
    jsonLines: ids('a'),
    waits: [0.5, 1],
  },
  {
    title: 'ends with 2 when the bridge does not know the cursor that was given',
    args: ['listen', '--since', CURSOR, '--json'],
    script: [resumes(CURSOR, problem(400, 'The cursor is not known.'))],
    code: 2,
    output: '',
    notes: /answered 400: The cursor is not known\./,
  },
  {
    title: 'is not done with events that the program behind the pipe has not taken',
    args: ['listen', '--json'],
    environment: ofThisMachine,
    files: { ...LOCAL_RUN, [stream('this machine')]: JSON.stringify(kept) },
    readerHasGone: true,
    script: [resumes('c1', feed('c2', event('b'), event('c')))],
    code: 0,
    leaves: { [stream('this machine')]: JSON.stringify(kept) },
    asProcess: 'only',
  },
  {
    title: 'begins anew with --since, whatever is kept',
    args: ['listen', '--since', '10m', '--count', '1', '--json'],
    environment: ofThisMachine,
    files: { ...LOCAL_RUN, [stream('this machine')]: JSON.stringify(kept) },
    script: [begins('2026-01-16T20:50:00.000Z', feed('c2', event('a')))],
    code: 0,
    jsonLines: ids('a'),
  },
  {
    title: 'waits for the next run of a bridge on this machine, whose token is another one',
    args: ['listen', '--count', '1', '--json'],
    environment: ofThisMachine,
    files: LOCAL_RUN,
    script: [begins('now', problem(401, 'The token is not known.')), begins('now', feed('c1', event('a')))],
    code: 0,
    jsonLines: ids('a'),
    waits: [0.5, 2],
  },
];

const HOOK = 'POST /hook';
const SIGNED = { OPERATIONS_BRIDGE_SIGNING_SECRET: SIGNING_SECRET };
const forward = ['listen', '--forward', '{origin}/hook'];
const posted = (id: string, answer: Answer): Exchange =>
  asks(HOOK, answer, {
    headers: {
      'webhook-id': id,
      'webhook-signature': /^v1,\S{44}$/,
      'webhook-timestamp': /^\d{10}$/,
      authorization: null,
    },
  });
const one = begins('now', feed('c1', event('a')));

const CHANGED = {
  id: 'a',
  account_id: 'main',
  operation_id: 'o-1',
  sequence: 12,
  command: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
};
const CHANGED_CLOUD_EVENT = {
  specversion: '1.0',
  id: 'a',
  source: 'operations-bridge/accounts/main',
  type: 'operations-bridge.operation_state_changed',
  subject: 'o-1',
  partitionkey: 'o-1',
  time: '2026-01-16T20:59:00.000Z',
  datacontenttype: 'application/json',
  data: CHANGED,
  sequence: '0000000012',
  traceparent: CHANGED.command.traceparent,
};

const COMPUTE_CHANGED = {
  id: 'a',
  account_id: 'main',
  endpoint_id: 'ep-1',
  operation_id: 'o-1',
  sequence: 7,
};

const forwarding: readonly Scenario[] = [
  {
    title: 'forwards each event, signed and without the token of the bridge',
    args: [...forward, '--count', '2'],
    environment: SIGNED,
    script: [
      begins('now', feed('c1', event('a'), event('b'))),
      posted('a', answers(204, '')),
      posted('b', answers(202, 'taken')),
    ],
    code: 0,
    notes: [
      /with the secret in OPERATIONS_BRIDGE_SIGNING_SECRET/,
      /-> 204 in \d+ ms {2}a/,
      /-> 202 in \d+ ms {2}b/,
    ],
    asProcess: true,
  },
  {
    title: 'names the place and the fingerprint of a secret that a person has given, and not the secret',
    args: [...forward, '--count', '1'],
    files: {
      '.config/operations-bridge/config.json': JSON.stringify({ signing_secret: SIGNING_SECRET }),
    },
    script: [one, posted('a', answers(204, ''))],
    code: 0,
    notes: /with the secret in "signing_secret" of config\.json \(SHA-256 [0-9a-f]{8}\.\.\.\)\.$/m,
  },
  {
    title:
      'prints and forwards events as CloudEvents, whose copies keep their id and whose order is in the sequence',
    args: [...forward, '--count', '1', '--format', 'cloudevents'],
    environment: SIGNED,
    script: [
      begins('now', feed('c1', { ...event('a'), detail_type: 'Operation State Changed', detail: CHANGED })),
      asks(HOOK, answers(204, ''), {
        headers: { 'content-type': 'application/cloudevents+json; charset=utf-8', 'webhook-id': 'a' },
        body: CHANGED_CLOUD_EVENT,
      }),
    ],
    code: 0,
    jsonLines: [CHANGED_CLOUD_EVENT],
  },
  {
    title:
      'names the compute of its state as the subject and the partition, because its states are counted by compute',
    args: ['listen', '--json', '--format', 'cloudevents', '--count', '1'],
    script: [
      begins(
        'now',
        feed('c1', { ...event('a'), detail_type: 'Compute State Changed', detail: COMPUTE_CHANGED }),
      ),
    ],
    code: 0,
    jsonLines: [
      {
        specversion: '1.0',
        id: 'a',
        source: 'operations-bridge/accounts/main',
        type: 'operations-bridge.compute_state_changed',
        subject: 'ep-1',
        partitionkey: 'ep-1',
        time: '2026-01-16T20:59:00.000Z',
        datacontenttype: 'application/json',
        data: COMPUTE_CHANGED,
        sequence: '0000000007',
      },
    ],
  },
  {
    title: 'sends an event again until it is accepted, and the one behind it only then',
    args: [...forward, '--count', '2'],
    environment: SIGNED,
    script: [
      begins('now', feed('c1', event('a'), event('b'))),
      ...[
        hangUp,
        answers(503, ''),
        answers(429, ''),
        answers(500, ''),
        answers(302, '', { location: '{origin}/other' }),
      ].map((answer) => posted('a', answer)),
      posted('a', answers(200, '')),
      posted('b', answers(200, '')),
    ],
    code: 0,
    notes: [/no answer \(\w+\), it is sent again/, /-> 500 in \d+ ms, it is sent again/],
    waits: [5, 40],
  },
  {
    title: 'gives an event up after --attempts refusals, goes on, and ends with 1',
    args: [...forward, '--count', '2', '--attempts', '3'],
    environment: SIGNED,
    script: [
      begins('now', feed('c1', event('a'), event('b'))),
      posted('a', answers(400, '')),
      posted('a', hangUp),
      ...times(2, posted('a', answers(400, ''))),
      posted('b', answers(200, '')),
    ],
    code: 1,
    notes: [/-> 400 in \d+ ms, it is not sent again {2}a/, /1 events were refused for good\.$/],
    waits: [2, 20],
  },
  {
    title: 'waits without an end for a server that is away',
    args: [...forward, '--count', '1', '--attempts', '2'],
    environment: SIGNED,
    script: [
      one,
      ...[429, 502, 503, 504, 502, 503, 502, 504, 429].map((status) => posted('a', answers(status, ''))),
      ...times(9, posted('a', hangUp)),
      posted('a', answers(200, '')),
    ],
    code: 0,
    waits: [145, 146],
  },
  {
    title: 'asks a server that never answers again',
    args: [...forward, '--count', '1'],
    environment: SIGNED,
    script: [one, posted('a', never), posted('a', answers(200, ''))],
    code: 0,
    notes: /no answer \(it took too long\), it is sent again/,
    waits: [15, 40],
  },
  {
    title: 'is not done with an event that was under way at Ctrl-C',
    args: [...forward],
    environment: { ...SIGNED, ...ofThisMachine },
    files: LOCAL_RUN,
    script: [
      begins('now', feed('c1', event('a'), event('b'))),
      posted('a', answers(200, '')),
      posted('b', withCtrlC(never)),
    ],
    code: 0,
    leaves: { '.local/state/operations-bridge/listen-*': [/"recent_ids":\["a"\]/] },
  },
];

const refused = (
  [
    ...['yesterday', '10', '2026-13-99', ''].map(
      (since) => [['listen', '--since', since], /--since is ".*"; it takes a time such as/] as const,
    ),
    [['listen', '--status', 'faild'], '--status is "faild"; did you mean "failed"?'],
    [['listen', '--action', 'create_brunch'], '--action is "create_brunch"; did you mean "create_branch"?'],
    [['listen', '--type', 'Brnch Ready'], '--type is "Brnch Ready"; did you mean "Branch Ready"?'],
    [['listen', '--type', 'Nothing'], /--type is "Nothing"; it takes Operation State Changed, /],
    [['listen', '--forward', 'ftp://host'], /--forward is "ftp:\/\/host"; it takes a URL/],
    [['listen', '--forward', '{origin}', '--attempts', '0'], /--attempts is "0"/],
    [['listen', '--for', 'ever'], /--for is "ever"/],
    [['listen', '--format', 'yaml'], /--format is "yaml"; it takes eventbridge or cloudevents/],
  ] as const
).map(
  ([args, notes]): Scenario => ({
    title: `refuses ${args.join(' ')} without a request`,
    args,
    environment: SIGNED,
    script: [],
    code: 2,
    output: '',
    notes,
  }),
);

const trigger = ['trigger', 'operation-state-changed', '--set', 'status=failed', '--set', 'new_failures=1'];
const TEST_EVENT = 'POST /bridge/v1/events/test';

const triggering: readonly Scenario[] = [
  {
    title: 'publishes a test event on the bus of the bridge',
    args: [...trigger, '--json'],
    script: [asks(TEST_EVENT, ok({ source: 'operations-bridge.test' }))],
    code: 0,
    json: { source: 'operations-bridge.test', detail: { status: 'failed', new_failures: 1 } },
    notes: /^Operation State Changed [0-9a-f]{32}: on the bus, with the source operations-bridge\.test$/,
    asProcess: true,
  },
  ...[403, 422, 429, 500].map(
    (status): Scenario => ({
      title: `prints no event that the bridge has refused with ${status}`,
      args: [...trigger, '--json'],
      script: [asks(TEST_EVENT, problem(status, 'It cannot be.'))],
      code: 2,
      output: '',
      notes: `The bridge at {origin} answered ${status}: It cannot be.`,
    }),
  ),
  {
    title: 'posts the event to a URL, signed and without the token of the bridge',
    args: ['trigger', 'project-discovered', '--to', '{origin}/hook'],
    environment: SIGNED,
    script: [
      asks(HOOK, answers(202, ''), {
        headers: { 'webhook-id': /^[0-9a-f]{32}$/, 'webhook-signature': /^v1,/, authorization: null },
      }),
    ],
    code: 0,
    output: '',
    notes: /: http:\/\/127\.0\.0\.1:\d+\/hook answered 202 in \d+ ms$/,
  },
  ...(
    [
      ['did not accept it and answered 500', answers(500, '')],
      ['did not accept it and answered 302', answers(302, '')],
      ['did not answer', hangUp],
      ['did not answer', never],
    ] as const
  ).map(
    ([words, answer]): Scenario => ({
      title: `ends with 1 when the URL ${words} (${answer.kind})`,
      args: ['trigger', 'project-discovered', '--to', '{origin}/hook', '--json'],
      environment: SIGNED,
      script: [asks(HOOK, answer)],
      code: 1,
      json: { 'detail-type': 'Project Discovered' },
      notes: new RegExp(words),
      waits: answer.kind === 'never' ? [15, 40] : [0, 0],
    }),
  ),
  {
    title: 'refuses a signing secret of another form, and does not repeat it',
    args: ['trigger', 'project-discovered', '--to', '{origin}/hook'],
    environment: { OPERATIONS_BRIDGE_SIGNING_SECRET: 'a-secret-of-another-form' },
    script: [],
    code: 2,
    notes: /^(?!.*a-secret-of-another-form).*does not have the form of Standard Webhooks/,
  },
  {
    title: 'refuses a field that the event does not have, without a request',
    args: ['trigger', 'project-discovered', '--set', 'no_field=1'],
    script: [],
    code: 2,
    notes: /^--set no_field is not usable/,
  },
  {
    title: 'refuses an event that does not exist, without a request',
    args: ['trigger', 'nothing-happened'],
    script: [],
    code: 2,
    notes: /^There is no event "nothing-happened"; there are Operation State Changed, /,
  },
];

describeScenarios('listen reads the feed', feeds);
describeScenarios('listen --since', beginnings);
describeScenarios('listen keeps its position', positions);
describeScenarios('listen --forward', forwarding);
describeScenarios('listen', refused);
describeScenarios('trigger', triggering);
