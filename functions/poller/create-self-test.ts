/** Lists what the poller's function tries in a self-test: the table, the bus, and the key of the account of the request. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { readAccountRules } from '../../shared/config/account-rules.ts';
import {
  type PollAccountSettings,
  type PollerEnvironment,
  pollAccountRequest,
  pollLaneRequest,
} from '../../shared/config/poller-config.ts';
import { createEventBridgeBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
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
} from '../../shared/runtime/self-test.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../shared/store/dynamodb-table.ts';
import {
  ACCOUNTS_PARTITION,
  NUDGES_PARTITION,
  parkedWorkOf,
  SELF_TEST_ID,
  selfTestKey,
  wishesOf,
  workOf,
} from '../../shared/store/keys.ts';
import { CREATED_INDEX, FEED_INDEX, WORK_INDEX } from '../../shared/store/table.ts';
import { pollerAccess } from './access.ts';

const OF_ACCOUNTS = 'what belongs to an account, because the request names none';

/** A request with the payload of a schedule, or with one account of it, names the accounts whose keys and indexes are tried. */
export function createPollerSelfTest(
  environment: PollerEnvironment,
  { clock, newId }: SelfTestPorts,
): (event: unknown) => SelfTest {
  return (event) => {
    const dynamoDb = new DynamoDBClient({});
    const table = createDynamoDbTable(dynamoDb, environment.TABLE_NAME, pollerAccess);
    const indexes = createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME);
    const partitions = createDynamoDbPartitions(dynamoDb, environment.TABLE_NAME, pollerAccess);
    const bus = createEventBridgeBus(new EventBridgeClient({}), environment.EVENT_BUS_NAME);
    const accounts = accountsOf(event);
    return {
      name: 'poller',
      probes: [
        ...tableProbes(table, pollerAccess),
        indexProbe(indexes, WORK_INDEX, wishesOf(SELF_TEST_ID)),
        indexProbe(indexes, WORK_INDEX, parkedWorkOf(SELF_TEST_ID)),
        indexProbe(indexes, CREATED_INDEX, selfTestKey('protocol').pk),
        partitionProbe(partitions, ACCOUNTS_PARTITION),
        partitionProbe(partitions, NUDGES_PARTITION),
        publishProbe(bus, clock.now(), newId()),
        ...accounts.flatMap(({ account_id, key_secret_id }) => [
          indexProbe(indexes, WORK_INDEX, workOf(account_id)),
          indexProbe(indexes, FEED_INDEX, account_id),
          keyProbe(key_secret_id, clock),
        ]),
      ],
      untried: [UNTRIED_PUBLISH, ...(accounts.length === 0 ? [OF_ACCOUNTS] : [])],
      accounts: () =>
        servedAccounts({ configured: accounts, rules: readAccountRules(environment), table, partitions }),
    };
  };
}

function accountsOf(event: unknown): readonly PollAccountSettings[] {
  const lane = pollLaneRequest.safeParse(event).data;
  return lane?.accounts ?? [pollAccountRequest.safeParse(event).data].filter((each) => each !== undefined);
}

function keyProbe(secretId: string, clock: Clock) {
  return secretProbe(secretId, createSecretKeySource(new SecretsManagerClient({}), secretId, clock));
}
