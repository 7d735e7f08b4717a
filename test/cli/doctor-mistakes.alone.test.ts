/** Seeds one mistake after another into a deployment, and asks the command for its findings and its exit code. */

import { DeleteItemCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACCESS } from '../../infra/aws/resources/bridge-function.ts';
import type { Finding } from '../../infra/cli/examining/examine-bridge.ts';
import { type LocalUpstream, startUpstream } from '../../infra/simulator/start-upstream.ts';
import { accountSettings } from '../../shared/accounts/account.ts';
import { createAccountStore } from '../../shared/accounts/account-store.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createDynamoDbPartitions, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { createTable } from '../local/aws/aws-under-test.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';
import {
  type DeploymentUnderTest,
  deployForTest,
  NAME,
  PEPPER_SECRET,
  type Seeds,
  WEBHOOK_SECRET,
} from './deployment-under-test.ts';

const KEY = 'doctor-mistakes-key';

const WITHOUT_INDEX = 'without-index';

let upstream: LocalUpstream;
let deployment: DeploymentUnderTest;
const before = { ...process.env };

beforeAll(async () => {
  upstream = await startUpstream({ seed: 1, projectCount: 2, apiKeys: [KEY] });
  deployment = await deployForTest();
  // The clients of AWS take their settings from the process.
  Object.assign(process.env, deployment.environment);
  const client = new DynamoDBClient({});
  const { GlobalSecondaryIndexes, ...definition } = tableDefinition(WITHOUT_INDEX);
  const kept = GlobalSecondaryIndexes.filter(({ IndexName }) => IndexName !== 'list');
  const AttributeDefinitions = definition.AttributeDefinitions.filter(
    ({ AttributeName }) => AttributeName !== 'list' && AttributeName !== 'list_order',
  );
  await createTable(client, tableDefinition(NAME));
  await createTable(client, { ...definition, AttributeDefinitions, GlobalSecondaryIndexes: kept });
  client.destroy();
});

afterAll(async () => {
  for (const name of Object.keys(deployment.environment)) delete process.env[name];
  Object.assign(process.env, before);
  await deployment[Symbol.asyncDispose]();
  await upstream.close();
});

const onTable = <Result>(act: (client: DynamoDBClient) => Promise<Result>) => {
  const client = new DynamoDBClient({});
  return act(client).finally(() => client.destroy());
};

/** An administrator adds the account, which the deployment allowed then. */
function addAccount(fields: { readonly account_id: string; readonly upstream_base_url?: string }) {
  const settings = accountSettings.parse({
    upstream_base_url: 'https://console.example/api/v2',
    key_secret_id: 'operations-bridge/upstream-keys/tenant',
    ...fields,
  });
  const { account_id } = settings;
  return onTable((client) =>
    createAccountStore(
      createDynamoDbTable(client, NAME),
      createDynamoDbPartitions(client, NAME, ACCESS.api),
      {
        clock: systemClock,
        newId: () => 'a-stamp',
      },
    ).add({ account_id, state: 'active', settings, changed_by: 'an administrator' }),
  );
}

async function emptyTable() {
  await onTable(async (client) => {
    const { Items = [] } = await client.send(
      new ScanCommand({ TableName: NAME, ProjectionExpression: 'pk, sk' }),
    );
    for (const Key of Items) await client.send(new DeleteItemCommand({ TableName: NAME, Key }));
  });
}

interface Circumstances {
  readonly args?: readonly string[];
  readonly key?: string;
  readonly clockOffMs?: number;
}

async function doctor({ args = [], key = KEY, clockOffMs = 0 }: Circumstances = {}) {
  const asked = ['--upstream', upstream.baseUrl, '--webhook-secret', WEBHOOK_SECRET, '--skip', 'bridge'];
  const clock = { ...systemClock, now: () => systemClock.now() + clockOffMs };
  const environment = { UPSTREAM_API_KEY: key };
  const { code, json } = await runSubcommand(['doctor', '--json', ...asked, ...args], { environment, clock });
  const findings = json() as readonly Finding[];
  return { code, wrong: findings.filter(({ verdict }) => verdict !== 'ok'), findings };
}

