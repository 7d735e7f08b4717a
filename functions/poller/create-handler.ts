/** Builds the poller from its environment and a clock; one set of adapters per account and warm environment. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import {
  type PollAccountSettings,
  type PollerEnvironment,
  pollAccountRequest,
} from '../../shared/config/poller-config.ts';
import { sharedRequestsPerMinute } from '../../shared/core/rates/account-rate.ts';
import { createEventBridgeBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import {
  createPowertoolsTelemetry,
  type FlushableTelemetry,
} from '../../shared/runtime/powertools-telemetry.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { readConfig } from '../../shared/runtime/read-config.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { readCommandUsage } from '../../shared/store/command-usage.ts';
import { createDynamoDbIndexes } from '../../shared/store/dynamodb-indexes.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { createUnreadableNotes } from '../../shared/store/unreadable.ts';
import { createUpstreamClient } from '../../shared/upstream/http-client.ts';
import { guardKey } from '../../shared/upstream/key-source.ts';
import { pollerAccess } from './access.ts';
import { createAccountBudget } from './account/account-budget.ts';
import { createLease } from './account/lease.ts';
import { accountLimits, pollOptionsFor, STOP_RESERVE_MS } from './account/limits.ts';
import { type AccountReport, pollAccount } from './account/poll-account.ts';
import { type AccountDeps, type AccountMemory, emptyAccountMemory } from './account/run.ts';
import { createTally } from './account/tally.ts';
import { createWarmAccounts } from './account/warm-accounts.ts';
import { createPollPlanner } from './planner/poll-planner.ts';
import { askForNewestRecorded } from './project/newest-recorded.ts';
import type { StallThresholdsMs } from './project/stall.ts';

export interface HandlerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  /** Milliseconds that only ever rise, whatever is done to the clock of the machine. */
  readonly monotonicMs: () => number;
}

/** What the handler needs of the Lambda context. */
export interface InvocationContext {
  getRemainingTimeInMillis(): number;
}

export type PollerHandler = (
  event: unknown,
  context: InvocationContext,
  signal?: AbortSignal,
) => Promise<AccountReport>;

/** A page of the project list is read up to four times in the interval of one project's polls. */
const LIST_INTERVAL_SHARE_MS = 250;

/**
 * A call that is never answered must not hold up a loop for the rest of the invocation. The slowest call that is still a call
 * took a second; the SDK tries twice more. After the stop signal nobody waits for it (`wind-up.ts`).
 */
const CALLS_END = {
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
} as const;

interface Account {
  readonly deps: AccountDeps;
  readonly memory: AccountMemory;
  readonly telemetry: FlushableTelemetry;
}

export function createPollerHandler(environment: PollerEnvironment, ports: HandlerPorts): PollerHandler {
  const accounts = createWarmAccounts<Account>();
  const clients = {
    dynamoDb: new DynamoDBClient(CALLS_END),
    eventBridge: new EventBridgeClient(CALLS_END),
    secretsManager: new SecretsManagerClient(CALLS_END),
  };

  return async (event, context, signal) => {
    const settings = readConfig(pollAccountRequest, event, 'The invocation payload');
    const account = accounts.get(settings.account_id, JSON.stringify(settings), () =>
      createAccount(settings),
    );
    // The lease ends when the polling does: after a crash it blocks nobody beyond the invocation that died.
    const leaseMs = Math.max(0, context.getRemainingTimeInMillis() - STOP_RESERVE_MS);
    const deadline = deadlineSignal(ports.clock, leaseMs, signal);
    try {
      return await pollAccount(account.deps, account.memory, { signal: deadline.signal, leaseMs });
    } finally {
      deadline.clear();
      account.telemetry.flush();
    }
  };

  function createAccount(settings: PollAccountSettings): Account {
    const { clock, random, newId, monotonicMs } = ports;
    const rate = {
      pollerRequestsPerMinute: settings.requests_per_minute,
      commandRequestsPerMinute: settings.command_requests_per_minute,
    };
    const requestsPerMinute = sharedRequestsPerMinute(rate);
    const { telemetry, tally } = createTally(
      createPowertoolsTelemetry(environment.POWERTOOLS_SERVICE_NAME, settings.account_id),
    );
    const table = createDynamoDbTable(clients.dynamoDb, environment.TABLE_NAME, pollerAccess);
    const noteUnreadable = createUnreadableNotes(telemetry);
    const budget = createAccountBudget(clock, rate);
    const store = createBridgeStore(table, settings.account_id, clock, noteUnreadable);
    const lease = createLease({ store, clock, monotonicMs, newId, budget });
    const key = guardKey(createSecretKeySource(clients.secretsManager, settings.key_secret_id, clock));
    const deps: AccountDeps = {
      upstream: createUpstreamClient({
        baseUrl: settings.upstream_base_url,
        apiKey: key,
        maySend: () => lease.holds(),
        clock,
        random,
        budget,
        onAttempt: ({ status }) => {
          telemetry.measure('UpstreamRequests', 1);
          if (status === 429) telemetry.measure('UpstreamThrottled', 1);
          else if (status === undefined || status >= 400) telemetry.measure('UpstreamFailed', 1);
        },
      }),
      store,
      newestRecorded: askForNewestRecorded(
        createDynamoDbIndexes(clients.dynamoDb, environment.TABLE_NAME),
        store,
      ),
      lease,
      key,
      status: {
        read: () => readAccountStatus(table, settings.account_id, noteUnreadable),
        write: (status) => writeAccountStatus(table, status),
        tally,
        requestsPerMinute,
      },
      bus: createEventBridgeBus(clients.eventBridge, environment.EVENT_BUS_NAME),
      budget,
      ...(rate.commandRequestsPerMinute > 0 && {
        commands: {
          sentCount: () => readCommandUsage(table, settings.account_id, noteUnreadable),
          requestsPerMinute: rate.commandRequestsPerMinute,
        },
      }),
      planner: createPollPlanner({
        ...accountLimits.planner,
        requestsPerMinute,
        pollIntervalMsMin: settings.poll_interval_seconds * 1_000,
        listing:
          settings.project_ids === undefined
            ? {
                intervalMsMax: accountLimits.run.discoveryIntervalMs,
                // One request shows hundreds of projects, so it may come oftener.
                hintIntervalMsMin: settings.poll_interval_seconds * LIST_INTERVAL_SHARE_MS,
              }
            : undefined,
      }),
      clock,
      telemetry,
      options: pollOptionsFor(settings.backfill, stallThresholdsMsOf(settings)),
      limits: {
        ...accountLimits.run,
        requestsPerMinute,
        // At a minute the next invocation begins anyway.
        ...(settings.linger_seconds < 60 && { lingerMs: settings.linger_seconds * 1_000 }),
      },
      fixedProjectIds: settings.project_ids,
    };
    return { deps, memory: emptyAccountMemory(), telemetry };
  }
}

function stallThresholdsMsOf({ stalled_after_seconds }: PollAccountSettings): StallThresholdsMs {
  const entries = Object.entries(stalled_after_seconds);
  return Object.fromEntries(
    entries.map(([action, seconds]) => [action, seconds.map((each) => each * 1_000)]),
  );
}

/** Aborts after `durationMs` on the injected clock, or together with `outer`. */
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
