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
  /** Called before the first wait; what it gives is called at the end. */
  readonly beginWait: () => Promise<() => Promise<void>>;
}): Promise<T> {
  const { read, isDone, waitMs, beginWait } = options;
  const value = await read();
  if (isDone(value) || waitMs <= 0 || options.signal.aborted) return value;
  const endWait = await beginWait();
  try {
    return await waitOn(value, options);
  } finally {
    await endWait();
  }
}

async function waitOn<T>(first: T, options: Omit<Parameters<typeof waitFor<T>>[0], 'beginWait'>): Promise<T> {
  const { read, isDone, waitMs, clock, signal } = options;
  const untilMs = clock.now() + waitMs;
  let value = first;
  for (let intervalMs = FIRST_INTERVAL_MS; ; intervalMs = Math.min(intervalMs * 1.5, INTERVAL_MS_MAX)) {
    const leftMs = untilMs - clock.now();
    if (isDone(value) || leftMs <= 0 || signal.aborted) return value;
    await clock.sleep(Math.min(intervalMs, leftMs), signal).catch(() => {});
    value = await read();
  }
}
