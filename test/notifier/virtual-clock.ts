/** Makes a clock whose time moves from one timer to the next as soon as nothing else can happen. */

import type { Clock } from '../../shared/runtime/clock.ts';

export interface VirtualClock extends Clock {
  /** Runs all timers up to this instant. */
  runUntil(untilMs: number): Promise<void>;
  /** Starts the task at that instant. */
  at(atMs: number, task: () => void): void;
}

/**
 * The event loop turns this many times between two timers, because reading the body of an answer takes a few turns.
 */
const TURNS_UNTIL_IDLE = 3;

export function createVirtualClock(startMs: number): VirtualClock {
  let nowMs = startMs;
  let count = 0;
  const timers = new Map<number, { readonly atMs: number; readonly fire: () => void }>();
  const at = (atMs: number, fire: () => void): number => {
    const id = ++count;
    timers.set(id, { atMs, fire });
    return id;
  };
  return {
    now: () => nowMs,
    at: (atMs, task) => void at(atMs, task),
    sleep: (durationMs, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const id = at(nowMs + durationMs, resolve);
        signal?.addEventListener('abort', () => {
          timers.delete(id);
          reject(signal.reason);
        });
      }),
    async runUntil(untilMs) {
      for (;;) {
        for (let turn = 0; turn < TURNS_UNTIL_IDLE; turn++)
          await new Promise((resolve) => setImmediate(resolve));
        const [first] = [...timers].toSorted(([a, x], [b, y]) => x.atMs - y.atMs || a - b);
        if (first === undefined || first[1].atMs > untilMs) break;
        nowMs = Math.max(nowMs, first[1].atMs);
        timers.delete(first[0]);
        first[1].fire();
      }
      nowMs = untilMs;
    },
  };
}
