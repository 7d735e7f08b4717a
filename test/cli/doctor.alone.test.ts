import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ListSubscriptionsByTopicCommand, SNSClient } from '@aws-sdk/client-sns';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { examineAws } from '../../infra/cli/examining/examine-aws.ts';
import type { Finding } from '../../infra/cli/examining/examine-bridge.ts';
import {
  judgeAccounts,
  judgeFreeze,
  judgeHealth,
  judgeRate,
  judgeToken,
} from '../../infra/cli/examining/examine-bridge.ts';
import { judgeClock, judgeKey } from '../../infra/cli/examining/examine-upstream.ts';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import { INDEXES } from '../../shared/store/table.ts';
import {
  type BridgeOnThisMachine,
  runSubcommand,
  startBridgeOnThisMachine,
} from './bridge-on-this-machine.ts';

const KEY = 'doctor-canary-key';
let bridge: BridgeOnThisMachine;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '2', '--seed', '3']);
}, 180_000);

afterAll(() => bridge[Symbol.asyncDispose]());

async function doctor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const ran = await bridge.run(['doctor', '--json', ...args], { environment });
  return { code: ran.code, findings: ran.json() as readonly Finding[] };
}

const wrong = (findings: readonly Finding[]) => findings.filter(({ verdict }) => verdict !== 'ok');
const skipping = (...parts: readonly string[]) => parts.flatMap((part) => ['--skip', part]);

