/**
 * Reads the secret again every few seconds while the upstream refuses the key and nothing is sent, so that a valid
 * key is noticed within the invocation.
 */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { GuardedKeySource } from '../../../../shared/upstream/key-source.ts';

/** One look costs $0.000005, so a key that stays wrong for a day costs nine cents. */
const LOOK_MS = 5_000;

export interface KeyWatchDeps {
  /** The key that is sent to the upstream comes from here. */
  readonly key: Pick<GuardedKeySource, 'hasAnother'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function watchKey(
  { key, clock, signal }: KeyWatchDeps,
  health: { isKeyRejected: boolean },
): Promise<void> {
  while (!signal.aborted) {
    // A secret that cannot be read is taken to hold no other key.
    if (health.isKeyRejected && (await key.hasAnother().catch(() => false))) health.isKeyRejected = false;
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}
