/** Builds the poller of one account from the settings that its invocations bring. */

import type { PollAccountSettings } from '../../shared/config/poller-config.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import { createInsightsStore, rememberUsualDurations } from '../../shared/insights/day-insights.ts';
import { createHourCountsStore } from '../../shared/insights/hour-counts.ts';
import { type AccountRate, sharedRequestsPerMinute } from '../../shared/rates/account-rate.ts';
import type { Backfill } from '../../shared/records/operation-record.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/records/time.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { FlushableTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import { createProjectNames } from '../../shared/store/project-names.ts';
import type { Table, TableIndexes, TablePartitions } from '../../shared/store/table.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import type { ProxyEnv, SendHttp } from '../../shared/upstream/pooled-http.ts';
import { type GuardedKeySource, guardKey, type KeySource } from '../../shared/upstream/send-with-key.ts';
import { createUpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { createAccountBudget } from './account/account-budget.ts';
import type { AccountDeps, AccountLimits } from './account/account-deps.ts';
import { noteUnreadableKey, type ReadableKey } from './account/account-key.ts';
import { emptyAccountMemory } from './account/account-memory.ts';
import { createNameKeeper } from './account/discovery/keep-names.ts';
import { createInsights } from './account/insights.ts';
import { createLease } from './account/lease.ts';
import { type AccountReport, type Invocation, pollAccount } from './account/poll-account.ts';
import { createTally } from './account/status/publish-status.ts';
import { createUsageWatch } from './account/usage.ts';
import { createNudgeBell, type NudgeBell } from './nudges.ts';
import type { PlannerLimits } from './planner/pace.ts';
import { createPollPlanner } from './planner/poll-planner.ts';
import type { PollOptions, StallThresholdsMs } from './project/poll.ts';

export interface HandlerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  /** Returns milliseconds that only ever rise, even when the clock of the machine is changed. */
  readonly monotonicMs: () => number;
  /** Requests to upstreams are sent by this. The default are the pooled sockets of the process. */
  readonly http?: SendHttp | undefined;
  /** Requests to upstreams go through the proxy that these variables name. There is no proxy without them. */
  readonly proxyEnv?: ProxyEnv | undefined;
  /** These stand in place of production's bounds. A simulated run has fewer rows and less time than a year of production. */
  readonly bounds?: AccountBounds | undefined;
}

export interface AccountBounds {
  readonly options: Partial<PollOptions>;
  readonly limits: Partial<AccountLimits>;
  readonly planner: Partial<PlannerLimits>;
}

/** All accounts of one environment share these adapters. */
export interface Adapters {
  readonly table: Table;
  readonly indexes: TableIndexes;
  readonly partitions: TablePartitions;
  readonly bus: EventBus;
  /** Requests to the upstream are sent with this. */
  readonly http: SendHttp;
  /** Returns the accounts that this bridge watches. */
  readonly watchedAccountIds: () => readonly string[];
  keyOf(secretId: string, accountId: string): KeySource;
  /** Without an account it is the telemetry of the lane itself. */
  telemetryOf(accountId: string | undefined): FlushableTelemetry;
}

/** Is the warm poller of one account. */
export interface Account {
  /** Polls the account until the signal of the invocation aborts. */
  poll(this: void, invocation: Invocation): Promise<AccountReport>;
  readonly telemetry: FlushableTelemetry;
  /** It rings when another process has left work for the account. */
  readonly bell: NudgeBell;
}

export function createAccount(
  settings: PollAccountSettings,
  adapters: Adapters,
  ports: HandlerPorts,
): Account {
  const { clock, random } = ports;
  const { table, bus } = adapters;
  const rate = rateOf(settings);
  const requestsPerMinute = sharedRequestsPerMinute(rate);
  const { telemetry, tally } = createTally(adapters.telemetryOf(settings.account_id));
  const noteUnreadable = createUnreadableNotes(telemetry);
  const budget = createAccountBudget(ports, rate);
  const store = createBridgeStore(table, settings.account_id, clock, noteUnreadable);
  const days = createInsightsStore(table, settings.account_id, noteUnreadable);
  const bell = createNudgeBell(clock);
  const lease = createLease({ ...ports, store, budget });
  const key = keyOf(settings, adapters, telemetry);
  const upstream = createUpstreamClient({
    baseUrl: settings.upstream_base_url,
    apiKey: key,
    maySend: () => lease.holds(),
    clock,
    random,
    budget,
    send: adapters.http,
    onAttempt: measureAttempt(telemetry),
  });
  const deps: AccountDeps = {
    upstream,
    store,
    lease,
    key,
    bell,
    bus,
    budget,
    clock,
    random,
    telemetry,
    status: { ...statusStore(table, settings.account_id, noteUnreadable), tally },
    insights: createInsights({
      days,
      hours: createHourCountsStore(table, settings.account_id, noteUnreadable),
      clock,
      writer: ports.newId(),
    }),
    indexes: adapters.indexes,
    names: createNameKeeper(createProjectNames(table, settings.account_id, noteUnreadable)),
    usage: createUsageWatch(settings.usage),
    usualDurationOf: rememberUsualDurations(days, clock),
    commands:
      rate.commandRequestsPerMinute === 0
        ? undefined
        : { store: createLedgerStore(table, settings.account_id, noteUnreadable), rate },
    planner: createPollPlanner({
      ...plannerLimits(settings, requestsPerMinute),
      ...ports.bounds?.planner,
    }),
    options: {
      ...pollOptionsFor(settings.backfill, stallThresholdsMsOf(settings)),
      ...ports.bounds?.options,
    },
    limits: { ...limitsOf(settings, requestsPerMinute), ...ports.bounds?.limits },
    fixedProjectIds: settings.project_ids,
    watchedAccountIds: adapters.watchedAccountIds,
  };
  const memory = emptyAccountMemory();
  return { poll: (invocation) => pollAccount(deps, memory, invocation), telemetry, bell };
}