async function aBusyPort(): Promise<number> {
  const server = createServer((_, response) => response.writeHead(404).end('no bridge')).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function aProject(): Promise<string> {
  const { projects } = (await bridge.run(['run', 'GET', '/projects'])).json() as {
    projects: readonly { id: string }[];
  };
  return projects[0]?.id ?? '';
}

describe('doctor', { timeout: 120_000 }, () => {
  test('finds nothing wrong with a bridge that has just started, a deployment and a key that are in order', async () => {
    const upstream = await startUpstream({ seed: 1, projectCount: 3, apiKeys: [KEY] });
    onTestFinished(() => upstream.close());
    const args = ['--local', '--upstream', upstream.baseUrl];
    const { code, findings } = await doctor(args, { UPSTREAM_API_KEY: KEY });

    expect(wrong(findings)).toEqual([]);
    expect(code).toBe(0);
  });

  test('takes the upstream and the key of the run with --local, whatever key the environment holds', async () => {
    const { code, findings } = await doctor(['--local', ...skipping('bridge', 'aws')], {
      UPSTREAM_API_KEY: 'a key of another account',
    });

    expect(code).toBe(0);
    expect(findings).toMatchObject([
      { check: 'upstream key', verdict: 'ok', found: 'The key is valid and sees 2 projects.' },
      { check: 'clock', verdict: 'ok' },
    ]);
  });

  test('creates and deletes a branch as a sign of life, whose end comes back through the whole', async () => {
    const project = await aProject();
    const args = [...skipping('upstream', 'bridge', 'aws'), '--sign-of-life'];
    const names = async () =>
      JSON.stringify((await bridge.run(['run', 'GET', `/projects/${project}/branches`])).json());

    const { code, findings } = await doctor([...args, project]);
    expect(findings).toMatchObject([
      {
        check: 'sign of life',
        verdict: 'ok',
        found: expect.stringMatching(/created and deleted.* after [\d.]+ s and [\d.]+ s/),
      },
    ]);
    expect(code).toBe(0);
    expect(await names()).not.toContain('sign-of-life');

    const elsewhere = await doctor([...args, 'of-nobody-00000000']);
    expect(elsewhere).toMatchObject({
      code: 1,
      findings: [{ verdict: 'problem', found: expect.stringMatching(/is refused: /) }],
    });
  });

  test('says that no bridge runs on this machine when --local finds none', async () => {
    const ran = await runSubcommand(['doctor', '--json', '--local', ...skipping('bridge', 'aws')], {
      environment: { HOME: '/nowhere' },
    });

    expect(ran.json()).toMatchObject([
      { check: 'upstream', verdict: 'not checked', found: 'No bridge runs on this machine.' },
    ]);
  });

  test('names the address and not the key when the path of the API is missing', async () => {
    const upstream = await startUpstream({ seed: 1, projectCount: 1, apiKeys: [KEY] });
    onTestFinished(() => upstream.close());
    const { origin } = new URL(upstream.baseUrl);
    const args = ['--upstream', `${origin}/`, ...skipping('bridge', 'aws')];
    const [finding] = (await doctor(args, { UPSTREAM_API_KEY: KEY })).findings;

    expect(finding?.advice).toBe(
      `Check the address first: its path is /, and the API of the service is at ${origin}/api/v2.`,
    );
  });

  test('says "not checked", and fails, when a check could not be made', async () => {
    const { code, findings } = await doctor(skipping('bridge', 'aws'));

    expect(code).toBe(1);
    expect(findings).toEqual([
      {
        check: 'upstream key',
        verdict: 'not checked',
        found: 'There is no key.',
        advice:
          'Set UPSTREAM_API_KEY, use --local alone for the bridge of this machine, or use --skip upstream.',
      },
    ]);
  });

  test('finds a wrong key, a missing bus, a missing table, a missing secret and frozen commands', async () => {
    const upstream = await startUpstream({ seed: 1, projectCount: 1, apiKeys: [KEY] });
    onTestFinished(() => upstream.close());
    await bridge.run(['freeze', 'on', 'a migration']);
    const args = [
      '--local',
      '--upstream',
      upstream.baseUrl,
      '--table',
      'no-table',
      '--bus',
      'no-bus',
      '--secret',
      'no-secret',
    ];
    const { code, findings } = await doctor(args, { UPSTREAM_API_KEY: 'another' });
    await bridge.run(['freeze', 'off']);

    expect(code).toBe(1);
    const problems = wrong(findings).filter(({ check }) => check !== 'rate' && check !== 'health');
    expect(problems.map(({ check, verdict }) => `${check}: ${verdict}`)).toEqual([
      'upstream key: problem',
      'freeze: problem',
      'table no-table: problem',
      'bus no-bus: problem',
      'secret no-secret: problem',
    ]);
  });

  test.each<readonly [string, () => Promise<Readonly<Record<string, string>>>, RegExp]>([
    [
      'a bridge that does not answer',
      async () => ({ OPERATIONS_BRIDGE_URL: 'http://127.0.0.1:1', OPERATIONS_BRIDGE_TOKEN: 'x' }),
      /does not answer/,
    ],
    [
      'an address that is not a bridge',
      async () => ({
        OPERATIONS_BRIDGE_URL: `http://127.0.0.1:${await aBusyPort()}`,
        OPERATIONS_BRIDGE_TOKEN: 'x',
      }),
      /answered 404/,
    ],
    ['a token that is not valid', async () => ({ OPERATIONS_BRIDGE_TOKEN: 'opb_wrong' }), /answered 401/],
  ])('finds %s', async (_what, environment, found) => {
    const { code, findings } = await doctor(skipping('upstream', 'aws'), await environment());

    expect(code).toBe(1);
    expect(findings).toMatchObject([
      { verdict: 'problem', found: expect.stringMatching(found), advice: expect.any(String) },
    ]);
  });

  test('refuses to skip a part that does not exist', async () => {
    await expect(runSubcommand(['doctor', '--skip', 'network'])).rejects.toThrow(
      /it takes upstream, bridge, aws/,
    );
  });
});

describe('what the upstream says', () => {
  const reply = (status: number, json: unknown = {}) => ({ status, text: JSON.stringify(json) });

  test.each([
    [reply(200, { projects: [{ id: 'a' }] }), 'ok', /sees 1 project\./],
    [reply(200, { projects: [] }), 'problem', /sees no project/],
    [reply(401), 'problem', /401/],
    [reply(404), 'problem', /404/],
    [reply(429), 'problem', /429/],
    [reply(503), 'problem', /503/],
  ])('of the key: %j', (answer, verdict, found) => {
    expect(judgeKey(answer, 'https://host/api/v2')).toMatchObject({
      verdict,
      found: expect.stringMatching(found),
    });
  });

  test.each([
    ['Fri, 16 Jan 2026 21:00:00 GMT', 'ok'],
    ['Fri, 16 Jan 2026 20:58:00 GMT', 'problem'],
    ['', 'not checked'],
  ])('of the time: %s', (date, verdict) => {
    expect(judgeClock(date, Date.UTC(2026, 0, 16, 21)).verdict).toBe(verdict);
  });
});

describe('what the bridge says', () => {
  const token = { client_id: 'ci', account_id: 'main', scopes: ['operations:read'], project_ids: null };

  test('of a token that is limited or cannot read is a problem', () => {
    expect(judgeToken(token).verdict).toBe('ok');
    expect(judgeToken({ ...token, project_ids: ['a'] }).verdict).toBe('problem');
    expect(judgeToken({ ...token, scopes: [] }).verdict).toBe('problem');
  });

  test('of its health is a finding for each reason, with a remedy', () => {
    const reasons = [
      'The poller has been silent for 400 s: is its schedule on?',
      'The oldest of 3 unpublished events is 200 s old: does the bus refuse them?',
      'The channel slack has accepted nothing for 700 s.',
    ];
    const findings = judgeHealth({ healthy: false, reasons });

    expect(findings.map(({ verdict }) => verdict)).toEqual(['problem', 'problem', 'problem']);
    expect(findings.map(({ advice }) => advice)).toEqual([
      expect.stringContaining('schedule of the poller'),
      expect.stringContaining('PutEvents'),
      expect.stringContaining('channel that is named'),
    ]);
  });

  test('of its health says that events can be late while not every project has been read', () => {
    const found = (age: number | null) =>
      judgeHealth({ healthy: true, reasons: [], last_complete_walk_age_seconds: age })[0]?.found;

    expect(found(null)).toMatch(
      /^The poller has not read every project since it started, so events can be late/,
    );
    expect(found(60)).toMatch(/^Events are on time/);
  });

  test('of its rate is a problem when the upstream refuses more than one request in a hundred', () => {
    const rate = (throttled_count: number) =>
      judgeRate({
        accounts: [
          {
            requests_per_minute: 600,
            points: [{ duration_ms: 60_000, request_count: 500, throttled_count }],
          },
        ],
      });

    expect(rate(5).verdict).toBe('ok');
    expect(rate(6)).toMatchObject({ verdict: 'problem', found: expect.stringContaining('500 of its 600') });
    expect(judgeRate({ accounts: [{}] }).verdict).toBe('not checked');
  });

  test('of an account that the poller does not serve, or that the deployment does not allow, is a problem', () => {
    const served = { account_id: 'main', state: 'active', healthy: true };
    const unserved = {
      ...served,
      account_id: 'b',
      healthy: false,
      reasons: ['it does not serve the account'],
    };
    const refused = {
      account_id: 'c',
      state: 'refused',
      fault: 'its host',
      reasons: ['The deployment does not allow'],
    };
    const paused = { account_id: 'd', state: 'paused', reasons: [] };

    expect(judgeAccounts([served, unserved, refused, paused], 'main')).toMatchObject([
      { check: 'account b', verdict: 'problem', advice: expect.stringContaining('account.not_served') },
      { check: 'account c', verdict: 'problem', advice: expect.stringContaining('upstream_hosts') },
    ]);
    expect(judgeAccounts([served, paused], 'main')).toEqual([
      {
        check: 'accounts',
        verdict: 'ok',
        found: 'The poller serves every active account (1). Paused: 1.',
      },
    ]);
  });

  test('of frozen commands is a problem with the reason', () => {
    expect(judgeFreeze({ frozen: true, reason: 'a migration' })).toMatchObject({
      verdict: 'problem',
      found: expect.stringContaining('a migration'),
    });
  });
});

/** The local AWS has neither subscriptions of mail nor refusals of permissions, so AWS itself is replaced here. */
describe('what AWS says', () => {
  const place = {
    table: 't',
    bus: 'b',
    pepperSecretId: 's',
    secretIds: [],
    alertTopicArn: 'arn:topic',
  };
  const clients = {
    dynamoDb: new DynamoDBClient({ region: 'us-east-1' }),
    eventBridge: new EventBridgeClient({ region: 'us-east-1' }),
    secrets: new SecretsManagerClient({ region: 'us-east-1' }),
    sns: new SNSClient({ region: 'us-east-1' }),
  };
  const active = INDEXES.map(({ name }) => ({ IndexName: name, IndexStatus: 'ACTIVE' as const }));

  function anAws() {
    const [dynamoDb, eventBridge] = [mockClient(clients.dynamoDb), mockClient(clients.eventBridge)];
    const [secrets, sns] = [mockClient(clients.secrets), mockClient(clients.sns)];
    dynamoDb
      .on(DescribeTableCommand)
      .resolves({ Table: { TableStatus: 'ACTIVE', GlobalSecondaryIndexes: active } });
    eventBridge.resolves({});
    secrets.on(GetSecretValueCommand).resolves({ SecretString: 'a-secret-that-is-long-enough-to-be-one' });
    sns.on(ListSubscriptionsByTopicCommand).resolves({ Subscriptions: [{ SubscriptionArn: 'arn:1' }] });
    onTestFinished(() => {
      for (const mock of [dynamoDb, eventBridge, secrets, sns]) mock.restore();
    });
    return { dynamoDb, eventBridge, secrets, sns };
  }

  const failure = (name: string) => Object.assign(new Error('a message of AWS'), { name });
  const found = async () =>
    wrong(await examineAws(clients, place)).map(({ check, verdict }) => `${check}: ${verdict}`);

  test('of a deployment in order is ok', async () => {
    anAws();
    expect(await found()).toEqual([]);
  });

  test.each<readonly [string, (aws: ReturnType<typeof anAws>) => unknown, readonly string[]]>([
    [
      'an index that is still being built',
      ({ dynamoDb }) =>
        dynamoDb
          .on(DescribeTableCommand)
          .resolves({ Table: { TableStatus: 'ACTIVE', GlobalSecondaryIndexes: active.slice(1) } }),
      ['table t: problem'],
    ],
    [
      'a table that does not exist',
      ({ dynamoDb }) => dynamoDb.rejects(failure('ResourceNotFoundException')),
      ['table t: problem'],
    ],
    [
      'a permission that is missing',
      ({ secrets }) => secrets.rejects(failure('AccessDeniedException')),
      ['secret s: not checked'],
    ],
    ['an empty secret', ({ secrets }) => secrets.resolves({ SecretString: ' ' }), ['secret s: problem']],
    [
      'no credentials',
      ({ eventBridge }) => eventBridge.rejects(failure('CredentialsProviderError')),
      ['bus b: not checked'],
    ],
    [
      'an address that has not confirmed',
      ({ sns }) =>
        sns.resolves({
          Subscriptions: [{ SubscriptionArn: 'PendingConfirmation' }, { SubscriptionArn: 'arn:1' }],
        }),
      ['alerts by e-mail: problem'],
    ],
    ['no address at all', ({ sns }) => sns.resolves({ Subscriptions: [] }), ['alerts by e-mail: problem']],
  ])('of %s is found', async (_what, seed, expected) => {
    seed(anAws());
    expect(await found()).toEqual(expected);
  });
});
