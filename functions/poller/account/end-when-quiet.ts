/** Ends the invocation early once nothing is expected to happen soon: the next one comes with the schedule. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import { isNeeded } from '../planner/polling-need.ts';

/** An invocation is billed by the millisecond, but a look at every project in each of them would cost more than it saves. */
const LOOK_MS = 250;

export interface QuietDeps {
  readonly planner: Pick<PollPlanner, 'need'>;
  readonly clock: Clock;
  readonly limits: {
    /** How long an invocation goes on after it was last needed; undefined: to its end. */
    readonly lingerMs?: number | undefined;
  };
}

/** `isBusy`: whether the invocation has work that the planner does not know of. Aborts `stop` when it is no longer needed. */
export async function endWhenQuiet(
  { planner, clock, limits }: QuietDeps,
  stop: AbortController,
  isBusy: () => boolean,
): Promise<void> {
  const { lingerMs } = limits;
  if (lingerMs === undefined) return;
  const startedAtMs = clock.now();
  let neededAtMs = startedAtMs;
  while (!stop.signal.aborted) {
    await clock.sleep(LOOK_MS, stop.signal).catch(() => {});
    const nowMs = clock.now();
    if (isBusy() || isNeeded(planner.need(startedAtMs, nowMs))) neededAtMs = nowMs;
    else if (nowMs - neededAtMs >= lingerMs) stop.abort(new Error('Nothing is expected to happen soon'));
  }
}
