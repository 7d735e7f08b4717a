/**
 * Creates the poller's handler: it reads the payload, keeps the accounts of its lane warm, and ends each invocation
 * before its time-out.
 */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { pollSettingsOf } from '../../shared/accounts/account.ts';
import { createAccountDirectory, openAccountWatch } from '../../shared/accounts/account-directory.ts';
import { readAccountRules } from '../../shared/config/account-rules.ts';
import {
  type PollAccountSettings,
  type PollerEnvironment,
  readPollRequest,
} from '../../shared/config/poller-config.ts';
import { BUS_CALLS_END, createEventBridgeBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { CALLS_END, stoppedBy } from '../../shared/runtime/concurrency.ts';
import {
  createPowertoolsTelemetry,
  type FlushableTelemetry,
} from '../../shared/runtime/powertools-telemetry.ts';
import { accountKeys, createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../shared/store/dynamodb-table.ts';
import { gatherReads } from '../../shared/store/table-access.ts';
import { createPooledHttp } from '../../shared/upstream/pooled-http.ts';
import { pollerAccess } from './access.ts';
import { createBoundReports } from './account/status/report-bound.ts';
import { STOP_RESERVE_MS } from './account/wind-up.ts';
import {
  type Account,
  type Adapters,
  createAccount,
  type HandlerPorts,
  UPSTREAM_SOCKETS_MAX,
} from './create-account.ts';
import {
  createRefusalLog,
  createWarmAccounts,
  hasOnlyPaused,
  type LaneAccount,
  type LaneReport,
  runLane,
  type SetAsideAccounts,
  settingsOfLane,
} from './lane/run-lane.ts';
import { createNudgeReader } from './nudges.ts';

/** The handler needs this of the Lambda context. */
interface InvocationContext {
  getRemainingTimeInMillis(): number;
}

export type PollerHandler = (
  event: unknown,
  context: InvocationContext,
  signal?: AbortSignal,
) => Promise<LaneReport>;

/** These adapters reach AWS. The handler builds them from its environment, unless it is told another way. */
type EnvironmentAdapters = Omit<Adapters, 'http' | 'watchedAccountIds'>;

export function createPollerHandler(
  environment: PollerEnvironment,
  ports: HandlerPorts,
  outsideOf: typeof adaptersOf = adaptersOf,
): PollerHandler {
  const warm = createWarmAccounts<Account>();
  const merge = { rules: readAccountRules(environment), settingsOf: pollSettingsOf };
  const setAside: SetAsideAccounts = new Map();
  let stopping: AbortSignal | undefined;
  const outside = outsideOf(environment, { ...ports, pauses: clockUntil(ports.clock, () => stopping) });
  const laneTelemetry = outside.telemetryOf(undefined);
  let bounds = createBoundReports(laneTelemetry);
  const sockets = createPooledHttp(UPSTREAM_SOCKETS_MAX, {
    proxyEnv: ports.proxyEnv,
    onWait: () => bounds.report('upstream_sockets', UPSTREAM_SOCKETS_MAX),
  });
  let watchedIds: readonly string[] = [];
  const adapters = {
    ...outside,
    watchedAccountIds: () => watchedIds,
    table: gatherReads(outside.table, pollerAccess, ports.clock),
    http: ports.http ?? sockets.send,
  };
  const create = (settings: PollAccountSettings) => createAccount(settings, adapters, ports);
  const watched = { ...adapters, clock: ports.clock, telemetry: laneTelemetry };
  // A warm environment reads the accounts of the table again only when they have changed.
  const laneWatch = { ...watched, watch: openAccountWatch(watched) };
  const logRefusals = createRefusalLog(laneTelemetry);
  const nudges = createNudgeReader(adapters.partitions, ports.clock);

  return async (event, context, signal) => {
    const { accounts: configured, ...lane } = readPollRequest(event);
    // A lease ends together with the polling: after a crash it blocks nothing beyond the invocation that died.
    const leaseMs = () => Math.max(0, context.getRemainingTimeInMillis() - STOP_RESERVE_MS);
    const deadline = deadlineSignal(ports.clock, leaseMs(), signal);
    stopping = deadline.signal;
    const directory = createAccountDirectory(configured, merge, laneWatch);
    bounds = createBoundReports(laneTelemetry);
    const accounts = async () => {
      await directory.refresh();
      const served = [...directory.all().values()];
      // A project may have moved away from a paused account, whose records stay.
      const kept = served.filter(({ state }) => state !== 'refused');
      watchedIds = [...kept.map(({ settings }) => settings.account_id), ...lane.other_account_ids];
      logRefusals(lane, served);
      return settingsOfLane(lane, served).map((each) =>
        laneAccount(each, () => warm.get(each.account_id, JSON.stringify(each), () => create(each))),
      );
    };
    const deps = { accounts, nudges, clock: ports.clock, telemetry: laneTelemetry };
    try {
      const report = await runLane(deps, setAside, { signal: deadline.signal, leaseMs });
      if (hasOnlyPaused(lane, directory.all().values())) laneTelemetry.measure('WalkAgeMs', 0);
      return report;
    } finally {
      deadline.clear();
      laneTelemetry.flush();
    }
  };
}

function laneAccount(settings: PollAccountSettings, account: () => Account): LaneAccount {
  const { account_id: accountId } = settings;
  return {
    accountId,
    identity: JSON.stringify(settings),
    nudge: () => account().bell.ring(),
    async poll(invocation) {
      const { poll, telemetry } = account();
      try {
        return await poll(invocation);
      } finally {
        telemetry.flush();
      }
    },
  };
}

/** Returns a clock on which every sleep ends, at the latest, with the invocation that `stopping` belongs to. */
function clockUntil(clock: Clock, stopping: () => AbortSignal | undefined): Clock {
  return {
    now: () => clock.now(),
    sleep(durationMs, signal) {
      const signals = [signal, stopping()].filter((each) => each !== undefined);
      return clock.sleep(durationMs, AbortSignal.any(signals));
    },
  };
}

interface AdapterPorts extends HandlerPorts {
  /** A pause before another attempt at the same call ends with the invocation. */
  readonly pauses: Clock;
}

/**
 * Creates one client of each AWS service for the life of the environment. After the stop signal no call is waited for
 * (`wind-up.ts`).
 */
function adaptersOf(
  environment: PollerEnvironment,
  { clock, random, pauses }: AdapterPorts,
): EnvironmentAdapters {
  // Accounts share a secret, so its failures are those of the lane.
  const laneTelemetry = telemetryOf(environment, undefined);
  const secretsManager = new SecretsManagerClient(CALLS_END);
  const dynamoDb = new DynamoDBClient(CALLS_END);
  return {
    table: createDynamoDbTable(dynamoDb, environment.TABLE_NAME, pollerAccess, { clock: pauses, random }),
    partitions: createDynamoDbPartitions(dynamoDb, environment.TABLE_NAME, pollerAccess),
    indexes: createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME),
    bus: createEventBridgeBus(new EventBridgeClient(BUS_CALLS_END), environment.EVENT_BUS_NAME, clock),
    keyOf: accountKeys(
      (secretId) => createSecretKeySource(secretsManager, secretId, clock, laneTelemetry),
      clock,
    ),
    telemetryOf: (accountId) =>
      accountId === undefined ? laneTelemetry : telemetryOf(environment, accountId),
  };
}

/** Without an account it is the telemetry of the lane itself. */
function telemetryOf(environment: PollerEnvironment, accountId: string | undefined): FlushableTelemetry {
  return createPowertoolsTelemetry({
    functionName: environment.POWERTOOLS_SERVICE_NAME,
    bridgeName: environment.TABLE_NAME,
    accountId,
  });
}

/** Returns a signal that aborts after `durationMs` on the injected clock, or together with `outer`. */
function deadlineSignal(clock: Clock, durationMs: number, outer: AbortSignal | undefined) {
  const deadline = outer === undefined ? new AbortController() : stoppedBy(outer);
  const cleared = new AbortController();
  clock.sleep(durationMs, cleared.signal).then(
    () => deadline.abort(new Error('The invocation is near its deadline')),
    () => {},
  );
  return { signal: deadline.signal, clear: () => cleared.abort() };
}
