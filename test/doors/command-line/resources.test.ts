/** The subcommands that show and change what the bridge keeps: accounts, audit, freeze, incidents and mutes. */

import { answers, asks, hangUp, ok, problem, times } from './answers.ts';
import { HOSTILE_TEXTS } from './hostile-upstream.ts';
import { describeScenarios, type Scenario } from './scenario.ts';
import type { Exchange } from './scripted-server.ts';

const numbered = <Row>(count: number, from: number, row: (n: number) => Row) =>
  Array.from({ length: count }, (_, index) => row(from + index));

const record = (n: number) => ({
  received_at: '2026-01-16T20:00:00.000Z',
  request_id: `req-${n}`,
  client_id: 'ci',
  call: 'createProjectBranch',
  project_id: 'p-1',
  outcome: 'done',
  status: 201,
});
const auditPage = (count: number, from: number, cursor?: string, unreadable = 0) =>
  ok({ records: numbered(count, from, record), unreadable, ...(cursor !== undefined && { cursor }) });
const requestIds = (count: number) => numbered(count, 1, (n) => ({ request_id: `req-${n}` }));

const audit: readonly Scenario[] = [
  {
    title:
      'reads page after page until it has as many records as were asked for, and says that there are more',
    args: ['audit', '--limit', '130', '--json'],
    script: [
      asks('GET /bridge/v1/audit?limit=100', auditPage(100, 1, 'c1')),
      asks('GET /bridge/v1/audit?limit=100&cursor=c1', auditPage(0, 0, 'c2', 2)),
      asks('GET /bridge/v1/audit?limit=100&cursor=c2', auditPage(100, 101, 'c3', 1)),
    ],
    code: 0,
    jsonLines: requestIds(130),
    notes:
      'There are more records; --until and --limit reach them.\n3 records cannot be read by this version of the bridge.',
  },
  {
    title: 'stops at the last page, and asks only for what the filters let through',
    args: [
      'audit',
      '--client',
      'ci',
      '--call',
      'x',
      '--project',
      'p-1',
      '--outcome',
      'refused',
      '--outcome',
      'open',
      '--since',
      '2h',
      '--until',
      '2026-01-16T20:30:00Z',
    ],
    script: [
      asks(
        'GET /bridge/v1/audit?call=x&client_id=ci&from=2026-01-16T19:00:00.000Z&limit=50&outcome=refused,open&project_id=p-1&until=2026-01-16T20:30:00.000Z',
        auditPage(1, 1),
      ),
    ],
    code: 0,
    output: /^2026-01-16T20:00:00\.000Z {2}ci +createProjectBranch +p-1 +done 201 +req-1$/,
    notes: /^RECEIVED AT +CLIENT +CALL +ABOUT +OUTCOME +REQUEST ID$/,
  },
  {
    title: 'prints nothing for nothing, and says so',
    args: ['audit'],
    script: [asks('GET /bridge/v1/audit?limit=50', auditPage(0, 0))],
    code: 0,
    output: '',
    notes: 'There is no record.',
    asProcess: true,
  },
  {
    title: 'says which project was probably meant when nothing fits',
    args: ['audit', '--project', 'icy-hat-70322458'],
    script: [
      asks('GET /bridge/v1/audit?limit=50&project_id=icy-hat-70322458', auditPage(0, 0)),
      asks('GET /bridge/v1/projects?limit=100', ok({ projects: [{ project_id: 'icy-hat-70322459' }] })),
    ],
    code: 2,
    output: '',
    notes: '--project is "icy-hat-70322458"; did you mean "icy-hat-70322459"?',
  },
  {
    title: 'ends with 2 when a later page is refused, after the records that it has',
    args: ['audit', '--limit', '200', '--json'],
    script: [
      asks('GET /bridge/v1/audit?limit=100', auditPage(1, 1, 'c1')),
      asks('GET /bridge/v1/audit?limit=100&cursor=c1', problem(500, 'A fault.')),
    ],
    code: 2,
    jsonLines: requestIds(1),
    notes: 'The bridge at {origin} answered 500: A fault.',
  },
];

