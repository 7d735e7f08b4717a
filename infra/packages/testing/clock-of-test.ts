/** Makes the clock of a simulated service in a test. */

import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';

/** At speed 0 the clock stands still. Waits take the machine's time, because a delayed answer must arrive all the same. */
export function clockOfTest(startAtMs: number, speed: number): Clock {
  const startedMs = systemClock.now();
  return { ...systemClock, now: () => startAtMs + (systemClock.now() - startedMs) * speed };
}
