/** A clock that moves only when a test says so, with the waits that stand on it. */

import type { Clock } from '../../shared/runtime/clock.ts';

/** Makes a clock that stands still until `pass` is called. */
export function stoppedClock() {
  let nowMs = Date.UTC(2026, 0, 15, 12);
  const sleepers = new Set<() => void>();
  const clock: Clock = {
    now: () => nowMs,
    sleep: (durationMs, signal) =>
      new Promise((resolve, reject) => {
        const untilMs = nowMs + durationMs;
        const look = () => {
          if (nowMs < untilMs) return;
          sleepers.delete(look);
          resolve();
        };
        sleepers.add(look);
        const onAbort = () => {
          sleepers.delete(look);
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
  };
  const pass = async (durationMs: number) => {
    nowMs += durationMs;
    for (const look of sleepers) look();
  };
  return { clock, pass, sleepers };
}
