/** Counts by name how many tasks are running. */

export interface RunningCounts {
  countOf(name: string): number;
  /** Counts the task under this name until it has ended, well or not. */
  during<T>(name: string, task: Promise<T>): Promise<T>;
}

export function createRunningCounts(): RunningCounts {
  const counts = new Map<string, number>();
  const countOf = (name: string) => counts.get(name) ?? 0;
  return {
    countOf,
    async during(name, task) {
      counts.set(name, countOf(name) + 1);
      try {
        return await task;
      } finally {
        counts.set(name, countOf(name) - 1);
        if (countOf(name) === 0) counts.delete(name);
      }
    },
  };
}
