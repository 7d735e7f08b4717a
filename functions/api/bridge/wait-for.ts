/** A long poll: reads again, at growing intervals, until something is so or the time is over. */

import type { Clock } from '../../../shared/runtime/clock.ts';

/** A consistent read costs a unit; a second is what people feel as at once. */
const FIRST_INTERVAL_MS = 100;
const INTERVAL_MS_MAX = 1_000;

/** What was read last; also when the signal aborts, for whoever waited has gone. */
export async function waitFor<T>(options: {
  readonly read: () => Promise<T>;
  readonly isDone: (value: T) => boolean;
  readonly waitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<T> {
  const { read, isDone, waitMs, clock, signal } = options;
  const untilMs = clock.now() + waitMs;
  for (let intervalMs = FIRST_INTERVAL_MS; ; intervalMs = Math.min(intervalMs * 1.5, INTERVAL_MS_MAX)) {
    const value = await read();
    const leftMs = untilMs - clock.now();
    if (isDone(value) || leftMs <= 0 || signal.aborted) return value;
    await clock.sleep(Math.min(intervalMs, leftMs), signal).catch(() => {});
  }
}
