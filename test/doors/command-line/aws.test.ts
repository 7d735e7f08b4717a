/** The subcommands that ask AWS itself: doctor, tokens, alerts, and the key of an account. */

import { expect } from 'vitest';
import { INDEXES } from '../../../shared/store/table.ts';
import { answers, asks, hangUp, ok, page, problem, times } from './answers.ts';
import { describeScenarios, type Scenario, SIGNING_SECRET } from './scenario.ts';
import type { Exchange } from './scripted-server.ts';

const KEY = 'napi_the-key-of-an-account';
const PEPPER = 'a-pepper-of-tests-that-is-long-enough';
/** A word list has it. */
const WORD = 'correct-horse-battery';

/** The scripted server is AWS, too. */
const AWS = {
  AWS_ENDPOINT_URL: '{origin}',
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'example',
  AWS_MAX_ATTEMPTS: '1',
};
const refusedByAws = (name: string, status = 400) =>
  answers(
    status,
    { __type: name, message: `${name} says AWS`, Message: `${name} says AWS` },
    { 'x-amzn-errortype': name },
  );

const NAME = 'operations-bridge';
const TOPIC = `arn:aws:sns:eu-central-1:123456789012:${NAME}-alarms`;
const FUNCTION = `arn:aws:lambda:eu-central-1:123456789012:function:${NAME}-poller`;

const schedule = (name: string, State = 'ENABLED') => ({
  Name: `${NAME}-${name}`,
  GroupName: 'default',
  State,
  Target: { Arn: FUNCTION },
});
const lanePayload = asks(
  `GET /schedules/${NAME}-lane-0?groupName=default`,
  ok({ Target: { Input: JSON.stringify({ lane: 0, accounts: [{ account_id: 'main' }] }) } }),
);
const subscriptions = (...arns: readonly string[]) =>
  answers(
    200,
    `<ListSubscriptionsByTopicResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><ListSubscriptionsByTopicResult><Subscriptions>${arns
      .map((arn) => `<member><SubscriptionArn>${arn}</SubscriptionArn></member>`)
      .join('')}</Subscriptions></ListSubscriptionsByTopicResult></ListSubscriptionsByTopicResponse>`,
    { 'content-type': 'text/xml' },
  );
const table = ok({
  Table: {
    TableStatus: 'ACTIVE',
    GlobalSecondaryIndexes: INDEXES.map(({ name }) => ({ IndexName: name, IndexStatus: 'ACTIVE' })),
  },
});
const invoked = (
  name: string,
  answer = ok({ self_test: name, results: [{ call: 'c', outcome: 'allowed' }], untried: [] }),
) => asks(`POST /2015-03-31/functions/${NAME}-${name}/invocations`, answer);
const inAws: readonly Exchange[] = [
  asks('AWS DescribeTable', table),
  asks('AWS DescribeEventBus', ok({ Name: NAME })),
  asks('AWS GetSecretValue', ok({ SecretString: PEPPER })),
];
const schedules: readonly Exchange[] = [
  asks(
    `GET /schedules?NamePrefix=${NAME}-`,
    ok({ Schedules: [schedule('lane-0'), schedule('commands-sweep')], NextToken: 'n1' }),
  ),
  asks(`GET /schedules?NamePrefix=${NAME}-&NextToken=n1`, ok({ Schedules: [], NextToken: 'n2' })),
  asks(
    `GET /schedules?NamePrefix=${NAME}-&NextToken=n2`,
    ok({ Schedules: [schedule('alerts-sweep'), schedule('canary')] }),
  ),
];
const functions = ['poller', 'api', 'commands', 'notifier'].map((name) => invoked(name));
const alarms = asks('AWS ListSubscriptionsByTopic', subscriptions(`${TOPIC}:1`));
const SUBSCRIBE = `two days: aws sns subscribe --topic-arn ${TOPIC} --protocol email --notification-endpoint <address>`;
const doctorOfAws = ['doctor', '--skip', 'upstream', '--skip', 'bridge', '--json'];
const isOk = (check: string) => ({ check, verdict: 'ok' });

