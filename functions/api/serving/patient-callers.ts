/**
 * Waits on behalf of callers. Each caller may have a bounded number of waits at once, because a wait occupies a whole
 * instance of the function.
 */

import type { PerAccount } from '../../../shared/accounts/per-account.ts';
import type { Caller } from '../../../shared/callers/authorize.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { HeldKind, HeldPlaces } from './held-places.ts';
import { Problem } from './problem.ts';

export interface PatientCallers {
  /**
   * Resolves to a function that ends the wait, and to undefined when the caller already has the most waits that are
   * allowed.
   */
  tryWait(caller: Caller, kind: HeldKind, forMs: number): Promise<(() => Promise<void>) | undefined>;
  /** Does the same, but rejects with `Problem` `rate-limited` instead of resolving to undefined. */
  wait(caller: Caller, forMs: number): Promise<() => Promise<void>>;
}

/** Usually one of the caller's waits has ended by then. */
const RETRY_AFTER_SECONDS = 5;

export function createPatientCallers(placesOf: PerAccount<HeldPlaces>, telemetry: Telemetry): PatientCallers {
  const tryWait: PatientCallers['tryWait'] = async (caller, kind, forMs) => {
    const release = await placesOf.get(caller.account_id)?.take(caller, kind, forMs);
    if (release === undefined) return undefined;
    return async () => {
      // A place that could not be given back becomes free when its time is over.
      await release().catch((error: unknown) =>
        telemetry.log('warn', 'wait.not_released', { reason: toError(error).name }),
      );
    };
  };
  return {
    tryWait,
    async wait(caller, forMs) {
      const release = await tryWait(caller, 'waits', forMs);
      if (release !== undefined) return release;
      throw new Problem('rate-limited', {
        detail:
          'This caller has as many long polls under way as it may have; wait for one of them to end, or ask without wait.',
        headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      });
    },
  };
}