const INCIDENT = '0123456789abcdef0123456789abcdef';
const incident = (n: number) => ({
  incident_id: INCIDENT.replace(/^../, String(n % 100).padStart(2, '0')),
  project_id: 'p-1',
  action: 'start_compute',
  state: 'given_up',
  began_at: '2026-01-16T20:00:00.000Z',
  failing_operation_count: n,
});
const LINE = `${INCIDENT}  2026-01-16T20:00:00.000Z  given up  start_compute in p-1  1`;
const HEADING = /^INCIDENT +SINCE +STATE +WHAT +OPERATIONS +ACKNOWLEDGED BY$/;
const ACKNOWLEDGEMENT = `/bridge/v1/incidents/${INCIDENT}/acknowledgement`;

const incidents: readonly Scenario[] = [
  {
    title: 'are read page after page, empty ones among them',
    args: ['incidents', 'list', '--project', 'p-1', '--action', 'start_compute', '--limit', '1000', '--json'],
    script: [
      ['', 'c1', 100],
      ['&cursor=c1', 'c2', 0],
      ['&cursor=c2', undefined, 3],
    ].map(([asked, cursor, count]) =>
      asks(
        `GET /bridge/v1/incidents?action=start_compute&limit=100&project_id=p-1&state=open${asked}`,
        ok({ incidents: numbered(Number(count), 1, incident), ...(cursor !== undefined && { cursor }) }),
      ),
    ),
    code: 0,
    jsonLines: [...numbered(100, 1, incident), ...numbered(3, 1, incident)],
    notes: '',
  },
  {
    title: 'are shown up to --limit, with a word that there are more',
    args: ['incidents', 'list', '--ended', '--limit', '1'],
    script: [
      asks(
        'GET /bridge/v1/incidents?limit=1&state=ended',
        ok({ incidents: numbered(2, 1, incident), cursor: 'c1' }),
      ),
    ],
    code: 0,
    output: `${LINE.replace(/^../, '01')}           -`,
    notes: /OPERATIONS {2}ACKNOWLEDGED BY\nThere are more incidents; --limit reaches them\.$/,
    asProcess: true,
  },
  {
    title: 'of the account itself are shown as such',
    args: ['incidents', 'list'],
    script: [
      asks(
        'GET /bridge/v1/incidents?limit=50&state=open',
        ok({ incidents: [{ ...incident(1), project_id: undefined, action: undefined }] }),
      ),
    ],
    code: 0,
    output: `${LINE.split('  given up')[0]?.replace(/^../, '01')}  given up  the account  -           -`,
    notes: HEADING,
  },
  {
    title: 'are not asked for with a limit that is no number',
    args: ['incidents', 'list', '--limit', 'all'],
    script: [],
    code: 2,
    notes: /^--limit is "all"/,
  },
  {
    title: 'that do not exist are said to be none',
    args: ['incidents', 'list'],
    script: [asks('GET /bridge/v1/incidents?limit=50&state=open', ok({ incidents: [] }))],
    code: 0,
    output: '',
    notes: 'There is no open incident.',
  },
  {
    title: 'that do not exist are no line of JSON',
    args: ['incidents', 'list', '--ended', '--json'],
    script: [asks('GET /bridge/v1/incidents?limit=50&state=ended', ok({ incidents: [] }))],
    code: 0,
    output: '',
  },
  {
    title: 'are acknowledged with a reason',
    args: ['incidents', 'acknowledge', INCIDENT, '--reason', 'I look at it'],
    script: [
      asks(`POST ${ACKNOWLEDGEMENT}`, ok({ ...incident(1), acknowledged: { client_id: 'ci', at: 'now' } }), {
        body: { reason: 'I look at it' },
      }),
    ],
    code: 0,
    output: `${LINE.replace(/^../, '01')}           ci`,
    notes: HEADING,
    asProcess: true,
  },
  {
    title: 'are withdrawn',
    args: ['incidents', 'withdraw', INCIDENT, '--json'],
    script: [asks(`DELETE ${ACKNOWLEDGEMENT}`, ok(incident(2)))],
    code: 0,
    json: incident(2),
    asProcess: true,
  },
  {
    title: 'of another form are refused without a request',
    args: ['incidents', 'withdraw', '../freeze'],
    script: [],
    code: 2,
    notes: '"../freeze" is no id of an incident; "operations-bridge incidents list" shows them.',
  },
];