const me = {
  client_id: 'ci',
  account_id: 'main',
  scopes: ['operations:read', 'accounts:read'],
  project_ids: null,
};
const point = { duration_ms: 60_000, request_count: 30, throttled_count: 0 };
const bridgeInOrder: readonly Exchange[] = [
  asks('GET /bridge/v1/me', ok(me)),
  asks('GET /bridge/v1/health', ok({ healthy: true, reasons: [] })),
  asks(
    'GET /bridge/v1/accounts?account_id=main',
    ok({ accounts: [{ requests_per_minute: 36, points: [point] }] }),
  ),
  asks('GET /bridge/v1/freeze', ok({ frozen: false })),
  asks(
    `GET /bridge/v1/accounts?limit=100`,
    ok({ accounts: [{ account_id: 'main', healthy: true }], cursor: 'c1' }),
  ),
  asks(
    `GET /bridge/v1/accounts?limit=100&cursor=c1`,
    ok({ accounts: [{ account_id: 'other', healthy: true }] }),
  ),
  asks('GET /bridge/v1/subscriptions', ok({ rules: [], faults: [] })),
];
const doctorOfBridge = ['doctor', '--skip', 'upstream', '--skip', 'aws', '--json'];
const withAnswer = (script: readonly Exchange[], place: number, answer: Exchange['answer']) =>
  script.map((each, index) => (index === place ? { ...each, answer } : each));
const upstreamAnswers = (answer: Exchange['answer']) => [asks('GET /api/v2/projects?limit=400', answer)];
const DATE = { date: 'Fri, 16 Jan 2026 21:00:00 GMT' };

const ANOTHER_BRIDGE = 'https://elsewhere.example.com';
const besideAnotherBridge = {
  environment: { OPERATIONS_BRIDGE_URL: ANOTHER_BRIDGE },
  files: {
    '.config/operations-bridge/config.json': JSON.stringify({ url: ANOTHER_BRIDGE, token: 'opb_of-another' }),
    '.local/state/operations-bridge/local-run.json':
      '{"process_id":{pid},"url":"{origin}","token":"opb_of-the-run","aws_endpoint":"{origin}","access_key_id":"k","upstream_base_url":"{origin}/api/v2"}',
  },
};

