/** `operations-bridge verify` and `replay`: both follow work of the poller to its end. */

import { answers, asks, cut, hangUp, never, ok, page, problem, times, withCtrlC } from './answers.ts';
import { describeScenarios, type Scenario } from './scenario.ts';
import type { Answer, Exchange } from './scripted-server.ts';

const CREATED = '2026-01-16T12:00:00Z';
const LONG_AGO = '2026-01-02T12:00:00Z';
const PROJECTS = 'GET /bridge/v1/projects?limit=100';
const projects = (...ids: readonly string[]) => ({ projects: ids.map((project_id) => ({ project_id })) });

const row = (id: string, status = 'finished', created_at = CREATED) => ({
  id,
  status,
  failures_count: 0,
  created_at,
});
const upstream = (project: string, answer: Answer, cursor = ''): Exchange =>
  asks(`GET /api/v2/projects/${project}/operations?limit=100${cursor}`, answer);
const tracked = (project: string, answer: Answer, cursor = ''): Exchange =>
  asks(`GET /bridge/v1/projects/${project}/operations?limit=100${cursor}`, answer);
const known = (operation_id: string, status = 'finished', created_at = CREATED, sequence = 0) => ({
  operation_id,
  status,
  failures_count: 0,
  created_at,
  sequence,
});
const history = (operation_id: string, ...statuses: readonly string[]) =>
  asks(
    `GET /bridge/v1/projects/p-1/operations/${operation_id}`,
    ok({
      operation: {
        history: statuses.map((status, index) => ({
          detail_type: 'Operation State Changed',
          detail: { operation_id, sequence: index + 1, previous_status: statuses[index - 1] ?? null, status },
        })),
      },
    }),
  );
const oneAgrees = (project: string): readonly Exchange[] => [
  upstream(project, ok({ operations: [row('op-1')] })),
  tracked(project, ok({ operations: [known('op-1')] })),
];
const oneIsMissing = [
  upstream('p-1', ok({ operations: [row('op-1')] })),
  tracked('p-1', ok({ operations: [] })),
];
const isListed = asks(PROJECTS, ok(projects('p-1')));
const verifyOne = ['verify', '--project', 'p-1'];
const missing = 'The upstream has it as finished, and the table does not have it, or cannot read it.';

