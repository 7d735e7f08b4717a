/**
 * Decides which process polls an account. The safety of the records rests on conditional writes and not on the lease,
 * but the rate limit rests on the lease: a process sends only while its lease holds by its own clocks, and hands over
 * what it has spent.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';
import type { BridgeStore } from '../../../shared/store/bridge-store.ts';
import type { PollerBudget } from '../../../shared/upstream/request-budget.ts';
import type { InvocationDeps, Lease } from './account-deps.ts';

export interface LeaseDeps {
  readonly store: BridgeStore;
  readonly clock: Clock;
  /** Returns milliseconds that only ever rise, even when the clock of the machine is changed. */
  readonly monotonicMs: () => number;
  readonly newId: () => string;
  readonly budget: PollerBudget;
}

interface Held {
  readonly holder: string;
  readonly durationMs: number;
  readonly fromMs: number;
  readonly fromMonotonicMs: number;
}

export function createLease({ store, clock, monotonicMs, newId, budget }: LeaseDeps): Lease {
  let held: Held | undefined;
  return {
    async acquire(durationMs) {
      const holder = newId();
      const before = await store.readLease();
      // The lease counts from before the write, because the table counts from some time after it.
      const times = { fromMs: clock.now(), fromMonotonicMs: monotonicMs() };
      if (!(await store.acquireLease(holder, durationMs))) return false;
      held = { holder, durationMs, ...times };
      budget.takeOver(before?.spending);
      return true;
    },

    /** Asks both clocks, because one stands still while some machines are frozen, and the other one can be changed. */
    holds() {
      if (held === undefined) return false;
      const elapsedMs = Math.max(clock.now() - held.fromMs, monotonicMs() - held.fromMonotonicMs);
      return elapsedMs < held.durationMs;
    },

    async release() {
      if (held === undefined) return;
      const { holder } = held;
      held = undefined;
      await store.releaseLease(holder, budget.spending());
    },
  };
}

/** The invocation of the last minute may still be ending. Without this wait, the whole minute would be lost. */
const LEASE_WAIT_MS_MAX = 5_000;

/** The wait between two attempts doubles from the first of these to the second, because each attempt is two calls. */
const LEASE_LOOK_MS = 250;
const LEASE_LOOK_MS_MAX = 1_000;

/** Resolves to false when another process still holds the lease, or the invocation stops. */
export async function waitForLease(
  { lease, clock, signal }: InvocationDeps,
  leaseMs: number,
): Promise<boolean> {
  const giveUpAtMs = clock.now() + LEASE_WAIT_MS_MAX;
  for (let lookMs = LEASE_LOOK_MS; ; lookMs = Math.min(LEASE_LOOK_MS_MAX, 2 * lookMs)) {
    if (await lease.acquire(leaseMs)) return true;
    if (clock.now() >= giveUpAtMs || signal.aborted) return false;
    await clock.sleep(Math.min(lookMs, giveUpAtMs - clock.now()), signal).catch(() => {});
  }
}
