/** Runs tasks with bounded concurrency, and awaits all of them before the call ends. */

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