const verifying: readonly Scenario[] = [
  {
    title: 'reads every page of both sides, as far back as --days, and the events of each operation',
    args: ['verify', '--days', '7', '--json'],
    script: [
      asks(PROJECTS, ok({ ...projects('p-1'), cursor: 'c1' })),
      asks(`${PROJECTS}&cursor=c1`, ok(projects('p-2'))),
      upstream('p-1', ok({ operations: [row('op-1')], pagination: { cursor: 'u1' } })),
      upstream(
        'p-1',
        ok({ operations: [row('op-2'), row('op-0', 'finished', LONG_AGO)], pagination: { cursor: 'u2' } }),
        '&cursor=u1',
      ),
      tracked('p-1', ok({ operations: [known('op-1', 'finished', CREATED, 2)], cursor: 't1' })),
      tracked(
        'p-1',
        ok({ operations: [known('op-2'), known('op-0', 'failed', LONG_AGO)], cursor: 't2' }),
        '&cursor=t1',
      ),
      history('op-1', 'running', 'finished'),
      ...oneAgrees('p-2'),
    ],
    code: 0,
    jsonLines: [
      { project_id: 'p-1', checked: 2, differences: [] },
      { project_id: 'p-2', checked: 1, differences: [] },
    ],
    notes: 'Project 1 of 2: p-1\nProject 2 of 2: p-2\n2 of 2 projects agree.',
    waits: [3, 3],
  },
  {
    title: 'sends no more requests to the upstream than --requests-per-minute',
    args: [...verifyOne, '--requests-per-minute', '2'],
    script: [
      isListed,
      upstream('p-1', ok({ operations: [row('op-1')], pagination: { cursor: 'u1' } })),
      upstream('p-1', ok({ operations: [] }), '&cursor=u1'),
      tracked('p-1', ok({ operations: [known('op-1')] })),
    ],
    code: 0,
    output: 'agrees       p-1: 1 operations',
    waits: [60, 60],
  },
  {
    title: 'looks at each project that is named',
    args: ['verify', '--project', 'p-1,p-2', '--json'],
    script: [asks(PROJECTS, ok(projects('p-1', 'p-2'))), ...oneAgrees('p-1'), ...oneAgrees('p-2')],
    code: 0,
    jsonLines: [{ project_id: 'p-1' }, { project_id: 'p-2' }],
    waits: [2, 2],
  },
  {
    title: 'refuses a project that is nearly another one, and compares nothing',
    args: ['verify', '--project', 'icy-hat-7032245'],
    script: [asks(PROJECTS, ok(projects('icy-hat-70322459')))],
    code: 2,
    output: '',
    notes: '--project is "icy-hat-7032245"; did you mean "icy-hat-70322459"?',
  },
  {
    title: 'ends with 1 when the bridge watches no project, because nothing was compared',
    args: ['verify', '--json'],
    script: [asks(PROJECTS, ok(projects()))],
    code: 1,
    output: '',
    notes:
      'The bridge has seen no project of the account, so nothing was compared; see "operations-bridge doctor".',
  },
  {
    title: 'believes a difference only when it sees it twice',
    args: verifyOne,
    script: [isListed, ...oneIsMissing, ...oneAgrees('p-1')],
    code: 0,
    output: 'agrees       p-1: 1 operations',
    waits: [12, 12],
  },
  {
    title: 'tells what is missing, different, invented and broken, and ends with 1',
    args: [...verifyOne, '--json'],
    script: [
      isListed,
      ...times(2, asks('', never)).flatMap(() => [
        upstream('p-1', ok({ operations: [row('op-1'), row('op-2', 'failed'), row('op-4')] })),
        tracked(
          'p-1',
          ok({ operations: [known('op-2'), known('op-3'), known('op-4', 'finished', CREATED, 2)] }),
        ),
        history('op-4', 'running'),
      ]),
    ],
    code: 1,
    jsonLines: [
      {
        project_id: 'p-1',
        checked: 3,
        differences: [
          { operation_id: 'op-1', kind: 'missing', found: missing },
          {
            operation_id: 'op-2',
            kind: 'different',
            found: 'The upstream says failed with 0 failures, and the table finished with 0 failures.',
          },
          {
            operation_id: 'op-3',
            kind: 'invented',
            found: 'The table has it as finished, and the upstream does not list it.',
          },
          { operation_id: 'op-4', kind: 'chain', found: 'Its events 2 of 2 are missing from the feed.' },
        ],
      },
    ],
    notes: /0 of 1 projects agree\.$/,
    waits: [12, 12],
  },
  {
    title: 'says which project could not be checked, goes on with the next, and ends with 1',
    args: ['verify'],
    script: [
      asks(PROJECTS, ok(projects('p-1', 'p-2', 'p-3'))),
      upstream('p-1', problem(503, 'It is asleep.')),
      upstream('p-2', hangUp),
      ...oneAgrees('p-3'),
    ],
    code: 1,
    output: [
      /^not checked {2}p-1: The bridge at \S+ answered 503: It is asleep\.$/m,
      /^not checked {2}p-2: The bridge at \S+ does not answer/m,
      /^agrees {7}p-3: \d operations$/m,
    ],
    notes: /1 of 3 projects agree\.$/,
    waits: [3, 3],
    asProcess: true,
  },
  {
    title: 'has a project repaired, and looks again',
    args: [...verifyOne, '--repair', '--json'],
    script: [
      isListed,
      ...oneIsMissing,
      ...oneIsMissing,
      asks('POST /bridge/v1/projects/p-1/repair', answers(202, repair('in_progress')), {
        body: { since: '2026-01-09T21:00:00.000Z' },
      }),
      asks('GET /bridge/v1/projects/p-1/repair', ok(repair('in_progress'))),
      asks('GET /bridge/v1/projects/p-1/repair', ok(repair('ended'))),
      ...oneAgrees('p-1'),
    ],
    code: 0,
    jsonLines: [
      {
        project_id: 'p-1',
        checked: 1,
        differences: [],
        repaired: [{ operation_id: 'op-1', kind: 'missing', found: missing }],
      },
    ],
    waits: [14, 14],
  },
  {
    title: 'waits for another repair first, and follows its own through an outage of the bridge',
    args: [...verifyOne, '--repair'],
    script: [
      isListed,
      ...oneIsMissing,
      ...oneIsMissing,
      asks('POST /bridge/v1/projects/p-1/repair', problem(409, 'A repair is in progress.')),
      asks('GET /bridge/v1/projects/p-1/repair', ok(repair('ended'))),
      asks('POST /bridge/v1/projects/p-1/repair', answers(202, repair('in_progress'))),
      ...[problem(503, 'Away.'), hangUp, page(502), problem(429, 'Slowly.')].map((answer) =>
        asks('GET /bridge/v1/projects/p-1/repair', answer),
      ),
      asks('GET /bridge/v1/projects/p-1/repair', ok(repair('ended'))),
      ...oneAgrees('p-1'),
    ],
    code: 0,
    output: [/^repaired {5}p-1 op-1: /, /^agrees {7}p-1: 1 operations$/m],
    notes: /Another repair of p-1 is in progress, and is awaited first\./,
    waits: [13, 30],
  },
  {
    title: 'gives up a repair that has not ended after ten minutes',
    args: [...verifyOne, '--repair'],
    script: [
      isListed,
      ...oneIsMissing,
      ...oneIsMissing,
      asks('POST /bridge/v1/projects/p-1/repair', answers(202, repair('in_progress'))),
      ...times(601, asks('GET /bridge/v1/projects/p-1/repair', ok(repair('in_progress')))),
    ],
    code: 2,
    notes:
      /The repair of p-1 has made no progress for ten minutes\. Look at the health of the poller; the repair goes on once it runs\.$/,
    waits: [600, 620],
  },
  {
    title: 'ends on Ctrl-C',
    args: verifyOne,
    script: [isListed, upstream('p-1', withCtrlC(never))],
    code: 130,
    waits: [1, 1],
  },
];

