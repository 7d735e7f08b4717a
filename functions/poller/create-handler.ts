/**
 * Creates the poller's handler: it reads the payload, keeps accounts warm, and ends each invocation before its
 * time-out.
 */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { type PollerEnvironment, pollAccountRequest } from '../../shared/config/poller-config.ts';
import { createEventBridgeBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createPowertoolsTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
import { readConfig } from '../../shared/runtime/read-config.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { createDynamoDbIndexes } from '../../shared/store/dynamodb/dynamodb-indexes.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb/dynamodb-table.ts';
import { pollerAccess } from './access.ts';
import { type AccountReport, pollAccount } from './account/poll-account.ts';
import { STOP_RESERVE_MS } from './account/poller-limits.ts';
import { createWarmAccounts } from './account/warm-accounts.ts';
import { type Account, type Adapters, createAccount, type HandlerPorts } from './create-account.ts';

/** The handler needs this of the Lambda context. */
interface InvocationContext {
  getRemainingTimeInMillis(): number;
}

export type PollerHandler = (
  event: unknown,
  context: InvocationContext,
  signal?: AbortSignal,
) => Promise<AccountReport>;

/**
 * Every call ends within these times, so that a call that is never answered does not hold up a loop for the rest of
 * the invocation. The slowest call that was seen to end took a second, and the SDK tries twice more. After the stop
 * signal no call is waited for (`wind-up.ts`).
 */
const CALLS_END = {
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
} as const;

export function createPollerHandler(environment: PollerEnvironment, ports: HandlerPorts): PollerHandler {
  const accounts = createWarmAccounts<Account>();
  const adapters = createAdapters(environment, ports.clock);

  return async (event, context, signal) => {
    const settings = readConfig(pollAccountRequest, event, 'The invocation payload');
    const account = accounts.get(settings.account_id, JSON.stringify(settings), () =>
      createAccount(settings, adapters, ports),
    );
    // The lease ends together with the polling: after a crash it blocks nothing beyond the invocation that died.
    const leaseMs = Math.max(0, context.getRemainingTimeInMillis() - STOP_RESERVE_MS);
    const deadline = deadlineSignal(ports.clock, leaseMs, signal);
    try {
      return await pollAccount(account.deps, account.memory, { signal: deadline.signal, leaseMs });
    } finally {
      deadline.clear();
      account.telemetry.flush();
    }
  };
}

/** Creates one client of each AWS service for the life of the environment. */
function createAdapters(environment: PollerEnvironment, clock: Clock): Adapters {
  const secretsManager = new SecretsManagerClient(CALLS_END);
  const dynamoDb = new DynamoDBClient(CALLS_END);
  return {
    table: createDynamoDbTable(dynamoDb, environment.TABLE_NAME, pollerAccess),
    indexes: createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME),
    bus: createEventBridgeBus(new EventBridgeClient(CALLS_END), environment.EVENT_BUS_NAME),
    keyOf: (secretId) => createSecretKeySource(secretsManager, secretId, clock),
    telemetryOf: (accountId) =>
      createPowertoolsTelemetry({
        functionName: environment.POWERTOOLS_SERVICE_NAME,
        bridgeName: environment.TABLE_NAME,
        accountId,
      }),
  };
}

/** Returns a signal that aborts after `durationMs` on the injected clock, or together with `outer`. */
function deadlineSignal(clock: Clock, durationMs: number, outer: AbortSignal | undefined) {
  const deadline = new AbortController();
  const cleared = new AbortController();
  clock.sleep(durationMs, cleared.signal).then(
    () => deadline.abort(new Error('The invocation is near its deadline')),
    () => {},
  );
  const signal = outer === undefined ? deadline.signal : AbortSignal.any([deadline.signal, outer]);
  return { signal, clear: () => cleared.abort() };
}
