/** What needs no bridge, or finds one: the connection, conformance, subscribe, upstream and start. */

import { answers, asks, hangUp, never, ok, page, problem, withCtrlC } from './answers.ts';
import { describeScenarios, type Scenario } from './scenario.ts';
import type { Answer, Exchange } from './scripted-server.ts';

const status = (token: string) =>
  asks('GET /bridge/v1/freeze', ok({ frozen: false }), { headers: { authorization: `Bearer ${token}` } });
const nothingSet = { OPERATIONS_BRIDGE_URL: undefined, OPERATIONS_BRIDGE_TOKEN: undefined };
const SETTINGS = '.config/operations-bridge/config.json';
const localRun = (processId: string) => ({
  '.local/state/operations-bridge/local-run.json': `{"process_id":${processId},"url":"{origin}","token":"opb_of-the-run","aws_endpoint":"{origin}","access_key_id":"k","upstream_base_url":"{origin}/api/v2"}`,
});
const freezeStatus = ['freeze', 'status'];

const connecting: readonly Scenario[] = [
  {
    title: 'is that of the options before that of the environment',
    args: [...freezeStatus, '--url', '{origin}/', '--token-stdin'],
    environment: { OPERATIONS_BRIDGE_URL: 'https://elsewhere.example.com' },
    input: ' opb_from-the-input\n',
    script: [status('opb_from-the-input')],
    code: 0,
  },
  {
    title: 'is that of the file of settings when nothing else is set',
    args: freezeStatus,
    environment: nothingSet,
    files: { [SETTINGS]: '{"url":"{origin}","token":"opb_of-the-settings"}', ...localRun('{pid}') },
    script: [status('opb_of-the-settings')],
    code: 0,
  },
  {
    title: 'is the bridge that runs on this machine when nothing is set',
    args: freezeStatus,
    environment: nothingSet,
    files: localRun('{pid}'),
    script: [status('opb_of-the-run')],
    code: 0,
    asProcess: true,
  },
  {
    title: 'never hands a kept token to another bridge',
    args: [...freezeStatus, '--url', '{origin}'],
    environment: nothingSet,
    files: { [SETTINGS]: '{"url":"https://elsewhere.example.com","token":"opb_of-the-settings"}' },
    script: [],
    code: 2,
    notes: /^There is no token for the bridge at http:/,
  },
  {
    title: 'is none when the run on this machine was killed',
    args: freezeStatus,
    environment: nothingSet,
    files: localRun('999999999'),
    script: [],
    code: 2,
    notes: /^No bridge runs on this machine, and no address is set\./,
  },
  {
    title: 'does not carry a token over a network in plain text',
    args: freezeStatus,
    environment: { OPERATIONS_BRIDGE_URL: 'http://bridge.example.com' },
    script: [],
    code: 2,
    notes: /^OPERATIONS_BRIDGE_URL is "http:\/\/bridge\.example\.com"; it takes the address of the bridge/,
  },
  {
    title: 'is refused with a field that the settings do not have',
    args: freezeStatus,
    environment: nothingSet,
    files: { [SETTINGS]: '{"tokn":"x"}' },
    script: [],
    code: 2,
    notes: /is not usable; it takes a JSON object with the texts url, token, signing_secret\.$/,
  },
  {
    title: 'waits for an answer as long as the longest hold takes, and not for ever',
    args: freezeStatus,
    script: [asks('GET /bridge/v1/freeze', never)],
    code: 2,
    notes: /does not answer \(it took too long\)\.$/,
    waits: [30, 40],
  },
  {
    title: 'ends with 130 on Ctrl-C',
    args: freezeStatus,
    script: [asks('GET /bridge/v1/freeze', withCtrlC(never))],
    code: 130,
    output: '',
  },
];

const KEY = 'napi_the-key-of-an-account';
const conform = ['conformance', '--upstream', '{origin}/api/v2/'];
const reads = (path: string, answer: Answer, authorization: string | null = `Bearer ${KEY}`): Exchange =>
  asks(`GET /api/v2${path}`, answer, { headers: { authorization } });
const refused = (code: number) => answers(code, { code: 'X', message: 'No.' }, { 'x-request-id': 'r' });
const anEmptyAccount: readonly Exchange[] = [
  reads('/projects?limit=2', ok({ projects: [] }, { 'x-request-id': 'r' })),
  reads('/projects?limit=1', refused(401), null),
  reads('/projects?limit=1', refused(401), 'Bearer this-key-is-wrong-on-purpose'),
  reads('/projects/no-such-project-00000000', refused(404)),
];

