/** Lists what the notifier's function tries in a self-test: the table, and the secrets of the channels that are set up. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { indexProbe, type SelfTest, secretProbe, tableProbes } from '../../shared/runtime/self-test.ts';
import { createDynamoDbIndexes, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import {
  ACKNOWLEDGED_WORK,
  alertListOf,
  alertWorkOf,
  incidentsListOf,
  MUTES_WORK,
  SELF_TEST_ID,
} from '../../shared/store/keys.ts';
import { LIST_INDEX, WORK_INDEX } from '../../shared/store/table.ts';
import { notifierAccess } from './access.ts';
import type { ChannelKind } from './channels/channel.ts';
import { CHANNEL_KINDS } from './channels/channels.ts';
import type { NotifierEnvironment } from './environment.ts';

const WORK = [alertWorkOf(SELF_TEST_ID), MUTES_WORK, ACKNOWLEDGED_WORK];

const LISTS = [
  ...(['critical', 'warning', 'info', 'reminders'] as const).map((part) => alertListOf(SELF_TEST_ID, part)),
  incidentsListOf(SELF_TEST_ID, 'open'),
];

/** A mail or a message would reach people, so no channel is used. */
const UNTRIED_CHANNELS = 'sending on the channels of alerts';

export function createNotifierSelfTest(environment: NotifierEnvironment, clock: Clock): () => SelfTest {
  return () => {
    const dynamoDb = new DynamoDBClient({});
    const indexes = createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME);
    const secretsManager = new SecretsManagerClient({});
    return {
      name: 'notifier',
      probes: [
        ...tableProbes(createDynamoDbTable(dynamoDb, environment.TABLE_NAME, notifierAccess), notifierAccess),
        ...WORK.map((work) => indexProbe(indexes, WORK_INDEX, work)),
        ...LISTS.map((list) => indexProbe(indexes, LIST_INDEX, list)),
        ...channelSecretsOf(environment).map((id) =>
          secretProbe(id, createSecretKeySource(secretsManager, id, clock)),
        ),
      ],
      untried: [UNTRIED_CHANNELS],
    };
  };
}

function channelSecretsOf(environment: NotifierEnvironment): readonly string[] {
  const variables: Readonly<Record<string, unknown>> = environment;
  const kinds: readonly Pick<ChannelKind, 'secret'>[] = CHANNEL_KINDS;
  return kinds
    .map(({ secret }) => (secret === undefined ? undefined : variables[secret.variable]))
    .filter((id) => typeof id === 'string');
}