function repair(state: string) {
  return { state, since: CREATED, requested_at: CREATED };
}

const REPLAY = '/bridge/v1/replay';
const CHOICE = { since: '2026-01-16T19:00:00.000Z', until: '2026-01-16T21:00:00.000Z' };
const replay = (state: string, sent_count = 0, refused_count = 0) => ({
  state,
  since: 'S',
  until: 'U',
  resource: 'replay/1',
  requested_at: CREATED,
  sent_count,
  refused_count,
});
const begins = asks(`POST ${REPLAY}`, answers(202, replay('in_progress')), { body: CHOICE });
const looks = (answer: Answer) => asks(`GET ${REPLAY}`, answer);
const counted = (count: number, choice: object = CHOICE): readonly Exchange[] => [
  asks(`POST ${REPLAY}`, answers(202, { ...replay('in_progress'), is_dry_run: true }), {
    body: { ...choice, is_dry_run: true },
  }),
  looks(ok({ ...replay('ended', count), is_dry_run: true })),
];
const replayAll = ['replay', '--since', '2h', '--yes'];

const replaying: readonly Scenario[] = [
  {
    title: 'counts what it would send, and sends nothing with --dry-run',
    args: ['replay', '--since', '2h', '--project', 'p-1', '--dry-run'],
    script: [asks(PROJECTS, ok(projects('p-1'))), ...counted(507, { ...CHOICE, project_ids: ['p-1'] })],
    code: 0,
    output: 'The replay from S to U has ended: 507 events would be sent.',
  },
  {
    title: 'chooses by types, statuses and ids, and knows a type in any case and with hyphens',
    args: 'replay --since 2h --dry-run --json --type operation-state-changed --type branch-ready --status failed --id op-1 --id op-2'.split(
      ' ',
    ),
    script: counted(2, {
      ...CHOICE,
      detail_types: ['Operation State Changed', 'Branch Ready'],
      statuses: ['failed'],
      ids: ['op-1', 'op-2'],
    }),
    code: 0,
    json: { sent_count: 2, is_dry_run: true },
  },
  {
    title: 'sends nothing when nobody can be asked',
    args: ['replay', '--since', '2h'],
    script: [],
    code: 2,
    notes: /Nothing was sent\. Add --yes to send it, or --dry-run to see it only\.$/,
  },
  {
    title: 'sends nothing when a person says no',
    args: ['replay', '--since', '2h'],
    confirms: false,
    script: counted(3),
    code: 0,
    notes: /Nothing was sent\.$/,
  },
  {
    title: 'sends when a person says yes, and follows it to its end',
    args: ['replay', '--since', '2h', '--json'],
    confirms: true,
    script: [...counted(3), begins, looks(ok(replay('in_progress', 2))), looks(ok(replay('ended', 3)))],
    code: 0,
    json: { state: 'ended', sent_count: 3 },
    notes: [
      /"replay\/1" in their resources/,
      /2 of about 3 events are sent, and \d+ items of the table are read\./,
    ],
    waits: [1, 1],
  },
  {
    title: 'says the same number before and after, and what was sent twice apart',
    args: ['replay', '--since', '2h'],
    confirms: true,
    script: [...counted(74), begins, looks(ok({ ...replay('ended', 74), repeated_count: 18 }))],
    code: 0,
    output:
      'The replay from S to U has ended: 74 events are sent. 18 were sent once more, with the same ids, because they had changed meanwhile.',
    notes: /^74 events from \S+ to \S+ are chosen\.$/m,
  },
  {
    title: 'sends nothing when there is nothing',
    args: ['replay', '--since', '2h'],
    confirms: true,
    script: counted(0),
    code: 0,
    output: '',
  },
  {
    title: 'sends nothing when somebody stops the counting, and ends with 1',
    args: ['replay', '--since', '2h'],
    confirms: true,
    script: [...counted(0).slice(0, 1), looks(ok({ ...replay('stopped', 1), is_dry_run: true }))],
    code: 1,
    output: 'The replay from S to U was stopped: 1 event would be sent.',
  },
  {
    title: 'follows a replay that reads on without a chosen event for more than five minutes',
    args: replayAll,
    script: [
      begins,
      ...Array.from({ length: 400 }, (_, second) =>
        looks(ok({ ...replay('in_progress'), read_count: second * 500 })),
      ),
      looks(ok(replay('ended', 1))),
    ],
    code: 0,
    output: 'The replay from S to U has ended: 1 event is sent.',
    waits: [400, 400],
  },
  {
    title: 'follows a replay through an outage of the bridge',
    args: replayAll,
    script: [
      begins,
      ...[problem(503, 'Away.'), hangUp, page(502), cut({}), problem(429, 'Slowly.')].map(looks),
      looks(ok(replay('ended', 3))),
    ],
    code: 0,
    output: 'The replay from S to U has ended: 3 events are sent.',
    notes: /The replay goes on meanwhile\./,
    waits: [5, 20],
  },
  ...(
    [
      ['stopped', 0, 'was stopped: 3 events are sent.'],
      ['ended', 2, 'has ended: 3 events are sent. The bus refused 2.'],
    ] as const
  ).map(
    ([state, refusedCount, words]): Scenario => ({
      title: `ends with 1 when the replay ${words}`,
      args: replayAll,
      script: [begins, looks(ok(replay(state, 3, refusedCount)))],
      code: 1,
      output: `The replay from S to U ${words}`,
    }),
  ),
  {
    title: 'gives up a replay that makes no progress for ten minutes',
    args: replayAll,
    script: [begins, ...times(601, looks(ok(replay('in_progress'))))],
    code: 2,
    notes: /The replay has made no progress for ten minutes\. Look at the health of the poller/,
    waits: [600, 602],
  },
  {
    title: 'says on Ctrl-C that the replay goes on, and how to stop it',
    args: replayAll,
    script: [begins, looks(withCtrlC(never))],
    code: 130,
    notes: /The replay goes on: .*"operations-bridge replay --stop" stops it\.$/,
  },
  {
    title: 'ends with 2 when another replay is in progress',
    args: replayAll,
    script: [asks(`POST ${REPLAY}`, problem(409, 'Another replay is in progress.'))],
    code: 2,
    notes: /answered 409: Another replay is in progress\.$/,
  },
  {
    title: 'shows the latest replay',
    args: ['replay', '--progress', '--json'],
    script: [looks(ok(replay('in_progress', 2)))],
    code: 0,
    json: { state: 'in_progress', sent_count: 2 },
    asProcess: true,
  },
  {
    title: 'stops it',
    args: ['replay', '--stop'],
    script: [asks(`DELETE ${REPLAY}`, ok(replay('stopped', 2)))],
    code: 0,
    output: 'The replay from S to U was stopped: 2 events are sent.',
  },
  ...(
    [
      [['--yes'], /^--since is missing/],
      [['--since', 'then'], /^--since is "then"/],
      [['--since', '1h', '--until', '2h'], /--until must be later\.$/],
      [['--since', '1h', '--type', 'orders'], /^--type is "orders"; it takes Operation State Changed, /],
    ] as const
  ).map(
    ([args, notes]): Scenario => ({
      title: `refuses ${args.join(' ')} without a request`,
      args: ['replay', ...args],
      script: [],
      code: 2,
      notes,
    }),
  ),
];

