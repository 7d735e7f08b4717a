/** Acquires the lease, and waits a moment for an invocation that still holds it. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Lease } from './lease.ts';

/** The invocation of the last minute may still be ending. Without this wait, the whole minute would be lost. */
const LEASE_WAIT_MS_MAX = 5_000;

/** The wait between two attempts doubles from the first of these to the second, because each attempt is two calls. */
const LEASE_LOOK_MS = 250;
const LEASE_LOOK_MS_MAX = 1_000;

export interface LeaseWaitDeps {
  readonly lease: Pick<Lease, 'acquire'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Resolves to false when another process still holds the lease, or the invocation stops. */
export async function waitForLease(
  { lease, clock, signal }: LeaseWaitDeps,
  leaseMs: number,
): Promise<boolean> {
  const giveUpAtMs = clock.now() + LEASE_WAIT_MS_MAX;
  for (let lookMs = LEASE_LOOK_MS; ; lookMs = Math.min(LEASE_LOOK_MS_MAX, 2 * lookMs)) {
    if (await lease.acquire(leaseMs)) return true;
    if (clock.now() >= giveUpAtMs || signal.aborted) return false;
    await clock.sleep(Math.min(lookMs, giveUpAtMs - clock.now()), signal).catch(() => {});
  }
}
