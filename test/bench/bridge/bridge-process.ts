/**
 * Builds the poller of production (planner, limiter, HTTP client, engine, protocol, relay) as one process on virtual
 * time, on ports whose calls take time.
 */

import { createAccountBudget } from '../../../functions/poller/account/account-budget.ts';
import type { AccountDeps } from '../../../functions/poller/account/account-deps.ts';
import { createLease } from '../../../functions/poller/account/lease.ts';
import { createTally } from '../../../functions/poller/account/status/publish-status.ts';
import { accountLimits, pollOptionsFor, pollsAtOnceFor } from '../../../functions/poller/create-account.ts';
import type { IntervalMsMin } from '../../../functions/poller/planner/pace.ts';
import { createPollPlanner, type PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { type AccountRate, certainFor, SHARES_PER_MINUTE } from '../../../shared/rates/account-rate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { createLedgerStore } from '../../../shared/store/ledger-store.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { RequestBudget } from '../../../shared/upstream/request-budget.ts';
import { createUpstreamClient, type UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { portsBesidePolls } from '../../poller/ports-beside-polls.ts';

export const ACCOUNT_ID = 'bench';

export interface PollerSettings {
  readonly requestsPerMinute: number;
  readonly pollIntervalMs: IntervalMsMin;
  /** The list is read for hints as often as in production, and otherwise only to discover projects. */
  readonly hasHints: boolean;
  readonly lingerMs?: number;
  /** Replaces production's planner when it is given. */
  readonly planner?: (() => PollPlanner) | undefined;
}

export interface PollerPorts {
  readonly fetch: typeof fetch;
  readonly table: Table;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly random: Random;
}

const KEY = createSecret('bench-key');

/** Divides what the poller may send while there are no commands as an account without settings does. */
export function benchRate(requestsPerMinute: number): AccountRate {
  const { poller, commands } = SHARES_PER_MINUTE;
  const commandRequestsPerMinute = Math.round((requestsPerMinute * commands) / (poller + commands));
  return {
    pollerRequestsPerMinute: requestsPerMinute - commandRequestsPerMinute,
    commandRequestsPerMinute,
    limitRequestsPerMinute: 2 * requestsPerMinute,
  };
}

/** Returns what the service must allow, so that it refuses nothing which poller and commands send within their shares. */
export function allowedTo(requestsPerMinute: number): number {
  const rate = benchRate(requestsPerMinute);
  return certainFor(rate) + rate.commandRequestsPerMinute;
}

export function createBridgeProcess(settings: PollerSettings, ports: PollerPorts): AccountDeps {
  const { table, bus, clock, random } = ports;
  const { requestsPerMinute, lingerMs } = settings;
  const rate = benchRate(requestsPerMinute);
  const monotonicMs = () => clock.now();
  const budget = createAccountBudget({ clock, monotonicMs }, rate);
  const { telemetry, tally } = createTally(silentTelemetry);
  const store = createBridgeStore(table, ACCOUNT_ID, clock);
  return {
    ...portsBesidePolls(table, store, clock),
    upstream: createBenchClient(ports.fetch, clock, random, budget),
    store,
    random,
    status: {
      read: () => readAccountStatus(table, ACCOUNT_ID),
      write: (status) => writeAccountStatus(table, status),
      tally,
    },
    bus,
    budget,
    commands: { store: createLedgerStore(table, ACCOUNT_ID), rate },
    planner: benchPlanner(settings),
    clock,
    telemetry,
    lease: createLease({ store, clock, monotonicMs, newId: () => String(random.next()), budget }),
    options: pollOptionsFor('open', {}),
    limits: {
      ...accountLimits.run,
      requestsPerMinute,
      pollsAtOnce: pollsAtOnceFor(requestsPerMinute),
      ...(lingerMs !== undefined && { lingerMs }),
    },
  };
}

/** Without a budget the client waits for no permit, as that of a command does that has one already. */
export function createBenchClient(
  fetchOfBench: typeof fetch,
  clock: Clock,
  random: Random,
  budget: RequestBudget = { take: async () => {}, pauseFor: () => {} },
): UpstreamClient {
  return createUpstreamClient({
    baseUrl: 'http://upstream.invalid/api/v2',
    apiKey: { current: async () => KEY, refresh: async () => KEY },
    clock,
    random,
    budget,
    fetch: fetchOfBench,
  });
}

/** Builds the planner as production does, unless another one takes its place. `create` builds one of another edition. */
export function benchPlanner({
  planner,
  pollIntervalMs,
  requestsPerMinute,
  hasHints,
}: PollerSettings): PollPlanner {
  if (planner !== undefined) return planner();
  const hintIntervalMsMin = pollIntervalMs === 'by_size' ? pollIntervalMs : pollIntervalMs / 4;
  return createPollPlanner({
    ...accountLimits.planner,
    requestsPerMinute,
    readsComputes: true,
    pollIntervalMsMin: pollIntervalMs,
    listing: {
      usualIntervalMs: accountLimits.listIntervalMs,
      hintIntervalMsMin: hasHints ? hintIntervalMsMin : undefined,
    },
  });
}
