/** `operations-bridge wait`: the end of an operation, a branch or a command that others started. */

import { after, asks, cut, hangUp, never, ok, page, problem, times, withCtrlC } from './answers.ts';
import { describeScenarios, type Scenario } from './scenario.ts';
import type { Answer, Exchange } from './scripted-server.ts';

const OPERATION = 'GET /bridge/v1/projects/p-1/operations/op-1';
const waitForOperation = ['wait', 'operation', 'op-1', '--project', 'p-1'];
const operation = (status: string, open: boolean) =>
  ok({ operation: { operation_id: 'op-1', status, open } });
const finished = operation('finished', false);
const running = operation('running', true);

const asksLong = (answer: Answer): Exchange => asks(`${OPERATION}?wait=25`, answer);
const unknown = problem(404, 'There is no such operation.');

const operations: readonly Scenario[] = [
  ...(
    [
      ['finished', false, 0, 'succeeded'],
      ['skipped', false, 0, 'succeeded'],
      ['cancelled', false, 1, 'failed'],
      ['error', false, 1, 'failed'],
      ['failed', false, 1, 'failed'],
      ['a_new_status', false, 1, 'failed'],
    ] as const
  ).map(
    ([status, open, code, outcome]): Scenario => ({
      title: `ends with ${code} when the operation is ${status}`,
      args: [...waitForOperation, '--json'],
      script: [asksLong(operation(status, open))],
      code,
      json: { outcome, state: status, seen: { operation_id: 'op-1' } },
      notes: `operation op-1: ${status}`,
    }),
  ),
  {
    title: 'waits for a failed operation that the upstream may try again',
    args: waitForOperation,
    script: [asksLong(operation('failed', true)), asksLong(running), asksLong(finished)],
    code: 0,
    output: 'Operation op-1 has succeeded (finished).',
    notes: 'operation op-1: failed\noperation op-1: running\noperation op-1: finished',
    waits: [2, 2],
    asProcess: true,
  },
  {
    title: 'waits through what a bridge that is being deployed answers, and says each trouble once',
    args: waitForOperation,
    script: [
      ...times(3, asksLong(problem(500, 'A fault.'))),
      asksLong(hangUp),
      asksLong(cut({})),
      asksLong(page(502)),
      ...times(2, asksLong(unknown)),
      asksLong(problem(429, 'Too many requests.')),
      asksLong(finished),
    ],
    code: 0,
    output: 'Operation op-1 has succeeded (finished).',
    notes: [/^(?!.*A fault.*A fault)/s, /answered 404: There is no such operation/, /answered 429/],
    waits: [9, 20],
  },
  {
    title: 'comes back when the bridge has asked it to, and not before',
    args: waitForOperation,
    script: [
      asksLong(problem(429, 'Too many requests.', { headers: { 'retry-after': '20' } })),
      asksLong(finished),
    ],
    code: 0,
    waits: [20, 21],
  },
  {
    title: 'takes an answer that comes after the longest hold',
    args: waitForOperation,
    script: [asksLong(after(29, running)), asksLong(finished)],
    code: 0,
    waits: [30, 30],
  },
  {
    title: 'holds no question open for longer than is left of --timeout, and ends with 124',
    args: [...waitForOperation, '--timeout', '1m', '--json'],
    script: [
      asksLong(after(25, running)),
      asksLong(after(25, running)),
      asks(`${OPERATION}?wait=8`, after(8, running)),
    ],
    code: 124,
    json: { outcome: 'pending', state: 'running' },
    waits: [60, 61],
  },
  {
    title: 'ends with 124 when a bridge that only fails has used up --timeout',
    args: [...waitForOperation, '--timeout', '3s', '--json'],
    script: [3, 2, 1, 0].map((wait) => asks(`${OPERATION}?wait=${wait}`, problem(500, 'A fault.'))),
    code: 124,
    json: { outcome: 'pending', state: 'unknown', seen: null },
    notes: 'operation op-1: The bridge at {origin} answered 500: A fault.',
    waits: [3, 3],
  },
  {
    title: 'ends with 4 after half a minute for an id that nobody knows',
    args: [...waitForOperation, '--json'],
    script: [asksLong(after(25, unknown)), asks(`${OPERATION}?wait=4`, after(4, unknown))],
    code: 4,
    json: { outcome: 'not_found', state: 'unknown', seen: null },
    notes: 'operation op-1: The bridge at {origin} answered 404: There is no such operation.',
    waits: [30, 30],
  },
  {
    title:
      'waits for an id that appears after an outage of the bridge, and for as long as --appears-within says',
    args: [...waitForOperation, '--appears-within', '5s'],
    script: [
      ...times(8, asks(`${OPERATION}?wait=5`, problem(503, 'Away.'))),
      asks(`${OPERATION}?wait=5`, unknown),
      asks(`${OPERATION}?wait=4`, finished),
    ],
    code: 0,
    output: 'Operation op-1 has succeeded (finished).',
    waits: [9, 12],
  },
  {
    title: 'says in a sentence that nobody knows the id',
    args: [...waitForOperation, '--appears-within', '1s'],
    script: [asks(`${OPERATION}?wait=1`, unknown), asks(`${OPERATION}?wait=0`, unknown)],
    code: 4,
    output: 'Operation op-1 is known to nobody; check the id and the project.',
    waits: [1, 2],
  },
  {
    title: 'ends with 124 soon after --timeout when the bridge never answers',
    args: [...waitForOperation, '--timeout', '10s'],
    script: [asks(`${OPERATION}?wait=10`, never)],
    code: 124,
    output: 'Operation op-1 has not ended.',
    waits: [10, 15],
  },
  ...(['30s', '10s'] as const).map(
    (timeout): Scenario => ({
      title: `ends with 2 when no address is set and no bridge appears on this machine, with --timeout ${timeout}`,
      args: [...waitForOperation, '--appears-within', '20s', '--timeout', timeout],
      environment: { OPERATIONS_BRIDGE_URL: undefined, OPERATIONS_BRIDGE_TOKEN: undefined },
      script: [],
      code: 2,
      output: '',
      notes: /\nNo bridge runs on this machine, and no address is set\. [^\n]+$/,
      waits: timeout === '10s' ? [10, 10] : [20, 20],
    }),
  ),
  ...[400, 401, 403, 422].map(
    (status): Scenario => ({
      title: `ends with 2 when the bridge refuses with ${status}`,
      args: [...waitForOperation, '--json'],
      script: [asksLong(running), asksLong(problem(status, 'It cannot be.'))],
      code: 2,
      output: '',
      notes: [new RegExp(`answered ${status}: It cannot be\\.`)],
      waits: [1, 1],
    }),
  ),
  {
    title: 'says what is wrong when something else answers',
    args: waitForOperation,
    script: [asksLong(page(200))],
    code: 2,
    notes: '{origin} answers, but not as a bridge does; check the address.',
  },
  {
    title: 'ends with 130 on Ctrl-C, with what it knows',
    args: waitForOperation,
    script: [asksLong(running), asksLong(withCtrlC(never))],
    code: 130,
    output: 'Operation op-1 has not ended (running).',
    waits: [1, 1],
    asProcess: true,
  },
];

