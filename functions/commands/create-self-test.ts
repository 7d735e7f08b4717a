/** Lists what the worker's function tries in a self-test: the table, the bus, its queue, and its secrets. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createSqsWakes } from '../../shared/commands/wakes.ts';
import { readAccountRules } from '../../shared/config/account-rules.ts';
import { createEventBridgeBus } from '../../shared/events/event-bus.ts';
import { createKeyingSecretSource, createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import {
  indexProbe,
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
import { ACCOUNTS_PARTITION, linesOf, SELF_TEST_ID, workOf } from '../../shared/store/keys.ts';
import { WORK_INDEX } from '../../shared/store/table.ts';
import { commandsAccess } from './access.ts';
import { type CommandsEnvironment, readCommandAccounts } from './invocation.ts';

/** Only a message that was received can be handed back. */
const UNTRIED_HAND_BACK = 'sqs:ChangeMessageVisibility';

/** Only a task that waits can be ended. */
const UNTRIED_CALLBACKS = 'states:SendTaskSuccess, SendTaskFailure and SendTaskHeartbeat';

export function createCommandsSelfTest(
  environment: CommandsEnvironment,
  { clock, newId }: SelfTestPorts,
): () => SelfTest {
  return () => {
    const accounts = readCommandAccounts(environment);
    const dynamoDb = new DynamoDBClient({});
    const table = createDynamoDbTable(dynamoDb, environment.TABLE_NAME, commandsAccess);
    const indexes = createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME);
    const partitions = createDynamoDbPartitions(dynamoDb, environment.TABLE_NAME, commandsAccess);
    const secretsManager = new SecretsManagerClient({});
    const bus = createEventBridgeBus(new EventBridgeClient({}), environment.EVENT_BUS_NAME);
    const keyIds = new Set(accounts.map(({ key_secret_id }) => key_secret_id));
    return {
      name: 'commands',
      probes: [
        ...tableProbes(table, commandsAccess),
        indexProbe(indexes, WORK_INDEX, linesOf(SELF_TEST_ID)),
        ...accounts.map(({ account_id }) => indexProbe(indexes, WORK_INDEX, workOf(account_id))),
        partitionProbe(partitions, ACCOUNTS_PARTITION),
        publishProbe(bus, clock.now(), newId()),
        wakeProbe(createSqsWakes(new SQSClient({}), environment.COMMANDS_QUEUE_URL), newId()),
        secretProbe(
          environment.QUEUE_KEY_SECRET_ID,
          createKeyingSecretSource(secretsManager, environment.QUEUE_KEY_SECRET_ID, clock),
        ),
        ...[...keyIds].map((id) => secretProbe(id, createSecretKeySource(secretsManager, id, clock))),
      ],
      untried: [
        UNTRIED_PUBLISH,
        UNTRIED_HAND_BACK,
        ...(environment.CALLBACKS === 'on' ? [UNTRIED_CALLBACKS] : []),
      ],
      accounts: () =>
        servedAccounts({ configured: accounts, rules: readAccountRules(environment), table, partitions }),
    };
  };
}
