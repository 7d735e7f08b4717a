/** Waits on behalf of callers, each of whom may have only so many at once: a wait holds an instance of the function for itself. */

import type { Caller } from '../../../shared/callers/authorize.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { HeldKind, HeldPlaces } from './held-places.ts';
import { Problem } from './problem.ts';

export interface PatientCallers {
  /** Gives the place back. Undefined: the caller has as many waits as they may have. */
  tryWait(caller: Caller, kind: HeldKind, forMs: number): Promise<(() => Promise<void>) | undefined>;
  /** The same, and a problem for the caller instead of nothing. */
  wait(caller: Caller, forMs: number): Promise<() => Promise<void>>;
}

/** Somebody's wait is over by then, as a rule. */
const RETRY_AFTER_SECONDS = 5;

export function createPatientCallers(
  placesOf: ReadonlyMap<string, HeldPlaces>,
  telemetry: Pick<Telemetry, 'log'>,
): PatientCallers {
  const tryWait: PatientCallers['tryWait'] = async (caller, kind, forMs) => {
    const release = await placesOf.get(caller.account_id)?.take(caller, kind, forMs);
    if (release === undefined) return undefined;
    return async () => {
      // A place that could not be given back is free again after its time.
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
