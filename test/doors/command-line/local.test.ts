/** What needs no bridge, or finds one: the connection, subscribe, upstream and start. */

import { asks, never, ok, withCtrlC } from './answers.ts';
import { describeScenarios, type Scenario } from './scenario.ts';

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
  {
    title: 'the help of a subcommand shows how it is used, and what its exit codes mean',
    args: ['wait', '--help'],
    script: [],
    code: 0,
    output: [
      /^ {2}\$ operations-bridge wait operation /m,
      /^ {2}0 {4}it succeeded\n {2}1 {4}it failed\n {2}2 /m,
    ],
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
describeScenarios('subscribe', subscribing);
describeScenarios('what runs here:', running);