const mute = { mute_id: 'm-1', reason: 'a migration', client_id: 'ci', until: '2026-01-16T23:00:00.000Z' };
const MUTE = 'm-1   2026-01-16T23:00:00.000Z';

const mutes: readonly Scenario[] = [
  {
    title: 'are shown with what they are for',
    args: ['mutes', 'list'],
    script: [
      asks(
        'GET /bridge/v1/mutes',
        ok({
          mutes: [
            mute,
            { ...mute, project_id: 'p-1' },
            { ...mute, action: 'start_compute' },
            { ...mute, incident_id: 'i-1', project_id: 'p-1', action: 'start_compute' },
            { ...mute, configured: true },
            { ...mute, configured: true, project_ids: ['p-1', 'p-2'] },
          ],
        }),
      ),
    ],
    code: 0,
    output: [
      ['the whole account', 'ci', 'a migration'],
      ['all in p-1', 'ci', 'a migration'],
      ['start_compute', 'ci', 'a migration'],
      ['incident i-1 (start_compute in p-1)', 'ci', 'a migration'],
      ['all accounts', 'the configuration', '-'],
      ['all in p-1, p-2', 'the configuration', '-'],
    ]
      .map(([alerts = '', by = '', reason]) => `${MUTE}  ${alerts.padEnd(35)}  ${by.padEnd(17)}  ${reason}`)
      .join('\n'),
    notes: /^MUTE +UNTIL +ALERTS +BY +REASON$/,
    asProcess: true,
  },
  {
    title: 'are none for people, and no line of JSON',
    args: ['mutes', 'list'],
    script: [asks('GET /bridge/v1/mutes', ok({ mutes: [] }))],
    code: 0,
    output: 'Nothing is muted.',
  },
  {
    title: 'that do not exist are no line of JSON',
    args: ['mutes', 'list', '--json'],
    script: [asks('GET /bridge/v1/mutes', ok({ mutes: [] }))],
    code: 0,
    output: '',
  },
  {
    title: 'are added for a duration in seconds, one for each project and action',
    args: 'mutes add --project p-1 --project p-2 --action start_compute --for 2h --reason x --json'.split(
      ' ',
    ),
    script: [
      asks(
        'GET /bridge/v1/projects?limit=100',
        ok({ projects: [{ project_id: 'p-1' }, { project_id: 'p-2' }] }),
      ),
      ...['p-1', 'p-2'].map((project_id) =>
        asks('POST /bridge/v1/mutes', answers(201, mute), {
          body: { project_id, action: 'start_compute', duration_seconds: 7_200, reason: 'x' },
        }),
      ),
    ],
    code: 0,
    jsonLines: [mute, mute],
    asProcess: true,
  },
  {
    title: 'of an incident name it alone',
    args: ['mutes', 'add', '--incident', INCIDENT, '--for', '1h', '--reason', 'x', '--json'],
    script: [
      asks('POST /bridge/v1/mutes', answers(201, mute), {
        body: { incident_id: INCIDENT, duration_seconds: 3_600, reason: 'x' },
      }),
    ],
    code: 0,
    json: mute,
  },
  ...[true, false].map(
    (confirms): Scenario => ({
      title: `of the whole account ask a person first, who says ${confirms ? 'yes' : 'no'}`,
      args: ['mutes', 'add', '--for', '1h', '--reason', 'x'],
      confirms,
      script: confirms
        ? [
            asks('POST /bridge/v1/mutes', answers(201, mute), {
              body: { duration_seconds: 3_600, reason: 'x' },
            }),
          ]
        : [],
      code: 0,
      ...(confirms
        ? { output: `${MUTE}  the whole account  ci  a migration` }
        : { output: '', notes: 'Nothing was muted.' }),
    }),
  ),
  {
    title: 'are removed',
    args: ['mutes', 'remove', 'm-1'],
    script: [asks('DELETE /bridge/v1/mutes/m-1', ok(mute))],
    code: 0,
    output: 'The mute m-1 has ended.',
    asProcess: true,
  },
  ...(
    [
      [['add', '--for', '30s', '--reason', 'x'], '--for is "30s"; a mute lasts from 1m to 720h.'],
      [['add', '--for', '721h', '--reason', 'x'], '--for is "721h"; a mute lasts from 1m to 720h.'],
      [
        ['add', '--for', '1h', '--reason', 'x'],
        'Name a project, an action or an incident; --all mutes the whole account.',
      ],
      [
        ['add', '--all', '--project', 'p-1', '--for', '1h', '--reason', 'x'],
        '--all mutes the whole account; leave it out, or leave the filters out.',
      ],
      [['add', '--for', '1h'], /^Required option '--reason <text>' not specified$/],
      [['remove', '../freeze'], '"../freeze" is no id of a mute; "operations-bridge mutes list" shows them.'],
    ] as const
  ).map(
    ([args, notes]): Scenario => ({
      title: `refuse ${args.join(' ')} without a request`,
      args: ['mutes', ...args],
      script: [],
      code: 2,
      notes,
    }),
  ),
];

