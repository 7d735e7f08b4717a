/** Runs the poller of production over the table of an API under test, as the deployment invokes it: once a minute. */

import { createAccountBudget } from '../../functions/poller/account/account-budget.ts';
import type { AccountDeps } from '../../functions/poller/account/account-deps.ts';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { createLease } from '../../functions/poller/account/lease.ts';
import { pollAccount } from '../../functions/poller/account/poll-account.ts';
import { createTally } from '../../functions/poller/account/status/publish-status.ts';
import { STOP_RESERVE_MS } from '../../functions/poller/account/wind-up.ts';
import { accountLimits, pollOptionsFor } from '../../functions/poller/create-account.ts';
import { createPollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { pollerSchedule } from '../../shared/config/poller-config.ts';
import { LIMIT_PER_MINUTE, SHARES_PER_MINUTE } from '../../shared/rates/account-rate.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import { createUpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { portsBesidePolls } from '../poller/ports-beside-polls.ts';
import { ACCOUNT_ID, type ApiUnderTest } from './api-under-test.ts';

const RATE = {
  pollerRequestsPerMinute: SHARES_PER_MINUTE.poller,
  commandRequestsPerMinute: SHARES_PER_MINUTE.commands,
  limitRequestsPerMinute: LIMIT_PER_MINUTE,
};

export interface PolledUpstream {
  readonly baseUrl: string;
  readonly key: string;
  readonly fetch: typeof fetch;
}

/** The poller publishes nothing: its bus accepts each event and forgets it. Resolves when the signal aborts. */
export async function runPoller(
  upstream: PolledUpstream,
  { memory }: Pick<ApiUnderTest, 'memory'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const deps = pollerDeps(upstream, memory, clock);
  const accountMemory = emptyAccountMemory();
  const durationMs = pollerSchedule.timeoutMs - STOP_RESERVE_MS;
  while (!signal.aborted) {
    const late = new AbortController();
    void clock.sleep(durationMs, signal).then(
      () => late.abort(new Error('deadline')),
      () => late.abort(new Error('stopped')),
    );
    const invocation = pollAccount(deps, accountMemory, { signal: late.signal, leaseMs: durationMs });
    const untilNext = clock.sleep(pollerSchedule.everyMs, signal);
    await Promise.all([invocation.catch(() => {}), untilNext.catch(() => {})]);
  }
}

function pollerDeps(
  { baseUrl, key, fetch }: PolledUpstream,
  memory: ApiUnderTest['memory'],
  clock: Clock,
): AccountDeps {
  const table = memory.as('poller');
  const random = seededRandom(1);
  const requestsPerMinute = SHARES_PER_MINUTE.poller;
  const budget = createAccountBudget({ clock, monotonicMs: () => clock.now() }, RATE);
  const { telemetry, tally } = createTally(silentTelemetry);
  const store = createBridgeStore(table, ACCOUNT_ID, clock);
  const secret = createSecret(key);
  const apiKey = { current: async () => secret, refresh: async () => secret };
  return {
    ...portsBesidePolls(table, store, clock),
    upstream: createUpstreamClient({ baseUrl, apiKey, clock, random, budget, fetch }),
    store,
    random,
    status: {
      read: () => readAccountStatus(table, ACCOUNT_ID),
      write: (status) => writeAccountStatus(table, status),
      tally,
    },
    bus: { publish: async (events) => events.map(() => ({ kind: 'accepted' as const })) },
    budget,
    commands: { store: createLedgerStore(table, ACCOUNT_ID), rate: RATE },
    planner: createPollPlanner({
      ...accountLimits.planner,
      requestsPerMinute,
      pollIntervalMsMin: 5_000,
      listing: { usualIntervalMs: accountLimits.listIntervalMs, hintIntervalMsMin: undefined },
    }),
    clock,
    telemetry,
    lease: createLease({
      store,
      clock,
      monotonicMs: () => clock.now(),
      newId: () => String(random.next()),
      budget,
    }),
    options: pollOptionsFor('open', {}),
    limits: { ...accountLimits.run, requestsPerMinute, pollsAtOnce: 2 },
  };
}
