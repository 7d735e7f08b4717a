/**
 * Passes nudges on to the accounts of a lane. One small read a second is all that the lane spends on accounts for
 * which nothing is to be done.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { untilStopped } from '../../../shared/runtime/stopped-by.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';

/** A command makes its project hot about a second after it was recorded. */
const LOOK_MS = 1_000;

/** While the table cannot be read the lane looks less often. Nothing is lost: the next look reads what it has missed. */
const FAILED_LOOK_MS = 5_000;

export interface NudgeWatchDeps {
  readonly nudges: { read(): Promise<readonly string[]> };
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/**
 * Calls `onNudge` with the account of each nudge, also of accounts of other lanes, until `signal` aborts. A read that is under
 * way then is not waited for.
 */
export async function watchNudges(
  { nudges, clock, telemetry }: NudgeWatchDeps,
  onNudge: (accountId: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let lookMs = LOOK_MS;
    try {
      for (const accountId of (await untilStopped(nudges.read(), signal)) ?? []) onNudge(accountId);
    } catch (error) {
      lookMs = FAILED_LOOK_MS;
      telemetry.log('warn', 'nudges.not_read', { reason: toError(error).name });
    }
    await clock.sleep(lookMs, signal).catch(() => {});
  }
}
