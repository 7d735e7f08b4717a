/** Bounded concurrency: at most so many tasks under way, all of them awaited before the call ends. */

/** Rejects with the first error, but only after every task that was started has ended. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  tasksMax: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await task(item);
  };
  const workers = Array.from({ length: Math.min(tasksMax, items.length) }, worker);
  const results = await Promise.allSettled(workers);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
