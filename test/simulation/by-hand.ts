/**
 * Builds the poller of the close world from its parts, for tests that replace some of them. The simulation itself runs on `createAccount`
 * (close-poller.ts).
 */

import type { AccountDeps } from '../../functions/poller/account/account-deps.ts';
import type { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { pollAccount } from '../../functions/poller/account/poll-account.ts';
import { createPollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { portsBesidePolls } from '../poller/ports-beside-polls.ts';
import { ACCOUNT_ID, type Stage } from './close-stage.ts';
import { createFaultyBus, createFaultyTable, createFaultyUpstream } from './ports.ts';
import type { Process } from './scheduler.ts';

/** Runs one invocation. A failed one is only an error in a log, because the schedule starts the next one. */
export async function invoke(
  deps: AccountDeps,
  memory: ReturnType<typeof emptyAccountMemory>,
  durationMs: number,
) {
  const stop = new AbortController();
  deps.clock.sleep(durationMs).then(
    () => stop.abort(new Error('deadline')),
    () => {},
  );
  try {
    await pollAccount(deps, memory, { signal: stop.signal, leaseMs: durationMs });
  } catch {
    await deps.clock.sleep(1_000);
  }
}

export function dependenciesOf(stage: Stage, owner: Process): AccountDeps {
  const { world, model, table, index, delivered } = stage;
  const { options } = world;
  const clock = world.scheduler.clockOf(owner);
  const faulty = createFaultyTable(world, { table, index, owner });
  const store = createBridgeStore(faulty, ACCOUNT_ID, clock);
  return {
    ...portsBesidePolls(faulty, store, clock),
    upstream: { ...createFaultyUpstream(world, model, owner), listRunningComputes: async () => [] },
    random: seededRandom(options.seed),
    store,
    // Safety must not depend on the lease, so the simulation runs without it.
    lease: { acquire: async () => true, holds: () => true, release: async () => {} },
    key: { hasAnother: async () => true, isReadable: () => true },
    bus: createFaultyBus(world, delivered, owner),
    budget: createRequestBudget({ clock, requestsPerMinute: 10_000, burst: 20 }),
    planner: createPollPlanner({
      pollIntervalMsMin: options.pollIntervalMs,
      requestsPerMinute: 10_000,
      listing: { usualIntervalMs: 20_000, hintIntervalMsMin: options.pollIntervalMs },
      failureBackoffMsMax: 10_000,
    }),
    clock,
    telemetry: silentTelemetry,
    options: {
      walkLimits: {
        firstPageRows: options.firstPageRows,
        widePageRows: options.widePageRows,
        pagesMax: options.pagesMax,
        overlapMs: options.overlapMs,
      },
      backfill: options.backfill,
      boundStepRows: options.boundStepRows,
      sweepIntervalMs: options.sweepIntervalMs,
      stallThresholdsMs: { default: [2 * options.pollIntervalMs, 20 * options.pollIntervalMs] },
    },
    limits: {
      pollsAtOnce: 2,
      requestsPerMinute: 10_000,
      failingMsMax: 20_000,
      workIntervalMs: 1_000,
    },
  };
}