function keyOf(
  { key_secret_id: secretId, account_id }: PollAccountSettings,
  adapters: Adapters,
  telemetry: Telemetry,
): GuardedKeySource & Pick<ReadableKey, 'isReadable'> {
  const source = noteUnreadableKey(adapters.keyOf(secretId, account_id), secretId, ({ message, advice }) =>
    telemetry.log('error', 'key.unreadable', {
      account_id,
      reason: message,
      advice,
    }),
  );
  return { ...guardKey(source), isReadable: () => source.isReadable() };
}

function rateOf(settings: PollAccountSettings): AccountRate {
  return {
    pollerRequestsPerMinute: settings.requests_per_minute,
    commandRequestsPerMinute: settings.command_requests_per_minute,
    limitRequestsPerMinute: settings.limit_requests_per_minute,
  };
}

function measureAttempt(telemetry: Telemetry) {
  return ({ status }: { readonly status: number | undefined }): void => {
    telemetry.measure('UpstreamRequests', 1);
    if (status === 429) telemetry.measure('UpstreamThrottled', 1);
    else if (status === undefined || status >= 400) telemetry.measure('UpstreamFailed', 1);
  };
}

function statusStore(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    read: () => readAccountStatus(table, accountId, noteUnreadable),
    write: (status: Parameters<typeof writeAccountStatus>[1]) => writeAccountStatus(table, status),
  };
}

function plannerLimits(settings: PollAccountSettings, requestsPerMinute: number): PlannerLimits {
  const { poll_interval_seconds: intervalS, project_ids } = settings;
  const listing = {
    usualIntervalMs: accountLimits.listIntervalMs,
    // One request shows hundreds of projects, so it may come four times as often as a poll of one of them.
    hintIntervalMsMin: intervalS === undefined ? ('by_size' as const) : (intervalS * 1_000) / 4,
  };
  return {
    ...accountLimits.planner,
    requestsPerMinute,
    readsComputes: true,
    pollIntervalMsMin: intervalS === undefined ? 'by_size' : intervalS * 1_000,
    listing: project_ids === undefined ? listing : undefined,
  };
}

function limitsOf({ linger_seconds }: PollAccountSettings, requestsPerMinute: number): AccountLimits {
  return {
    ...accountLimits.run,
    pollsAtOnce: pollsAtOnceFor(requestsPerMinute),
    requestsPerMinute,
    // After a minute the next invocation begins anyway.
    ...(linger_seconds < 60 && { lingerMs: linger_seconds * 1_000 }),
  };
}

function stallThresholdsMsOf({ stalled_after_seconds }: PollAccountSettings): StallThresholdsMs {
  const entries = Object.entries(stalled_after_seconds);
  return Object.fromEntries(
    entries.map(([action, seconds]) => [action, seconds.map((each) => each * 1_000)]),
  );
}

/** A dozen polls at once use the usual rate limit even if the upstream takes a second for each answer. */
const POLLS_AT_ONCE_MIN = 12;

/** Each poll has a socket and a page of rows in memory. With this many, pages of usual size take less than 64 MB. */
export const POLLS_AT_ONCE_MAX = 400;

/**
 * A process has at most this many sockets to upstreams, whatever its number of accounts: as many as one account of the
 * highest rate uses. They take about 25 MB, and Lambda allows 1,024 open files (AWS Lambda quotas).
 */
export const UPSTREAM_SOCKETS_MAX = 400;

/** Returns how many polls run at once: one for each request of a second, so that answers may take a second. */
export function pollsAtOnceFor(requestsPerMinute: number): number {
  const requestsPerSecond = Math.ceil(requestsPerMinute / 60);
  return Math.min(POLLS_AT_ONCE_MAX, Math.max(POLLS_AT_ONCE_MIN, requestsPerSecond));
}

export const accountLimits = {
  run: {
    pollsAtOnce: POLLS_AT_ONCE_MIN,
    // After an outage of the bus the index has many pages, and each costs some hundred read units.
    workIntervalMs: 1_000,
    failingMsMax: 3 * MINUTE_MS,
  } satisfies Omit<AccountLimits, 'requestsPerMinute'>,
  listIntervalMs: MINUTE_MS,
  planner: { failureBackoffMsMax: 5 * MINUTE_MS },
} as const;

export function pollOptionsFor(backfill: Backfill, stallThresholdsMs: StallThresholdsMs): PollOptions {
  return {
    walkLimits: {
      // A page of 100 rows has 32 kB. It is parsed in a fraction of a millisecond, and shows a day of most projects.
      firstPageRows: 100,
      // The list gives at most this many (public contract: 1 to 1000).
      widePageRows: 1_000,
      // One poll reads at most 20,000 operations. The next poll continues from the stored cursor.
      pagesMax: 20,
      // A row may become visible this late without waiting for the sweep. It is the start value of the design.
      overlapMs: 5 * MINUTE_MS,
    },
    backfill,
    boundStepRows: 24,
    sweepIntervalMs: DAY_MS,
    stallThresholdsMs,
  };
}
