/** Bounds what runs at the same time and what is waited for: tasks, waiting that ends with a signal, and calls of AWS. Nothing is left behind at a signal that outlives the tasks. */

import type { Clock } from './clock.ts';

/**
 * Runs at most `tasksMax` tasks at once. Rejects with the first error, after every task that was started has ended.
 * Once `signal` is aborted, no further task is started. Resolves to whether every item was dealt with, which a caller
 * that passes a signal must check.
 */
export async function forEachConcurrently<T>(
  items: readonly T[],
  tasksMax: number,
  task: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
  if (items.length === 0) return true;
  let isCutShort = false;
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) {
      isCutShort ||= signal?.aborted === true;
      if (isCutShort) return;
      await task(item);
    }
  };
  const workers = Array.from({ length: Math.min(tasksMax, items.length) }, worker);
  const results = await Promise.allSettled(workers);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return !isCutShort;
}

/**
 * Returns a controller that aborts together with `signal`, and may be aborted before it. The listener is removed by
 * hand, because Node keeps everything that a listener with the option `signal` can reach until that signal aborts.
 * A long run uses this and not `AbortSignal.any`: with that, one run in thirty went on after its end on Node 24.
 */
export function stoppedBy(signal: AbortSignal): AbortController {
  const stop = new AbortController();
  if (signal.aborted) stop.abort(signal.reason);
  const stopToo = () => stop.abort(signal.reason);
  signal.addEventListener('abort', stopToo, { once: true });
  stop.signal.addEventListener('abort', () => signal.removeEventListener('abort', stopToo), { once: true });
  return stop;
}

/** A reason of one's own would record its stack at the end of every sleep. */
const OVER = new Error('The sleep is over');

/** Resolves after `durationMs`, or earlier when `until` resolves or the signal aborts. */
export async function sleepUntil(
  until: Promise<unknown>,
  clock: Clock,
  durationMs: number,
  signal: AbortSignal,
): Promise<void> {
  const stop = stoppedBy(signal);
  await Promise.race([clock.sleep(durationMs, stop.signal).catch(() => {}), until]);
  stop.abort(OVER);
}

/**
 * Resolves as the task does, or to undefined as soon as the signal aborts. From then on nobody waits for the task, and its
 * failure is nobody's.
 */
export async function untilStopped<T>(task: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = () => resolve(undefined);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([task, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The slowest call that was seen to end took a second, and the SDK tries twice more. */
export const CALLS_END = {
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
} as const;
