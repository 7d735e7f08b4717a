/** Makes a time that stands still while anything works, and then moves to the next timer, however busy the machine is. */

import type { Clock } from '../../../shared/runtime/clock.ts';

/** A turn of the event loop in which no port is called counts as idle; reading the body of an answer takes a few of them. */
const IDLE_TURNS = 6;

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

export interface VirtualTime {
  readonly clock: Clock;
  /** Runs the task at that instant. Tasks of one instant run in the order in which they were given. */
  at(atMs: number, task: () => void): void;
  /** Keeps time where it is until the work has ended or waits for a timer. */
  work<Result>(perform: () => Promise<Result>): Promise<Result>;
  /** Keeps time where it is until the task has ended, however long it takes. It must not wait for a timer. */
  hold(task: () => Promise<void>): Promise<void>;
  runUntil(untilMs: number): Promise<void>;
}

export function createVirtualTime(startMs: number): VirtualTime {
  let nowMs = startMs;
  const state = { signs: 0, working: 0, holding: 0 };
  let timers: readonly Timer[] = [];

  const at = (atMs: number, fire: () => void): Timer => {
    state.signs += 1;
    const timer = { atMs, fire };
    const place = timers.findIndex((one) => one.atMs > atMs);
    timers = place < 0 ? [...timers, timer] : timers.toSpliced(place, 0, timer);
    return timer;
  };

  const settle = async (): Promise<void> => {
    for (let idle = 0; state.holding > 0 || (state.working > 0 && idle < IDLE_TURNS); ) {
      const before = state.signs;
      await new Promise((resolve) => setImmediate(resolve));
      idle = state.signs === before ? idle + 1 : 0;
    }
  };

  return {
    at: (atMs, task) => void at(atMs, task),
    clock: {
      now: () => nowMs,
      sleep: (durationMs, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason);
          const timer = at(nowMs + durationMs, resolve);
          signal?.addEventListener('abort', () => {
            timers = timers.filter((one) => one !== timer);
            reject(signal.reason);
          });
        }),
    },
    async work(perform) {
      state.working += 1;
      state.signs += 1;
      try {
        return await perform();
      } finally {
        state.working -= 1;
        state.signs += 1;
      }
    },
    async hold(task) {
      state.holding += 1;
      try {
        await task();
      } finally {
        state.holding -= 1;
        state.signs += 1;
      }
    },
    async runUntil(untilMs) {
      for (;;) {
        await settle();
        const [next, ...others] = timers;
        if (next === undefined || next.atMs > untilMs) break;
        timers = others;
        nowMs = Math.max(nowMs, next.atMs);
        next.fire();
      }
      nowMs = untilMs;
    },
  };
}