const QUEUED = 'GET /bridge/v1/commands/cmd-1?wait=25';
const SENT = 'GET /bridge/v1/projects/p-1/commands/cmd-1?wait=25';
const inLine = (state: string) => ok({ command: { command_id: 'cmd-1', project_id: 'p-1', state } });
const settled = ok({
  command: { settled: true, events: [{ detail_type: 'Command Settled', detail: { outcome: 'succeeded' } }] },
});
const noCommand = problem(404, 'There is no such command.');

const commands: readonly Scenario[] = [
  {
    title: 'waits for a queued command, whose project need not be known',
    args: ['wait', 'command', 'cmd-1'],
    script: [asks(QUEUED, noCommand), asks(QUEUED, inLine('queued')), asks(QUEUED, inLine('succeeded'))],
    code: 0,
    output: 'Command cmd-1 has succeeded.',
    waits: [2, 2],
  },
  {
    title:
      'waits for a command for as long as a person has not decided on it, and ends with 2 when it is denied',
    args: ['wait', 'command', 'cmd-1', '--json'],
    script: [asks(QUEUED, inLine('awaiting_approval')), asks(QUEUED, inLine('denied'))],
    code: 2,
    json: { outcome: 'refused', state: 'denied' },
    notes: [/command cmd-1: awaiting_approval/],
    waits: [1, 1],
  },
  {
    title: 'looks for a command that was sent at once in its project',
    args: ['wait', 'command', 'cmd-1', '--project', 'p-1'],
    script: [asks(QUEUED, noCommand), asks(SENT, noCommand), asks(QUEUED, noCommand), asks(SENT, settled)],
    code: 0,
    waits: [1, 1],
  },
  {
    title: 'ends with 2 for a command that has expired in line',
    args: ['wait', 'command', 'cmd-1', '--project', 'p-1', '--json'],
    script: [asks(QUEUED, inLine('expired'))],
    code: 2,
    json: { outcome: 'refused', state: 'expired' },
  },
];