const doctor: readonly Scenario[] = [
  {
    title: 'finds a deployment in order, whose schedules fill several pages',
    args: doctorOfAws,
    environment: AWS,
    script: [...inAws, ...schedules, lanePayload, ...functions, alarms],
    order: 'in any order',
    code: 0,
    json: [
      isOk(`table ${NAME}`),
      isOk(`bus ${NAME}`),
      isOk(`secret ${NAME}/token-pepper`),
      { ...isOk('schedules'), found: 'All 4 schedules are enabled.' },
      ...['poller, account main', 'api', 'commands', 'notifier'].map((name) => isOk(`function ${name}`)),
      isOk('alarms'),
    ],
    notes: 'Looking at the aws ...',
    asProcess: true,
  },
  {
    title: 'names what is missing, disabled, denied and unconfirmed, and ends with 1',
    args: doctorOfAws,
    environment: AWS,
    script: [
      asks('AWS DescribeTable', ok({ Table: { TableStatus: 'ACTIVE', GlobalSecondaryIndexes: [] } })),
      asks('AWS DescribeEventBus', refusedByAws('ResourceNotFoundException')),
      asks('AWS GetSecretValue', refusedByAws('AccessDeniedException')),
      asks(
        `GET /schedules?NamePrefix=${NAME}-`,
        ok({ Schedules: [schedule('lane-0'), schedule('canary', 'DISABLED'), schedule('alerts-sweep')] }),
      ),
      lanePayload,
      invoked(
        'poller',
        ok({
          self_test: 'p',
          results: [{ call: 'events:PutEvents', outcome: 'denied', reason: 'no' }],
          untried: [],
        }),
      ),
      invoked('api', answers(200, { errorMessage: 'It is broken' }, { 'x-amz-function-error': 'Unhandled' })),
      invoked('commands', ok({ statusCode: 404 })),
      invoked('notifier', refusedByAws('ResourceNotFoundException', 404)),
      asks('AWS ListSubscriptionsByTopic', subscriptions(`${TOPIC}:1`, 'PendingConfirmation')),
    ],
    order: 'in any order',
    code: 1,
    json: [
      { check: `table ${NAME}`, verdict: 'problem' },
      { check: `bus ${NAME}`, verdict: 'problem', found: 'It does not exist.' },
      { check: `secret ${NAME}/token-pepper`, verdict: 'not checked' },
      {
        check: 'schedules',
        verdict: 'problem',
        found: `The schedule ${NAME}-commands-sweep does not exist.`,
      },
      { check: 'schedules', verdict: 'problem', found: `The schedule ${NAME}-canary is disabled.` },
      {
        check: 'function poller, account main',
        verdict: 'problem',
        found: 'AWS denies events:PutEvents (no).',
      },
      { check: 'function api', verdict: 'problem', found: 'It failed: It is broken.' },
      { check: 'function commands', verdict: 'not checked' },
      { check: 'function notifier', verdict: 'problem', found: 'It does not exist.' },
      {
        check: 'alarms',
        verdict: 'problem',
        found: '1 of 2 addresses have not confirmed.',
        advice: expect.stringContaining(SUBSCRIBE),
      },
    ],
  },
  {
    title: 'says how an address is subscribed again that AWS has removed from the alarms',
    args: doctorOfAws,
    environment: AWS,
    script: [
      ...inAws,
      ...schedules,
      lanePayload,
      ...functions,
      asks('AWS ListSubscriptionsByTopic', subscriptions()),
    ],
    order: 'in any order',
    code: 1,
    json: [
      ...[`table ${NAME}`, `bus ${NAME}`, `secret ${NAME}/token-pepper`, 'schedules'].map(isOk),
      ...['poller, account main', 'api', 'commands', 'notifier'].map((name) => isOk(`function ${name}`)),
      {
        check: 'alarms',
        verdict: 'problem',
        found: 'No address is subscribed, so what goes there reaches no one.',
        advice: expect.stringContaining(SUBSCRIBE),
      },
    ],
  },
  {
    title: 'names a pepper that is a word, and shows neither it nor how long it is',
    args: doctorOfAws,
    environment: AWS,
    script: [
      ...withAnswer(inAws, 2, ok({ SecretString: WORD })),
      ...schedules,
      lanePayload,
      ...functions,
      alarms,
    ],
    order: 'in any order',
    code: 1,
    json: [
      isOk(`table ${NAME}`),
      isOk(`bus ${NAME}`),
      {
        check: `secret ${NAME}/token-pepper`,
        verdict: 'problem',
        found: 'The pepper has fewer than 32 characters, so it can be guessed, and the API refuses it.',
        advice:
          'Put a long random text there. That ends all tokens, so issue new ones (docs/deploy/rotate-a-key.md).',
      },
      isOk('schedules'),
      ...['poller, account main', 'api', 'commands', 'notifier'].map((name) => isOk(`function ${name}`)),
      isOk('alarms'),
    ],
    output: new RegExp(`^(?!.*(${WORD}|\\b${WORD.length}\\b))`, 's'),
    asProcess: true,
  },
  {
    title: 'looks at further secrets beside the pepper, whatever name it has',
    args: [...doctorOfAws, '--pepper-secret', 'our-pepper', '--secret', 'a-key'],
    environment: AWS,
    script: [
      ...inAws.slice(0, 2),
      ...times(2, asks('AWS GetSecretValue', ok({ SecretString: WORD }))),
      ...schedules,
      lanePayload,
      ...functions,
      alarms,
    ],
    order: 'in any order',
    code: 1,
    json: [
      isOk(`table ${NAME}`),
      isOk(`bus ${NAME}`),
      { check: 'secret our-pepper', verdict: 'problem' },
      isOk('secret a-key'),
      isOk('schedules'),
      ...['poller, account main', 'api', 'commands', 'notifier'].map((name) => isOk(`function ${name}`)),
      isOk('alarms'),
    ],
  },
  {
    title: 'finds a bridge in order',
    args: doctorOfBridge,
    script: bridgeInOrder,
    code: 0,
    json: ['bridge token', 'health', 'rate', 'freeze', 'accounts', 'subscriptions'].map(isOk),
  },
  ...[problem(500, 'A fault.'), hangUp, page(502)].flatMap((answer): readonly Scenario[] => [
    {
      title: `says that the health cannot be read (${answer.kind}, ${JSON.stringify(answer).length}), and goes on`,
      args: doctorOfBridge,
      script: withAnswer(bridgeInOrder, 1, answer),
      code: 1,
      json: [
        isOk('bridge token'),
        { check: 'health', verdict: 'not checked' },
        ...['rate', 'freeze', 'accounts', 'subscriptions'].map(isOk),
      ],
    },
    {
      title: `says what it could not read of the account (${JSON.stringify(answer).length}), and goes on`,
      args: doctorOfBridge,
      script: withAnswer(bridgeInOrder, 2, answer),
      code: 1,
      json: [
        isOk('bridge token'),
        isOk('health'),
        { check: 'rate', verdict: 'not checked' },
        isOk('freeze'),
        isOk('accounts'),
        isOk('subscriptions'),
      ],
    },
  ]),
  {
    title: 'names an account on a later page that is not served',
    args: doctorOfBridge,
    script: withAnswer(
      bridgeInOrder,
      5,
      ok({ accounts: [{ account_id: 'other', healthy: false, reasons: ['It is not served.'] }] }),
    ),
    code: 1,
    json: [
      ...['bridge token', 'health', 'rate', 'freeze'].map(isOk),
      { check: 'account other', verdict: 'problem', found: 'It is not served.' },
      isOk('subscriptions'),
    ],
  },
  ...[true, false].map((healthy): Scenario => {
    const reasons = healthy ? [] : ['The channel slack has accepted nothing for an hour.'];
    const found = healthy ? /an administrator has paused the account/i : /slack has accepted nothing/;
    return {
      title: `says of a paused account that it is paused, unless something else is wrong (healthy: ${healthy})`,
      args: doctorOfBridge,
      script: withAnswer(bridgeInOrder, 1, ok({ healthy, state: 'paused', reasons })),
      code: healthy ? 0 : 1,
      json: [
        isOk('bridge token'),
        { check: 'health', verdict: healthy ? 'ok' : 'problem', found: expect.stringMatching(found) },
        ...['rate', 'freeze', 'accounts', 'subscriptions'].map(isOk),
      ],
    };
  }),
  {
    title: 'says that something else answers at the address of the bridge',
    args: doctorOfBridge,
    script: [asks('GET /bridge/v1/me', page(200))],
    code: 1,
    json: [{ check: 'bridge', verdict: 'problem' }],
  },
  {
    title: 'does not ask a token without accounts:read for all accounts, and says what else it lacks',
    args: doctorOfBridge,
    script: withAnswer(
      bridgeInOrder,
      0,
      ok({ ...me, scopes: ['projects:read'], project_ids: ['p-1'] }),
    ).slice(0, 4),
    code: 1,
    json: [{ check: 'bridge token', verdict: 'problem' }, ...['health', 'rate', 'freeze'].map(isOk)],
  },
  {
    title: 'says that the bridge does not answer or refuses the token, and does not ask further',
    args: doctorOfBridge,
    script: [asks('GET /bridge/v1/me', problem(401, 'The token is not known.'))],
    code: 1,
    json: [{ check: 'bridge token', verdict: 'problem' }],
  },
  {
    title: 'finds the upstream and both clocks in order',
    args: ['doctor', '--skip', 'bridge', '--skip', 'aws', '--upstream', '{origin}/api/v2/', '--json'],
    environment: { UPSTREAM_API_KEY: KEY },
    script: upstreamAnswers(ok({ projects: [{ id: 'p-1' }] }, DATE)),
    code: 0,
    json: ['upstream key', 'clock'].map(isOk),
  },
  ...(
    [
      [problem(401, 'No.', { headers: DATE }), ['problem', 'ok']],
      [ok({ projects: [] }, DATE), ['problem', 'ok']],
      [ok({ projects: [{ id: 'p-1' }] }, { date: 'Fri, 16 Jan 2026 20:58:00 GMT' }), ['ok', 'problem']],
      [hangUp, ['problem']],
    ] as const
  ).map(
    ([answer, verdicts]): Scenario => ({
      title: `ends with 1 when the upstream answers ${JSON.stringify(answer)}`,
      args: ['doctor', '--skip', 'bridge', '--skip', 'aws', '--upstream', '{origin}/api/v2', '--json'],
      environment: { UPSTREAM_API_KEY: KEY },
      script: upstreamAnswers(answer),
      code: 1,
      json: verdicts.map((verdict) => ({ verdict })),
    }),
  ),
  {
    title:
      'examines the bridge on this machine with --local, whatever bridge the environment and the settings name',
    args: [...doctorOfBridge, '--local'],
    ...besideAnotherBridge,
    script: bridgeInOrder.map((each) => ({ ...each, headers: { authorization: 'Bearer opb_of-the-run' } })),
    code: 0,
    json: ['bridge token', 'health', 'rate', 'freeze', 'accounts', 'subscriptions'].map(isOk),
  },
  {
    title: 'gives a sign of life through the bridge on this machine with --local',
    args: [...doctorOfBridge, '--skip', 'bridge', '--local', '--sign-of-life', 'p-1'],
    ...besideAnotherBridge,
    script: [
      asks('POST /api/v2/projects/p-1/branches', problem(403, 'The token is limited.'), {
        headers: { authorization: 'Bearer opb_of-the-run' },
      }),
    ],
    code: 1,
    json: [{ check: 'sign of life', verdict: 'problem' }],
  },
  {
    title: 'asks no other bridge with --local when none runs on this machine',
    args: [...doctorOfBridge, '--local', '--sign-of-life', 'p-1'],
    script: [],
    code: 1,
    json: ['bridge', 'sign of life'].map((check) => ({
      check,
      verdict: 'not checked',
      found: 'No bridge runs on this machine.',
    })),
  },
  {
    title: 'refuses --local beside --url',
    args: [...doctorOfBridge, '--local', '--url', '{origin}'],
    script: [],
    code: 2,
    notes: '--local is the bridge on this machine, and --url another one; leave one of them out.',
  },
  {
    title: 'refuses to skip a part that does not exist',
    args: ['doctor', '--skip', 'network'],
    script: [],
    code: 2,
    notes: '--skip is "network"; it takes upstream, bridge, aws.',
  },
];