const frozen = { frozen: true, reason: 'a migration', client_id: 'ci', since: '2026-01-16T20:00:00.000Z' };

const freeze: readonly Scenario[] = [
  {
    title: 'on holds the commands with a reason',
    args: ['freeze', 'on', 'a migration'],
    script: [asks('POST /bridge/v1/freeze', ok(frozen), { body: { reason: 'a migration' } })],
    code: 0,
    output: 'The commands are held since 2026-01-16T20:00:00.000Z by ci: a migration',
    asProcess: true,
  },
  {
    title: 'off lets them go on',
    args: ['freeze', 'off', '--json'],
    script: [asks('DELETE /bridge/v1/freeze', ok({ frozen: false }))],
    code: 0,
    json: { frozen: false },
    asProcess: true,
  },
  {
    title: 'status shows it',
    args: ['freeze', 'status'],
    script: [asks('GET /bridge/v1/freeze', ok({ frozen: false }))],
    code: 0,
    output: 'The commands are not held.',
    asProcess: true,
  },
];

const account = (n: number) => ({
  account_id: `tenant-${n}`,
  state: 'active',
  origin: 'added',
  lane: 3,
  project_count: 12,
  healthy: true,
});
const ACCOUNT = '/bridge/v1/accounts/tenant-7';
const changed = ok({ account: account(7) });
const changes = (body: object): Exchange => asks(`PATCH ${ACCOUNT}`, changed, { body });
const CHANGED = 'tenant-7  active  added   3     12        healthy';
const ACCOUNTS = 'ACCOUNT   STATE   ORIGIN  LANE  PROJECTS  HEALTH';