interface Mistake {
  readonly name: string;
  readonly seed?: (seeds: Seeds, deployment: DeploymentUnderTest) => unknown;
  readonly circumstances?: Circumstances;
  /** Each finding that is not `ok`, as `check: verdict: what was found`. */
  readonly found: readonly RegExp[];
}

const mistakes: readonly Mistake[] = [
  {
    name: 'a wrong key of the upstream',
    circumstances: { key: 'another' },
    found: [/^upstream key: problem: .*401/],
  },
  {
    name: 'a clock that is wrong by five minutes',
    circumstances: { clockOffMs: 300_000 },
    found: [/^clock: problem: .*differs .* by (300|301|299) s/],
  },
  {
    name: 'a bus that does not exist',
    circumstances: { args: ['--bus', 'no-bus'] },
    found: [/^bus no-bus: problem: It does not exist/],
  },
  {
    name: 'a table without one of its indexes',
    circumstances: { args: ['--table', WITHOUT_INDEX] },
    found: [/^table without-index: problem: The table lacks the active index list/],
  },
  {
    name: 'a secret without a value',
    seed: (_, { aws }) => aws.secrets.put(PEPPER_SECRET, ' '),
    found: [
      /^secret operations-bridge\/token-pepper: problem: The secret is empty/,
      /^function api: problem: secretsmanager:GetSecretValue of .*token-pepper failed \(secret_empty/,
    ],
  },
  {
    name: 'a pepper that is a word',
    seed: (_, { aws }) => aws.secrets.put(PEPPER_SECRET, 'correct-horse-battery'),
    found: [
      /^secret operations-bridge\/token-pepper: problem: The pepper has fewer than 32 characters/,
      /^function api: problem: secretsmanager:GetSecretValue of .*token-pepper failed \(secret_too_short/,
    ],
  },
  {
    name: 'a revoked webhook',
    seed: (seeds) => {
      seeds.slack = [404, 'no_service'];
    },
    found: [/^webhook in operations-bridge\/webhook: problem: Slack answered 404 no_service/],
  },
  {
    name: 'an address of the alarms that has not confirmed',
    seed: ({ subscriptions }) => subscriptions.push('PendingConfirmation'),
    found: [/^alarms: problem: 1 of 2 addresses have not confirmed/],
  },
  {
    name: 'alarms that reach no one',
    seed: ({ subscriptions }) => subscriptions.splice(0),
    found: [/^alarms: problem: No address is subscribed/],
  },
  {
    name: 'a disabled schedule',
    seed: ({ schedules }) => schedules.set(`${NAME}-lane-0`, 'DISABLED'),
    found: [/^schedules: problem: The schedule operations-bridge-lane-0 is disabled/],
  },
  {
    name: 'a schedule that does not exist',
    seed: ({ schedules }) => schedules.delete(`${NAME}-alerts-sweep`),
    found: [/^schedules: problem: The schedule operations-bridge-alerts-sweep does not exist/],
  },
  {
    name: 'a function that is not deployed',
    seed: ({ missingFunctions }) => missingFunctions.add('commands'),
    found: [/^function commands: problem: It does not exist/],
  },
  {
    name: 'a function of an older version',
    seed: ({ answers }) => answers.set('notifier', { batchItemFailures: [] }),
    found: [/^function notifier: not checked: It does not know the self-test/],
  },
  {
    name: 'roles that may not publish',
    seed: ({ denied }) => denied.add('events:PutEvents'),
    found: ['poller, account main', 'api', 'commands'].map(
      (name) =>
        new RegExp(`^function ${name}: problem: AWS denies events:PutEvents as operations-bridge.test`),
    ),
  },
  {
    name: 'roles that may not read many items at once',
    seed: ({ denied }) => denied.add('dynamodb:BatchGetItem'),
    found: [
      { name: 'poller, account main', access: ACCESS.poller },
      { name: 'api', access: ACCESS.api },
      { name: 'commands', access: ACCESS.commands },
      { name: 'notifier', access: ACCESS.notifier },
    ].flatMap(({ name, access }) =>
      access.readsMany.map(
        () => new RegExp(`^function ${name}: problem: AWS denies dynamodb:BatchGetItem on [A-Z]+#`),
      ),
    ),
  },
  {
    name: 'roles that may not wake the worker',
    seed: ({ denied }) => denied.add('sqs:SendMessageBatch'),
    found: ['api', 'commands'].map(
      (name) => new RegExp(`^function ${name}: problem: AWS denies sqs:SendMessage to the queue of commands`),
    ),
  },
  {
    name: 'an operator who may not invoke the functions',
    seed: ({ denied }) => denied.add('lambda:InvokeFunction'),
    found: ['poller, account main', 'api', 'commands', 'notifier'].map(
      (name) => new RegExp(`^function ${name}: not checked: These credentials may not look at it`),
    ),
  },
  {
    name: 'an account in the table whose host no function may send its key to',
    seed: () => addAccount({ account_id: 'tenant-1', upstream_base_url: 'https://elsewhere.example/api/v2' }),
    found: ['poller', 'api', 'commands'].map(
      (name) =>
        new RegExp(
          `^function ${name}: problem: It does not serve the account tenant-1: upstream_base_url must have one of the hosts`,
        ),
    ),
  },
  {
    name: 'a poller that knows fewer accounts than the API',
    seed: async ({ answers }) => {
      await addAccount({ account_id: 'tenant-1' });
      answers.set('poller', {
        self_test: 'poller',
        results: [],
        untried: [],
        accounts: [{ account_id: 'main', origin: 'configured', state: 'active' }],
      });
    },
    found: [
      /^function poller: problem: It does not serve the account tenant-1: it does not know the account/,
    ],
  },
  {
    name: 'an operator who may not list schedules',
    seed: ({ denied }) => denied.add('scheduler:ListSchedules'),
    found: [/^schedules: not checked: These credentials/, /^alarms: not checked: The topic of the alarms/],
  },
];

describe('doctor after a deployment', () => {
  test('finds nothing wrong when all is in order, and ends with 0', async () => {
    await deployment.reset();
    const { code, wrong, findings } = await doctor();

    expect(wrong).toEqual([]);
    expect(code).toBe(0);
    expect(findings.map(({ check }) => check)).toEqual([
      'upstream key',
      'clock',
      `table ${NAME}`,
      `bus ${NAME}`,
      `secret ${PEPPER_SECRET}`,
      `webhook in ${WEBHOOK_SECRET}`,
      'schedules',
      'function poller, account main',
      'function api',
      'function commands',
      'function notifier',
      'alarms',
    ]);
  });

  test.each(mistakes)('finds $name, says what to do, and ends with 1', async (mistake) => {
    const { seed = () => {}, circumstances, found } = mistake;
    await seed(await deployment.reset(), deployment);
    const { code, wrong } = await doctor(circumstances);
    await emptyTable();

    expect(wrong.map(({ check, verdict, found: what }) => `${check}: ${verdict}: ${what}`)).toEqual(
      found.map((pattern) => expect.stringMatching(pattern)),
    );
    expect(wrong.every(({ advice = '' }) => advice.length > 10)).toBe(true);
    expect(code).toBe(1);
  });

  test('leaves no item in the table', async () => {
    await deployment.reset();
    await doctor();
    const client = new DynamoDBClient({});
    const { Count } = await client.send(new ScanCommand({ TableName: NAME }));
    client.destroy();

    expect(Count).toBe(0);
  });
});
