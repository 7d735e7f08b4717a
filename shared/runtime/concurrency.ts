/** Bounded concurrency: at most `tasksMax` tasks are under way, and all of them are awaited before the call ends. */

/**
 * Rejects with the first error, but only after every task that was started has ended. Once `signal` is aborted, no further
 * task is started. Returns whether every item was dealt with: a caller that passes a signal must look at that.
 */
export async function forEachConcurrently<T>(
  items: readonly T[],
  tasksMax: number,
  task: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<boolean> {
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