const REDRIVE = 'POST /bridge/v1/redrive';
const redriven = asks(REDRIVE, ok(replay('in_progress')));

const redriving: readonly Scenario[] = [
  {
    title: 'begins it when a person says yes, and follows it to its end',
    args: ['redrive'],
    confirms: true,
    script: [redriven, looks(ok(replay('in_progress', 2))), looks(ok(replay('ended', 3)))],
    code: 0,
    output: '3 parked events are sent.',
    notes: /2 events are sent, and \d+ items of the table are read\.$/m,
    waits: [1, 1],
  },
  {
    title: 'sends nothing when a person says no',
    args: ['redrive'],
    confirms: false,
    script: [],
    code: 0,
    notes: /Nothing was sent\.$/,
  },
  {
    title: 'sends nothing when nobody can be asked',
    args: ['redrive'],
    script: [],
    code: 2,
    notes: /Nothing was sent\. Add --yes to send the parked events\.$/,
  },
  {
    title: 'ends with 1 when the bus refuses events again',
    args: ['redrive', '--yes'],
    script: [redriven, looks(ok(replay('ended', 3, 2)))],
    code: 1,
    output: '3 parked events are sent. The bus refused 2 again, which stay parked.',
  },
  {
    title: 'ends with 1 when somebody stops it',
    args: ['redrive', '--yes', '--json'],
    script: [redriven, looks(ok(replay('stopped', 1)))],
    code: 1,
    json: { state: 'stopped', sent_count: 1 },
  },
  {
    title: 'ends with 2 when a replay is in progress',
    args: ['redrive', '--yes'],
    script: [asks(REDRIVE, problem(409, 'Another replay is in progress.'))],
    code: 2,
    notes: /answered 409: Another replay is in progress\.$/,
    asProcess: true,
  },
];

describeScenarios('verify', verifying);
describeScenarios('replay', replaying);
describeScenarios('redrive', redriving);
