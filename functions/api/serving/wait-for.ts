/** Runs a long poll: it reads again, at growing intervals, until a condition holds or the time is over. */

import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';

/** API Gateway gives up after 30 s, and the answer must leave before. */
export const WAIT_SECONDS_MAX = 25;

/** Routes that can wait take this query parameter, in seconds. */
export const wait = z.coerce.number().int().min(0).max(WAIT_SECONDS_MAX).default(0);

/**
 * The interval grows, because each consistent read costs a unit. It stays below a second, which people feel as "at
 * once".
 */
const FIRST_INTERVAL_MS = 100;
const INTERVAL_MS_MAX = 1_000;

export interface LongPoll<T> {
  readonly read: () => Promise<T>;
  readonly isDone: (value: T) => boolean;
  /** With 0, the first read is the answer. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Is called before the first wait. The function that it resolves to is called at the end. When it resolves to
   * undefined, nothing is waited for.
   */
  readonly beginWait: () => Promise<(() => Promise<void>) | undefined>;
}

/** Resolves to what was read last, also when the signal aborts. */
export async function waitFor<T>(poll: LongPoll<T>): Promise<T> {
  const { read, isDone, waitMs, signal, beginWait } = poll;
  const value = await read();
  if (isDone(value) || waitMs <= 0 || signal.aborted) return value;
  const endWait = await beginWait();
  if (endWait === undefined) return value;
  try {
    return await waitOn(value, poll);
  } finally {
    await endWait();
  }
}

async function waitOn<T>(first: T, poll: Omit<LongPoll<T>, 'beginWait'>): Promise<T> {
  const { read, isDone, waitMs, clock, signal } = poll;
  const untilMs = clock.now() + waitMs;
  let value = first;
  for (let intervalMs = FIRST_INTERVAL_MS; ; intervalMs = Math.min(intervalMs * 1.5, INTERVAL_MS_MAX)) {
    const leftMs = untilMs - clock.now();
    if (isDone(value) || leftMs <= 0 || signal.aborted) return value;
    await clock.sleep(Math.min(intervalMs, leftMs), signal).catch(() => {});
    value = await read();
  }
}
