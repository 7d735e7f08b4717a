/** Time that runs faster than it is: one hour in six minutes at speed ten. */

import { type Clock, systemClock } from '../../shared/runtime/clock.ts';

/** `originMs` is the instant at which both clocks agree; processes that share it agree with each other. */
export function scaledClock(speed: number, originMs: number, base: Clock = systemClock): Clock {
  if (speed === 1) return base;
  return {
    now: () => originMs + (base.now() - originMs) * speed,
    sleep: (durationMs, signal) => base.sleep(durationMs / speed, signal),
  };
}
