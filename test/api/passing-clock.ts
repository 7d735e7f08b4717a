/** Virtual clocks that move on by themselves: while a request is under way, or with every look. */

import type { Clock } from '../../shared/runtime/clock.ts';
import { createScheduler } from '../simulation/scheduler.ts';

/** Time moves in steps of this length until the request is answered. */
const STEP_MS = 10;

/** Makes a clock that stands still but for `pass` and `during`, so that what waits in a request goes on in its order. */
export function passingClock(startMs: number) {
  const scheduler = createScheduler(startMs);
  const pass = (durationMs: number) => scheduler.runUntil(scheduler.now() + durationMs);
  return {
    clock: scheduler.clockOf({ name: 'api', isCrashed: false, clockSkewMs: 0 }),
    pass,
    /** Lets time pass until the task has ended, and resolves or rejects as it does. */
    during: async <T>(task: Promise<T>): Promise<T> => {
      const seen = { isOver: false };
      const over = () => {
        seen.isOver = true;
      };
      void task.then(over, over);
      while (!seen.isOver) await pass(STEP_MS);
      return task;
    },
  };
}

/** Makes a clock that moves on so far with every look, so that no limit of requests a minute is met. */
export function hastyClock(stepMs: number): Clock {
  let nowMs = Date.UTC(2026, 0, 15);
  return {
    now() {
      nowMs += stepMs;
      return nowMs;
    },
    sleep: async () => {},
  };
}
