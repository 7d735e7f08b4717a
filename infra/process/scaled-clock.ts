/** Makes a clock that runs faster than real time. At speed ten, one hour takes six minutes. */

import { type Clock, systemClock } from '../../shared/runtime/clock.ts';

/** Both clocks agree at the instant `originMs`, so processes that share it agree with each other. */
export function scaledClock(speed: number, originMs: number, base: Clock = systemClock): Clock {
  if (speed === 1) return base;
  return {
    now: () => originMs + (base.now() - originMs) * speed,
    sleep: (durationMs, signal) => base.sleep(durationMs / speed, signal),
  };
}
