/** Lists what the API's function tries in a self-test: the table, the bus, the queue of commands, and its secrets. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createSqsWakes } from '../../shared/commands/wakes.ts';
import { type ApiEnvironment, readApiSettings } from '../../shared/config/api-config.ts';
import { createEventBridgeBus } from '../../shared/events/event-bus.ts';
import { createKeyingSecretSource, createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import {
  indexProbe,
  type Probe,
  partitionProbe,
  publishProbe,
  type SelfTest,
  type SelfTestPorts,
  secretProbe,
  servedAccounts,
  tableProbes,
  UNTRIED_PUBLISH,
  wakeProbe,
} from '../../shared/runtime/self-test.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../shared/store/dynamodb-table.ts';
import {
  ACCOUNTS_PARTITION,
  alertListOf,
  auditListOf,
  commandsListOf,
  incidentsListOf,
  linesOf,
  mutesListOf,
  projectsListOf,
  queuedCommandsOf,
  SELF_TEST_ID,
  selfTestKey,
  tokensListOf,
  workOf,
} from '../../shared/store/keys.ts';
import {
  CREATED_INDEX,
  FEED_INDEX,
  LIST_INDEX,
  type TableIndexes,
  WORK_INDEX,
} from '../../shared/store/table.ts';
import { apiAccess } from './access.ts';
import { busReaderSettings } from './create-handler.ts';
import { ALERT_LISTS } from './read-model/alerts.ts';
import { createBusReader } from './read-model/bus-reader.ts';

/** The rules of the bus name them, and there may be none yet. */
const UNTRIED_QUEUES = 'sqs:GetQueueAttributes of the dead-letter queues of subscribers';

export function createApiSelfTest(
  environment: ApiEnvironment,
  { clock, newId }: SelfTestPorts,
): () => SelfTest {
  return () => {
    const settings = readApiSettings(environment);
    const { accounts, rules } = settings;
    const dynamoDb = new DynamoDBClient({});
    const table = createDynamoDbTable(dynamoDb, environment.TABLE_NAME, apiAccess);
    const partitions = createDynamoDbPartitions(dynamoDb, environment.TABLE_NAME, apiAccess);
    const secretsManager = new SecretsManagerClient({});
    const bus = createEventBridgeBus(new EventBridgeClient({}), environment.EVENT_BUS_NAME);
    const keyingProbe = (id: string) => secretProbe(id, createKeyingSecretSource(secretsManager, id, clock));
    const secretIds = new Set([
      ...accounts.map(({ key_secret_id }) => key_secret_id),
      settings.signIn?.client_secret_id,
      environment.SLACK_SECRET_ID,
      environment.PAGERDUTY_SECRET_ID,
    ]);
    return {
      name: 'api',
      probes: [
        ...tableProbes(table, apiAccess),
        ...indexProbes(
          createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME),
          accounts.map(({ account_id }) => account_id),
        ),
        partitionProbe(partitions, ACCOUNTS_PARTITION),
        publishProbe(bus, clock.now(), newId()),
        wakeProbe(createSqsWakes(new SQSClient({}), environment.COMMANDS_QUEUE_URL), newId()),
        keyingProbe(environment.TOKEN_PEPPER_SECRET_ID),
        keyingProbe(environment.QUEUE_KEY_SECRET_ID),
        ...createBusReader(busReaderSettings(environment, settings, clock)).probes,
        ...[...secretIds]
          .filter((id) => id !== undefined)
          .map((id) => secretProbe(id, createSecretKeySource(secretsManager, id, clock))),
      ],
      untried: [UNTRIED_PUBLISH, ...(settings.deadLetterQueues.length > 0 ? [UNTRIED_QUEUES] : [])],
      accounts: () => servedAccounts({ configured: accounts, rules, table, partitions }),
    };
  };
}

const LISTS = [
  ...[projectsListOf, auditListOf, commandsListOf, tokensListOf, mutesListOf].map((listOf) =>
    listOf(SELF_TEST_ID),
  ),
  ...(['open', 'ended'] as const).map((which) => incidentsListOf(SELF_TEST_ID, which)),
  ...ALERT_LISTS.map((list) => alertListOf(SELF_TEST_ID, list)),
];

function indexProbes(indexes: TableIndexes, accountIds: readonly string[]): readonly Probe[] {
  return [
    ...[linesOf(SELF_TEST_ID), queuedCommandsOf(SELF_TEST_ID)].map((work) =>
      indexProbe(indexes, WORK_INDEX, work),
    ),
    ...LISTS.map((list) => indexProbe(indexes, LIST_INDEX, list)),
    indexProbe(indexes, CREATED_INDEX, selfTestKey('protocol').pk),
    ...accountIds.flatMap((id) => [
      indexProbe(indexes, WORK_INDEX, workOf(id)),
      indexProbe(indexes, FEED_INDEX, id),
    ]),
  ];
}
