/** Ends what has taken as long as it may, and makes a clock that runs faster than real time. */

import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { stoppedBy } from '../../shared/runtime/concurrency.ts';

/** Aborts with `signal`, or after the duration. `AbortSignal.timeout` would fire at once for more than 25 days. */
export function withDeadline(signal: AbortSignal, durationMs: number | undefined, clock: Clock): AbortSignal {
  if (durationMs === undefined) return signal;
  const over = stoppedBy(signal);
  const end = () => over.abort(new Error('the time of --for is over'));
  void clock.sleep(durationMs, signal).then(end, () => {});
  return over.signal;
}

/**
 * Hands the work a signal that aborts with `signal`, or with a `TimeoutError` after the duration. The time is that of the
 * clock, and nothing goes on waiting for it once the work has ended.
 */
export async function within<Result>(
  durationMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const [over, ended] = [new AbortController(), new AbortController()];
  const end = () => over.abort(new DOMException('it took too long', 'TimeoutError'));
  void clock.sleep(durationMs, AbortSignal.any([signal, ended.signal])).then(end, () => {});
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } finally {
    ended.abort();
  }
}

/** Both clocks agree at the instant `originMs`, so processes that share it agree with each other. */
export function scaledClock(speed: number, originMs: number, base: Clock = systemClock): Clock {
  if (speed === 1) return base;
  return {
    now: () => originMs + (base.now() - originMs) * speed,
    sleep: (durationMs, signal) => base.sleep(durationMs / speed, signal),
  };
}