const accounts: readonly Scenario[] = [
  {
    title: 'are listed page after page',
    args: ['accounts', 'list', '--json'],
    script: [
      asks('GET /bridge/v1/accounts?limit=100', ok({ accounts: numbered(100, 1, account), cursor: 'c1' })),
      asks('GET /bridge/v1/accounts?limit=100&cursor=c1', ok({ accounts: [], cursor: 'c2' })),
      asks('GET /bridge/v1/accounts?limit=100&cursor=c2', ok({ accounts: numbered(5, 101, account) })),
    ],
    code: 0,
    jsonLines: numbered(105, 1, account),
    notes: '',
  },
  {
    title:
      'are shown with what is wrong with them, and a token without accounts:read is told what it does not see',
    args: ['accounts', 'list'],
    script: [
      asks(
        'GET /bridge/v1/accounts?limit=100',
        ok({
          accounts: [
            { ...account(1), healthy: false, reasons: ['The poller has been silent.'] },
            { ...account(2), state: 'paused', healthy: false, reasons: ['It was not read.'] },
            { ...account(3), fault: 'its secret does not exist' },
            { account_id: 'own', project_count: 4, healthy: true },
          ],
        }),
      ),
    ],
    code: 0,
    output: [
      'tenant-1  active  added   3     12        The poller has been silent.',
      'tenant-2  paused  added   3     12        -',
      'tenant-3  active  added   3     12        its secret does not exist',
      'own       -       -       -     4         -',
    ].join('\n'),
    notes: `${ACCOUNTS}\nWithout accounts:read the token sees its own account only, and not how it is set.`,
    asProcess: true,
  },
  {
    title: 'are added with their settings, and it says what the key sees',
    args: [
      'accounts',
      'add',
      'tenant-7',
      '--upstream',
      'https://host/api/v2',
      '--secret',
      's',
      '--lane',
      '3',
      '--settings',
      '{"poll_interval_seconds":1}',
    ],
    script: [
      asks(
        'POST /bridge/v1/accounts',
        answers(201, {
          account: account(7),
          check: { project_count: 1, has_more_projects: false },
          warnings: ['Slowly.'],
        }),
        {
          body: {
            account_id: 'tenant-7',
            upstream_base_url: 'https://host/api/v2',
            key_secret_id: 's',
            lane: 3,
            poll_interval_seconds: 1,
          },
        },
      ),
    ],
    code: 0,
    output: CHANGED,
    notes: `${ACCOUNTS}\nThe key sees 1 project. The bridge polls the account within a minute.\nSlowly.`,
    asProcess: true,
  },
  {
    title: 'that were added before are said to be unchanged',
    args: ['accounts', 'add', 'tenant-7', '--json'],
    script: [asks('POST /bridge/v1/accounts', changed, { body: { account_id: 'tenant-7' } })],
    code: 0,
    json: { ...account(7), warnings: [] },
    notes: 'It had been added before with the same settings; nothing was changed.',
  },
  ...(
    [
      [
        ['set', 'tenant-7', '--lane', '0', '--settings', '{"poll_interval_seconds":null}'],
        { lane: 0, poll_interval_seconds: null },
      ],
      [['pause', 'tenant-7'], { state: 'paused' }],
      [['resume', 'tenant-7'], { state: 'active' }],
      [['pin', 'tenant-7', '3'], { lane: 3 }],
      [['pin', 'tenant-7', 'none'], { lane: null }],
    ] as const
  ).map(
    ([args, body]): Scenario => ({
      title: `are changed by ${args.join(' ')}`,
      args: ['accounts', ...args],
      script: [changes(body)],
      code: 0,
      output: CHANGED,
      ...(args.at(-1) !== 'none' && { asProcess: true }),
    }),
  ),
  {
    title: 'are removed',
    args: ['accounts', 'remove', 'tenant-7', '--json'],
    script: [asks(`DELETE ${ACCOUNT}`, answers(204, ''))],
    code: 0,
    json: { account_id: 'tenant-7', removed: true },
    asProcess: true,
  },
  {
    title: 'are not said to be removed when the bridge gives no answer',
    args: ['accounts', 'remove', 'tenant-7'],
    script: [asks(`DELETE ${ACCOUNT}`, hangUp)],
    code: 2,
    output: '',
    notes: /does not answer/,
  },
  ...(
    [
      [['add', 'Not An Id'], /^"Not An Id" is no id of an account/],
      [['pin', 'tenant-7', '500'], /^"500" is no lane/],
      [['set', 'tenant-7'], 'There is nothing to change; --help shows how.'],
      [['set', 'tenant-7', '--settings', '[]'], /^--settings takes a JSON object/],
      [
        ['add', 'x', '--lane', '3', '--settings', '{"lane":4}'],
        'lane is given twice; leave it out of --settings.',
      ],
      [['add', 'x', '--key-env', 'NO_KEY'], 'The variable NO_KEY is empty.'],
      [['add', 'x', '--key-env', 'K', '--key-stdin'], /^--key-env and --key-stdin are two ways for one key/],
      [['add', 'x', '--key-stdin', '--token-stdin'], /^--key-stdin and --token-stdin read the same input/],
    ] as const
  ).map(
    ([args, notes]): Scenario => ({
      title: `refuse ${args.join(' ')} without a request`,
      args: ['accounts', ...args],
      script: [],
      code: 2,
      output: '',
      notes,
    }),
  ),
];

