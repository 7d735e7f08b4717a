/** Ends a run that has a given length. */

import type { Clock } from '../../shared/runtime/clock.ts';

/** Aborts with `signal`, or after the duration. `AbortSignal.timeout` would fire at once for more than 25 days. */
export function withDeadline(signal: AbortSignal, durationMs: number | undefined, clock: Clock): AbortSignal {
  if (durationMs === undefined) return signal;
  const over = new AbortController();
  const end = () => over.abort(new Error('the time of --for is over'));
  void clock.sleep(durationMs, signal).then(end, () => {});
  return AbortSignal.any([signal, over.signal]);
}