const TOKEN_ID = '73b3d55521c274386f';
const token = (id: string) => ({
  pk: { S: `TOKEN#${id}` },
  sk: { S: 'TOKEN' },
  token_id: { S: id },
  account_id: { S: 'main' },
  client_id: { S: 'ci' },
  hash: { S: 'the-hash-of-the-token' },
  scopes: { L: [{ S: 'operations:read' }] },
  created_at: { S: '2026-01-10T21:00:00.000Z' },
  expires_at_ms: { N: String(Date.parse('2026-02-10T21:00:00Z')) },
});

const place = (id: string) => ({
  pk: { S: `TOKEN#${id}` },
  sk: { S: 'TOKEN' },
  list: { S: 'x' },
  list_order: { S: id },
});

const itemsOf = (...ids: readonly string[]) =>
  asks('AWS BatchGetItem', ok({ Responses: { [NAME]: ids.map(token) }, UnprocessedKeys: {} }));

const tokens: readonly Scenario[] = [
  {
    title: 'are created with a condition, hashed with the pepper, and shown once',
    args: ['tokens', 'create', '--client', 'ci', '--scopes', 'operations:read', '--json'],
    environment: AWS,
    script: [
      asks('AWS GetSecretValue', ok({ SecretString: PEPPER }), {
        body: { SecretId: `${NAME}/token-pepper` },
      }),
      // The record of the audit is begun, the token is written, and the record ends.
      asks('AWS UpdateItem', ok({})),
      asks('AWS UpdateItem', ok({})),
      asks('AWS UpdateItem', ok({})),
      asks('AWS GetItem', ok({ Item: { pk: { S: 'x' }, sk: { S: 'y' } } })),
      asks('AWS GetItem', ok({ Item: { pk: { S: 'x' }, sk: { S: 'y' } } })),
      asks('AWS GetItem', ok({})),
      asks('AWS GetItem', ok({})),
    ],
    order: 'in any order',
    code: 0,
    json: { client_id: 'ci', account_id: 'main', scopes: ['operations:read'] },
    notes: '',
    asProcess: true,
  },
  {
    title: 'are listed page by page, without their hashes',
    args: ['tokens', 'list', '--json'],
    environment: AWS,
    script: [
      asks('AWS Query', ok({ Items: [place('01')], LastEvaluatedKey: place('01') })),
      itemsOf('01'),
      asks('AWS Query', ok({ Items: [], LastEvaluatedKey: place('01') })),
      asks('AWS Query', ok({ Items: [place('02')] })),
      itemsOf('02'),
    ],
    code: 0,
    json: [{ token_id: '01' }, { token_id: '02' }],
    output: /^(?!.*the-hash-of-the-token)/s,
    asProcess: true,
  },
  {
    title: 'are not said to be revoked when there is no such token',
    args: ['tokens', 'revoke', `opb_${TOKEN_ID}_the-rest`, '--json'],
    environment: AWS,
    script: [asks('AWS GetItem', ok({}))],
    code: 1,
    json: { token_id: TOKEN_ID, revoked: false },
    asProcess: true,
  },
  {
    title: 'are revoked by the whole token as well, whose secret is not repeated',
    args: ['tokens', 'revoke', `opb_${TOKEN_ID}_the-rest`],
    environment: AWS,
    script: [
      asks('AWS GetItem', ok({ Item: token(TOKEN_ID) })),
      asks('AWS UpdateItem', ok({})),
      asks('AWS GetItem', ok({ Item: token(TOKEN_ID) })),
      asks('AWS UpdateItem', ok({})),
      asks('AWS UpdateItem', ok({})),
    ],
    code: 0,
    output: `Token ${TOKEN_ID} is revoked; it stops working within ten seconds.`,
  },
  {
    title: 'that were revoked by another meanwhile are said to be so',
    args: ['tokens', 'revoke', TOKEN_ID, '--json'],
    environment: AWS,
    script: [
      asks('AWS GetItem', ok({ Item: token(TOKEN_ID) })),
      asks('AWS UpdateItem', ok({})),
      asks('AWS GetItem', ok({ Item: token(TOKEN_ID) })),
      asks('AWS UpdateItem', refusedByAws('ConditionalCheckFailedException')),
      asks('AWS GetItem', ok({ Item: token(TOKEN_ID) })),
      asks('AWS UpdateItem', ok({})),
    ],
    code: 1,
    json: { token_id: TOKEN_ID, revoked: false },
  },
  {
    title: 'are not created with a pepper that is a word, because the bridge would refuse them',
    args: ['tokens', 'create', '--client', 'ci', '--scopes', 'operations:read'],
    environment: AWS,
    script: [asks('AWS GetSecretValue', ok({ SecretString: WORD }))],
    code: 2,
    output: '',
    notes: new RegExp(
      `^(?!.*${WORD})Secret ${NAME}/token-pepper has fewer than 32 characters, so it can be guessed; put a long random text into it \\(docs/deploy/rotate-a-key\\.md\\)\\.$`,
      's',
    ),
    asProcess: true,
  },
  {
    title: 'cannot be created when AWS refuses, and it says what to check',
    args: ['tokens', 'create', '--client', 'ci', '--scopes', 'operations:read'],
    environment: AWS,
    script: [asks('AWS GetSecretValue', refusedByAws('AccessDeniedException'))],
    code: 2,
    output: '',
    notes: /^That did not work \(.*check the AWS credentials and region, --table \(operations-bridge\)/,
  },
  ...(
    [
      [['create', '--scopes', 'operations:read'], /^--client is missing/],
      [['create', '--client', 'ci'], /^--scopes is missing/],
      [['create', '--client', 'ci', '--scopes', 'everything'], /^--scopes has "everything"/],
      [['create', '--client', 'ci', '--scopes', 'viewer', '--days', '0'], /^--days is "0"/],
      [['list', '--local'], /^No bridge runs on this machine/],
    ] as const
  ).map(
    ([args, notes]): Scenario => ({
      title: `refuse ${args.join(' ')} without a request`,
      args: ['tokens', ...args],
      environment: AWS,
      script: [],
      code: 2,
      output: '',
      notes,
    }),
  ),
];

const WEBHOOK = { ALERT_WEBHOOK: JSON.stringify({ url: '{origin}/hook', secret: SIGNING_SECRET }) };
const sendSample = ['alerts', '--sample', 'failed', '--to', 'webhook'];

const alerts: readonly Scenario[] = [
  {
    title: 'are shown as each channel gets them, and nothing is sent',
    args: ['alerts', '--sample', 'failed', '--json'],
    environment: WEBHOOK,
    script: [],
    code: 0,
    json: expect.arrayContaining([expect.objectContaining({ name: 'failed' })]),
  },
  {
    title: 'are sent to a webhook, signed and marked as a test',
    args: [...sendSample, '--json'],
    environment: WEBHOOK,
    script: [
      asks('POST /hook', answers(204, ''), { headers: { 'webhook-signature': /^v1,/, authorization: null } }),
    ],
    code: 0,
    json: { channel: 'webhook', kind: 'sent' },
    notes: /^The channel webhook has taken the message in \d+ ms\.$/,
    asProcess: true,
  },
  {
    title: 'that the channel does not take end with 1 and the reason',
    args: [...sendSample, '--json'],
    environment: WEBHOOK,
    script: [asks('POST /hook', answers(400, 'no'))],
    code: 1,
    json: { channel: 'webhook' },
    notes: /^The channel webhook has not taken the message: .*400/,
  },
  {
    title: 'go to the topic of the mails',
    args: ['alerts', '--sample', 'failed', '--to', 'email', '--topic', TOPIC],
    environment: AWS,
    script: [
      asks(
        'AWS Publish',
        answers(
          200,
          '<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>',
          { 'content-type': 'text/xml' },
        ),
      ),
    ],
    code: 0,
  },
  {
    title: 'are not sent when the secret of the channel cannot be read',
    args: sendSample,
    environment: AWS,
    script: [
      asks('AWS GetSecretValue', refusedByAws('AccessDeniedException'), {
        body: { SecretId: `${NAME}/webhook` },
      }),
    ],
    code: 2,
    notes:
      /^The secret operations-bridge\/webhook cannot be read \(.*AccessDeniedException.*\); --secret names another one\.$/,
  },
  ...(
    [
      [['--sample', 'broken'], /^--sample is "broken"; there are the samples failed/],
      [['--to', 'webhook'], /^--sample is missing/],
      [['--sample', 'failed', '--to', 'fax'], /^--to is "fax"; there are the channels/],
      [['--sample', 'failed', '--to', 'email'], /^--topic is missing/],
      [['--sample', 'failed', '--to', 'slack', '--local'], /^No bridge runs on this machine/],
    ] as const
  ).map(
    ([args, notes]): Scenario => ({
      title: `refuse ${args.join(' ')} without a request`,
      args: ['alerts', ...args],
      script: [],
      code: 2,
      output: '',
      notes,
    }),
  ),
];

const ACCOUNTS = '/bridge/v1/accounts';
const KEY_SECRET = 'keys/tenant-7';
const addWithKey = ['accounts', 'add', 'tenant-7', '--key-env', 'TENANT_KEY', '--json'];
const withKey = { ...AWS, TENANT_KEY: KEY };
const validated = asks(`POST ${ACCOUNTS}?validate_only=true`, ok({ key_secret_id: KEY_SECRET }));
const shared = (...accounts: readonly object[]) => asks(`GET ${ACCOUNTS}?limit=100`, ok({ accounts }));
const holds = (SecretString: string) =>
  asks('AWS GetSecretValue', ok({ SecretString }), { body: { SecretId: KEY_SECRET } });
const holdsNothing = asks('AWS GetSecretValue', refusedByAws('ResourceNotFoundException'));
const puts = (SecretString: string) =>
  asks('AWS PutSecretValue', ok({}), {
    body: { SecretId: KEY_SECRET, SecretString, ClientRequestToken: expect.any(String) },
  });
const added = asks(`POST ${ACCOUNTS}`, answers(201, { account: { account_id: 'tenant-7' } }));
const notAdded = asks(`POST ${ACCOUNTS}`, problem(422, 'The upstream refuses the key.'));

const keys: readonly Scenario[] = [
  {
    title: 'are added once the key stands in a new secret',
    args: addWithKey,
    environment: withKey,
    script: [
      validated,
      shared(),
      holdsNothing,
      asks('AWS CreateSecret', ok({}), {
        body: { Name: KEY_SECRET, SecretString: KEY, ClientRequestToken: expect.any(String) },
      }),
      added,
    ],
    code: 0,
    json: { account_id: 'tenant-7' },
    notes: /^The key is in the secret keys\/tenant-7\./,
    asProcess: true,
  },
  {
    title: 'leave no key behind when the bridge refuses',
    args: addWithKey,
    environment: withKey,
    script: [validated, shared(), holdsNothing, asks('AWS CreateSecret', ok({})), notAdded, puts('{}')],
    code: 2,
    output: '',
    notes: [/holds what it held before\.$/m, /answered 422: The upstream refuses the key\.$/],
  },
  {
    title: 'keep the key when the bridge gives no answer, because the account may have been added',
    args: addWithKey,
    environment: withKey,
    script: [
      validated,
      shared(),
      holds('{"other":"napi_other"}'),
      puts(`{"other":"napi_other","tenant-7":"${KEY}"}`),
      { ...added, answer: hangUp },
    ],
    code: 2,
    notes: /^(?!.*held before)/s,
  },
  {
    title: 'do not overwrite the one key of another account, on whatever page that account stands',
    args: [...addWithKey, '--replace-key'],
    environment: withKey,
    script: [
      validated,
      asks(`GET ${ACCOUNTS}?limit=100`, ok({ accounts: [], cursor: 'c1' })),
      asks(
        `GET ${ACCOUNTS}?limit=100&cursor=c1`,
        ok({ accounts: [{ account_id: 'other', settings: { key_secret_id: KEY_SECRET } }] }),
      ),
      holds('napi_other'),
    ],
    code: 2,
    notes: /holds one key for other, too\./,
  },
  {
    title: 'take a new key in place of their own, and the old one again when the bridge refuses',
    args: ['accounts', 'set', 'tenant-7', '--key-stdin'],
    environment: AWS,
    input: `${KEY}\n`,
    script: [
      asks(
        `GET ${ACCOUNTS}?account_id=tenant-7`,
        ok({ accounts: [{ account_id: 'tenant-7', settings: { key_secret_id: KEY_SECRET } }] }),
      ),
      asks(`PATCH ${ACCOUNTS}/tenant-7?validate_only=true`, ok({ key_secret_id: KEY_SECRET }), {
        body: { key_secret_id: KEY_SECRET },
      }),
      shared(),
      holds('napi_before'),
      puts(KEY),
      asks(`PATCH ${ACCOUNTS}/tenant-7`, problem(422, 'The upstream refuses the key.'), {
        body: { key_secret_id: KEY_SECRET },
      }),
      puts('napi_before'),
    ],
    code: 2,
    output: '',
  },
  {
    title: 'are refused when AWS is, and no key is in the sentence',
    args: addWithKey,
    environment: withKey,
    script: [validated, shared(), asks('AWS GetSecretValue', refusedByAws('AccessDeniedException'))],
    code: 2,
    notes: /could not be read and written \(AccessDeniedException\)/,
  },
];

describeScenarios('doctor', doctor);
describeScenarios('tokens', tokens);
describeScenarios('alerts', alerts);
describeScenarios('accounts, whose key goes into a secret,', keys);