/** One request of each subcommand that only asks the bridge. */
const questions: readonly (readonly [readonly string[], string])[] = [
  [['audit'], 'GET /bridge/v1/audit?limit=50'],
  [['incidents', 'list'], 'GET /bridge/v1/incidents?limit=50&state=open'],
  [['incidents', 'acknowledge', INCIDENT], `POST ${ACKNOWLEDGEMENT}`],
  [['incidents', 'withdraw', INCIDENT], `DELETE ${ACKNOWLEDGEMENT}`],
  [['mutes', 'list'], 'GET /bridge/v1/mutes'],
  [['mutes', 'add', '--all', '--for', '1h', '--reason', 'x'], 'POST /bridge/v1/mutes'],
  [['mutes', 'remove', 'm-1'], 'DELETE /bridge/v1/mutes/m-1'],
  [['freeze', 'on', 'x'], 'POST /bridge/v1/freeze'],
  [['freeze', 'off'], 'DELETE /bridge/v1/freeze'],
  [['freeze', 'status'], 'GET /bridge/v1/freeze'],
  [['accounts', 'list'], 'GET /bridge/v1/accounts?limit=100'],
  [['accounts', 'add', 'tenant-7'], 'POST /bridge/v1/accounts'],
  [['accounts', 'set', 'tenant-7', '--lane', '1'], `PATCH ${ACCOUNT}`],
  [['accounts', 'pause', 'tenant-7'], `PATCH ${ACCOUNT}`],
  [['accounts', 'resume', 'tenant-7'], `PATCH ${ACCOUNT}`],
  [['accounts', 'pin', 'tenant-7', '1'], `PATCH ${ACCOUNT}`],
  [['accounts', 'remove', 'tenant-7'], `DELETE ${ACCOUNT}`],
  [['replay', '--progress'], 'GET /bridge/v1/replay'],
  [['replay', '--stop'], 'DELETE /bridge/v1/replay'],
  [['verify'], 'GET /bridge/v1/projects?limit=100'],
];

const DELETION = {
  approval_id: 'c-1',
  project_id: 'p-1',
  client_id: 'agent',
  call: 'deleteProject',
  request: 'DELETE /projects/p-1',
  state: 'awaiting_approval',
  expires_at: '2026-01-17T20:00:00.000Z',
};
const decided = (state: string) => ok({ approval: { ...DELETION, state, decided_by: 'marta' } });