const conforming: readonly Scenario[] = [
  {
    title: 'reads an account without projects, at thirty requests a minute, and finds nothing different',
    args: [...conform, '--json', '--output', '{home}/report.json'],
    environment: { UPSTREAM_API_KEY: KEY },
    script: anEmptyAccount,
    code: 0,
    json: { requests: 4, made_at: '2026-01-16T21:00:06.000Z' },
    leaves: { 'report.json': [/"requests": 4/] },
    waits: [6, 6],
  },
  {
    title: 'ends with 1 when something is different',
    args: [...conform, '--key-stdin'],
    input: `${KEY}\n`,
    script: anEmptyAccount.map((each, index) =>
      index === 1 ? { ...each, answer: ok({ projects: [] }) } : each,
    ),
    code: 1,
    output: [/^different {2}Without a key the answer is 401\.$/m, / [12] different$/],
    waits: [6, 6],
  },
  ...(
    [
      [problem(401, 'No.'), /answered 401\); check UPSTREAM_API_KEY\.$/],
      [problem(500, 'No.'), /answered 500\); check --upstream/],
      [page(200), /answered 200\); check --upstream/],
      [hangUp, /does not answer .*check --upstream and the network\.$/],
    ] as const
  ).map(
    ([answer, notes]): Scenario => ({
      title: `judges nothing when the first list is answered ${JSON.stringify(answer)}`,
      args: [...conform, '--json'],
      environment: { UPSTREAM_API_KEY: KEY },
      script: [
        reads('/projects?limit=2', answer),
        ...(answer.kind === 'answer' ? anEmptyAccount.slice(1) : []),
      ],
      code: 2,
      output: '',
      notes,
      waits: answer.kind === 'answer' ? [6, 6] : [0, 0],
      ...(answer.kind === 'hang-up' && { asProcess: true as const }),
    }),
  ),
  {
    title: 'needs a key',
    args: conform,
    script: [],
    code: 2,
    notes: 'There is no API key; put it into UPSTREAM_API_KEY, or use --key-stdin.',
  },
];

const subscribing: readonly Scenario[] = [
  {
    title: 'writes a new file, and asks nobody',
    args: [
      'subscribe',
      '--failed',
      '--project',
      'p-1',
      '--to',
      'sqs',
      '--as',
      'cloudformation',
      '--output',
      '{home}/new.yaml',
    ],
    script: [],
    code: 0,
    output: '',
    leaves: { 'new.yaml': [/p-1/, /AWS::SQS::Queue/] },
    asProcess: true,
  },
  {
    title: 'prints one JSON document with --json',
    args: ['subscribe', '--commands', '--to', 'lambda', '--as', 'terraform', '--json'],
    script: [],
    code: 0,
    json: { pattern: { 'detail-type': ['Command Settled'] } },
  },
  {
    title: 'overwrites nothing',
    args: ['subscribe', '--failed', '--to', 'sqs', '--as', 'cli', '--output', '{home}/mine.sh'],
    files: { 'mine.sh': 'mine' },
    script: [],
    code: 2,
    notes: /mine\.sh", which exists; remove it, or name another file\.$/,
    leaves: { 'mine.sh': 'mine' },
  },
  {
    title: 'refuses a single filter that its events do not have',
    args: [
      'subscribe',
      '--failed',
      '--status',
      'error',
      '--to',
      'sqs',
      '--as',
      'cli',
      '--output',
      '{home}/new.sh',
    ],
    script: [],
    code: 2,
    notes: /decides by itself which changes are failures; leave the filter by status out/,
    output: '',
  },
];

const running: readonly Scenario[] = [
  {
    title: 'upstream runs for as long as --for says',
    args: ['upstream', '--projects', '1', '--for', '1s', '--json'],
    script: [],
    code: 0,
    output: [/"kind":"ready"/, /"kind":"end"/],
    asProcess: 'only',
  },
  {
    title: 'start runs the whole bridge for as long as --for says, and withdraws its announcement',
    args: ['start', '--projects', '1', '--for', '1s', '--json'],
    script: [],
    code: 0,
    output: [/^\{"kind":"ready"|^\{"kind":"note"/, /"kind":"end"/],
    asProcess: 'only',
  },
  ...(
    [
      [
        ['start', '--upstream', '{origin}/api/v2'],
        'UPSTREAM_API_KEY is not set; put the API key of the account into it.',
      ],
      [['start', '--projects', '0'], '--projects is "0"; it takes a whole number from 1 to 5000.'],
      [['upstream', '--plan', 'none'], /^--plan is "none"; it takes /],
      [['upstream', '--dial', 'x=1'], /^--dial x is not usable/],
      [['lisen'], "Unknown command 'lisen' (Did you mean listen?)"],
      [['tokens'], /^"tokens" takes one of the subcommands create, list, revoke;/],
    ] as const
  ).map(
    ([args, notes]): Scenario => ({
      title: `refuses ${args.join(' ')} with a sentence`,
      args,
      script: [],
      code: 2,
      notes,
    }),
  ),
];

describeScenarios('the connection', connecting);
describeScenarios('conformance', conforming);
describeScenarios('subscribe', subscribing);
describeScenarios('what runs here:', running);
