/** Ends the invocation early once nothing is expected to happen soon. The next invocation comes with the schedule. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import type { PollingNeed, PollPlanner } from '../planner/poll-planner.ts';

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

/** Below one transition in a minute, the next invocation usually comes before the transition does. */
const EXPECTED_PER_MS_MIN = 1 / 60_000;

/**
 * An invocation is billed by the millisecond, and the next one begins within a minute. So it goes on only while a transition is
 * expected before that, and for a configured time longer (docs, "How soon a transition is seen").
 */
export function isNeeded(need: PollingNeed): boolean {
  return !need.hasReadAll || need.hasWork || need.expectedTransitionsPerMs >= EXPECTED_PER_MS_MIN;
}