const BRANCH = 'GET /bridge/v1/projects/p-1/branches/br-1';
const waitForBranch = ['wait', 'branch', 'br-1', '--project', 'p-1'];
const tracked = (readiness: string) => ok({ branch: { branch_id: 'br-1', readiness } });
const OLDER = 'GET /api/v2/projects/p-1/branches/br-1';
const OPEN = 'GET /bridge/v1/projects/p-1/operations?branch_id=br-1&open=true';
const noBranch = problem(404, 'The bridge has not seen its creation.');

const branches: readonly Scenario[] = [
  {
    title: 'is at its end for a branch that is ready already',
    args: waitForBranch,
    script: [asks(`${BRANCH}?wait=0`, tracked('ready'))],
    code: 0,
    output: 'Branch br-1 has succeeded (ready).',
  },
  {
    title: 'waits for a branch that is pending, and ends with 1 when its creation has failed',
    args: waitForBranch,
    script: [asks(`${BRANCH}?wait=0`, tracked('pending')), asks(`${BRANCH}?wait=25`, tracked('failed'))],
    code: 1,
    output: 'Branch br-1 has failed.',
  },
  {
    title:
      'asks the upstream for a branch that is older than the bridge, until none of its operations is open',
    args: [...waitForBranch, '--json'],
    script: [
      asks(`${BRANCH}?wait=0`, noBranch),
      asks(OLDER, ok({ branch: { id: 'br-1', current_state: 'init' } })),
      asks(OPEN, ok({ operations: [] })),
      asks(`${BRANCH}?wait=0`, noBranch),
      asks(OLDER, ok({ branch: { id: 'br-1', current_state: 'ready' } })),
      asks(OPEN, ok({ operations: [{ action: 'apply_config' }] })),
      asks(`${BRANCH}?wait=0`, noBranch),
      asks(OLDER, ok({ branch: { id: 'br-1' } })),
      asks(OPEN, ok({ operations: [] })),
    ],
    code: 0,
    json: { outcome: 'succeeded', state: 'ready' },
    notes: [/branch br-1: init/, /branch br-1: apply_config/],
    waits: [2, 2],
  },
];

const refused = (
  [
    [['project', 'x'], '"project" cannot be waited for; the kind is operation, branch or command.'],
    [['operation', 'x'], '--project is missing; it takes the project of the operation.'],
    [['branch', 'x'], '--project is missing; it takes the project of the branch.'],
    [['operation'], "Missing required argument 'id'"],
    [
      ['command', 'x', '--timeout', 'soon'],
      '--timeout is "soon"; it takes a duration such as 90s, 5m or 2h.',
    ],
  ] as const
).map(
  ([args, notes]): Scenario => ({
    title: `refuses ${args.join(' ')} without a request`,
    args: ['wait', ...args],
    script: [],
    code: 2,
    output: '',
    notes,
  }),
);

describeScenarios('wait operation', operations);
describeScenarios('wait command', commands);
describeScenarios('wait branch', branches);
describeScenarios('wait', refused);