const approvals: readonly Scenario[] = [
  {
    title: 'are shown with what would be sent, and who asked',
    args: ['approvals', 'list'],
    script: [asks('GET /bridge/v1/approvals', ok({ approvals: [DELETION] }))],
    code: 0,
    output: 'c-1       DELETE /projects/p-1  agent     2026-01-17T20:00:00.000Z',
    notes: /^APPROVAL +REQUEST +ASKED BY +UNTIL$/,
  },
  {
    title: 'are given by id',
    args: ['approvals', 'approve', 'c-1'],
    script: [asks('POST /bridge/v1/approvals/c-1', decided('queued'))],
    code: 0,
    output: 'DELETE /projects/p-1 is approved and is sent in its turn.',
    asProcess: true,
  },
  {
    title: 'are denied with a reason',
    args: ['approvals', 'deny', 'c-1', '--reason', 'still in use'],
    script: [asks('POST /bridge/v1/approvals/c-1', decided('denied'))],
    code: 0,
    output: 'DELETE /projects/p-1 is denied and is not sent.',
  },
  {
    title: 'of a wrong id are not asked for',
    args: ['approvals', 'deny', '../x'],
    script: [],
    code: 2,
    notes: '"../x" is no id of an approval; "operations-bridge approvals list" shows them.',
  },
];

const manners: readonly Scenario[] = questions.flatMap(([args, request]) =>
  [401, 403, 404, 409, 422, 429, 500, 503].map(
    (status): Scenario => ({
      title: `${args.join(' ')} ends with 2, one sentence and no output when it is refused with ${status}`,
      args: [...args, '--json'],
      script: [asks(request, problem(status, 'It cannot be.', { headers: { 'retry-after': '9' } }))],
      code: 2,
      output: '',
      notes:
        status === 401
          ? 'The bridge at {origin} answered 401: It cannot be. The command "operations-bridge tokens create" makes a token.'
          : `The bridge at {origin} answered ${status}: It cannot be.`,
    }),
  ),
);

const silences: readonly Scenario[] = questions.map(
  ([args, request]): Scenario => ({
    title: `${args.join(' ')} is sent once, and ends with a sentence when the bridge hangs up`,
    args: [...args, '--json'],
    script: times(1, asks(request, hangUp)),
    code: 2,
    output: '',
    notes: /^The bridge at http:\S+ does not answer \(\w+\)\.$/,
  }),
);

const HOSTILE = HOSTILE_TEXTS.join(' ');

/** One line without a character that a terminal obeys, or that turns or splits what it shows. */
const TAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u;

const hostile: readonly Scenario[] = [
  {
    title: 'as the action of an incident',
    args: ['incidents', 'list'],
    script: [
      asks(
        'GET /bridge/v1/incidents?limit=50&state=open',
        ok({ incidents: [{ ...incident(1), action: HOSTILE }] }),
      ),
    ],
    code: 0,
    output: TAME,
  },
  {
    title: 'as the reason of a mute',
    args: ['mutes', 'list'],
    script: [asks('GET /bridge/v1/mutes', ok({ mutes: [{ ...mute, reason: HOSTILE }] }))],
    code: 0,
    output: TAME,
  },
  {
    title: 'as the reason of a freeze',
    args: ['freeze', 'status'],
    script: [asks('GET /bridge/v1/freeze', ok({ ...frozen, reason: HOSTILE }))],
    code: 0,
    output: TAME,
  },
  {
    title: 'as the status of an operation that is waited for',
    args: ['wait', 'operation', 'op-1', '--project', 'p-1'],
    script: [
      asks(
        'GET /bridge/v1/projects/p-1/operations/op-1?wait=25',
        ok({ operation: { operation_id: 'op-1', status: HOSTILE, open: false } }),
      ),
    ],
    code: 1,
    output: TAME,
    notes: TAME,
  },
  {
    title: 'as the words of a refusal',
    args: ['incidents', 'acknowledge', INCIDENT],
    script: [asks(`POST ${ACKNOWLEDGEMENT}`, problem(409, HOSTILE))],
    code: 2,
    notes: TAME,
  },
];

describeScenarios('audit', audit);
describeScenarios('incidents', incidents);
describeScenarios('mutes', mutes);
describeScenarios('freeze', freeze);
describeScenarios('approvals', approvals);
describeScenarios('accounts', accounts);
describeScenarios('the manners of', manners);
describeScenarios('the silence of a bridge:', silences);
describeScenarios('a text of strangers commands no terminal:', hostile);
