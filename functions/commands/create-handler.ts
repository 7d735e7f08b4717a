/** Builds the worker from its environment: the AWS clients behind its ports, and what each account needs. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { commandSettingsOf } from '../../shared/accounts/account.ts';
import { openAccountDirectory } from '../../shared/accounts/account-directory.ts';
import { accountKeys } from '../../shared/accounts/account-keys.ts';
import { createSqsWakes } from '../../shared/commands/wakes.ts';
import { readAccountRules } from '../../shared/config/account-rules.ts';
import { type CommandsEnvironment, readCommandAccounts } from '../../shared/config/commands-config.ts';
import { BUS_CALLS_END, createEventBridgeBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { CALLS_END } from '../../shared/runtime/concurrency.ts';
import { onDemand } from '../../shared/runtime/on-demand.ts';
import { createPowertoolsTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { createKeyingSecretSource, createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { createDynamoDbPartitions, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { createNudge, nudgingTable } from '../../shared/store/wishes.ts';
import { commandsAccess } from './access.ts';
import { createSqsHandBack } from './invocation.ts';
import { type BatchResponse, work } from './work.ts';
import { createWorkerAccounts } from './worker-accounts.ts';

export interface WorkerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
}

/** Throws `AppError` `config_invalid`, which names what is wrong, before anything is worked on. */
export function createCommandsHandler(
  environment: CommandsEnvironment,
  ports: WorkerPorts,
): (event: unknown) => Promise<BatchResponse> {
  const { clock, newId } = ports;
  const dynamoDb = new DynamoDBClient({});
  const secretsManager = new SecretsManagerClient(CALLS_END);
  const telemetry = createPowertoolsTelemetry({
    functionName: environment.POWERTOOLS_SERVICE_NAME,
    bridgeName: environment.TABLE_NAME,
  });
  const queueKey = createKeyingSecretSource(
    secretsManager,
    environment.QUEUE_KEY_SECRET_ID,
    clock,
    telemetry,
  );
  const table = createDynamoDbTable(dynamoDb, environment.TABLE_NAME, commandsAccess, ports);
  const nudge = createNudge(table, clock);
  const partitions = createDynamoDbPartitions(dynamoDb, environment.TABLE_NAME, commandsAccess);
  const merge = { rules: readAccountRules(environment), settingsOf: commandSettingsOf };
  const configured = readCommandAccounts(environment);
  const directory = openAccountDirectory(configured, merge, { table, partitions, clock, telemetry });
  const keyOf = accountKeys((id) => createSecretKeySource(secretsManager, id, clock, telemetry), clock);
  // A bridge without callbacks does not load the client.
  const tasks = onDemand(async () => (await import('./waiting-tasks.ts')).createStepFunctionsTasks());
  const accounts = createWorkerAccounts(directory, {
    ...ports,
    ...(environment.CALLBACKS === 'on' && {
      tasks: { tell: async (...told) => (await tasks()).tell(...told) },
    }),
    instancesMax: environment.SENDING_INSTANCES_MAX,
    table: nudgingTable(table, nudge, telemetry),
    bus: createEventBridgeBus(new EventBridgeClient(BUS_CALLS_END), environment.EVENT_BUS_NAME, clock),
    keyOf: ({ key_secret_id, account_id }) => keyOf(key_secret_id, account_id),
    queueKey: () => queueKey.current(),
    telemetry,
  });
  const sqs = new SQSClient({});
  const wakes = createSqsWakes(sqs, environment.COMMANDS_QUEUE_URL);
  const handBack = createSqsHandBack(sqs, environment.COMMANDS_QUEUE_URL);
  return async (event) => {
    try {
      return await work({ accounts, wakes, handBack, clock, telemetry, newId }, event);
    } finally {
      telemetry.flush();
    }
  };
}
