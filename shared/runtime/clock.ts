/** Passes time as a dependency: production passes `systemClock`, the simulation and the tests pass their own. */

export interface Clock {
  /** Returns milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `durationMs`, or rejects with the signal's reason as soon as it aborts. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
}

/** A timer of Node takes at most 25 days, because it holds 31 bits. A longer one would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (durationMs, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let timer: NodeJS.Timeout;
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const wait = (restMs: number) => {
        const partMs = Math.min(restMs, TIMER_MS_MAX);
        timer = setTimeout(() => (restMs > partMs ? wait(restMs - partMs) : onEnd()), partMs);
      };
      const onEnd = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      wait(durationMs);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};
