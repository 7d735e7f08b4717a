/** Ends the invocation early once nothing is expected to happen soon. The next invocation comes with the schedule. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import { isNeeded } from '../planner/poll-planner.ts';

/**
 * The need for the invocation is derived this often. It is billed by the millisecond, but looking more often would
 * cost more than it saves.
 */
const LOOK_MS = 250;

export interface QuietDeps {
  readonly planner: Pick<PollPlanner, 'need'>;
  readonly clock: Clock;
  readonly limits: {
    /** An invocation goes on for this long after it was last needed. When this is undefined, it goes on to its end. */
    readonly lingerMs?: number | undefined;
  };
}

/**
 * Aborts `stop` when the invocation is no longer needed. `isBusy` says whether it has work that the planner does not
 * know of.
 */
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
