/**
 * Builds the worker from its environment: the AWS clients behind its ports, and what each account needs: its queue, its
 * way to the upstream, and its permits.
 */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { commandSettingsOf } from '../../shared/accounts/account.ts';
import {
  type AccountDirectory,
  openAccountDirectory,
  perAccount,
} from '../../shared/accounts/account-directory.ts';
import { createCallbacks } from '../../shared/commands/callbacks.ts';
import { createQueueStore } from '../../shared/commands/queue-store.ts';
import {
  type AccountPorts,
  type SharedAccount,
  upstreamAccount,
} from '../../shared/commands/send-command.ts';
import { createSqsWakes } from '../../shared/commands/wakes.ts';
import { readAccountRules } from '../../shared/config/account-rules.ts';
import type { ApiAccount } from '../../shared/config/api-config.ts';
import { BUS_CALLS_END, createEventBridgeBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { CALLS_END } from '../../shared/runtime/concurrency.ts';
import { onDemand } from '../../shared/runtime/on-demand.ts';
import { createPowertoolsTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import {
  accountKeys,
  createKeyingSecretSource,
  createSecretKeySource,
} from '../../shared/runtime/secret-key-source.ts';
import { createDynamoDbPartitions, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { commandKey } from '../../shared/store/keys.ts';
import { createCommandRecords } from '../../shared/store/records.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import { createNudge, createReadingWishes, nudgingTable } from '../../shared/store/wishes.ts';
import { commandsAccess } from './access.ts';
import { type CommandsEnvironment, createSqsHandBack, readCommandAccounts } from './invocation.ts';
import type { LineDeps } from './line.ts';
import type { WaitingTasks } from './waiting-tasks.ts';
import { type BatchResponse, type WorkerAccounts, work } from './work.ts';

export interface WorkerAccountPorts extends AccountPorts {
  readonly queueKey: () => Promise<Secret>;
  /** It is undefined when the bridge ends no tasks of workflows. */
  readonly tasks?: WaitingTasks | undefined;
  readonly newId: () => string;
}

/** The lines of a paused account are worked on, too, because the deadlines of their commands go on. */
export function createWorkerAccounts(
  directory: AccountDirectory<ApiAccount>,
  ports: WorkerAccountPorts,
): WorkerAccounts {
  const noteUnreadable = createUnreadableNotes(ports.telemetry);
  const accounts = perAccount(
    (accountId) => directory.get(accountId)?.settings,
    (settings: ApiAccount) => {
      const isPaused = () => directory.get(settings.account_id)?.state !== 'active';
      const generation = () => directory.get(settings.account_id)?.generation;
      const account = upstreamAccount(settings, ports, noteUnreadable);
      const line = { ...lineDeps(settings, ports, { account, noteUnreadable }), isPaused, generation };
      const { table, tasks } = ports;
      const callbacks = tasks && {
        ...line,
        tasks,
        callbacks: createCallbacks(table, settings.account_id, noteUnreadable),
      };
      return { line, callbacks, idle: () => account.fairShare.idle() };
    },
  );
  return {
    refresh: () => directory.refresh(),
    ids: () => [...directory.all().keys()],
    get: (accountId) => accounts.get(accountId),
    idle: async () => void (await Promise.all(accounts.made().map((account) => account.idle()))),
  };
}

function lineDeps(
  { account_id, poll_interval_seconds }: ApiAccount,
  { table, clock, telemetry, queueKey, newId }: WorkerAccountPorts,
  { account, noteUnreadable }: { readonly account: SharedAccount; readonly noteUnreadable: NoteUnreadable },
): Omit<LineDeps, 'isPaused' | 'generation'> {
  const records = createCommandRecords(table, noteUnreadable);
  const wishes = createReadingWishes(table, account_id, clock);
  return {
    queue: createQueueStore(table, account_id, { clock, noteUnreadable, newId }),
    account,
    readRecord: async (projectId, commandId) =>
      (await records.readCommands([commandKey(account_id, projectId, commandId)]))[0],
    admit: (clientId) => account.fairShare.admit(clientId),
    wishForReading: (projectId) => wishes.wishForReading(projectId, poll_interval_seconds * 1_000),
    queueKey,
    clock,
    telemetry,
  };
}

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
