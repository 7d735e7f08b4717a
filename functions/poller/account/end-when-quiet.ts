/** Ends the invocation early once nothing is expected to happen soon: the next one comes with the schedule. */

import { isNeeded } from '../planner/duty-cycle.ts';
import type { Run } from './run.ts';

/** An invocation is billed by the millisecond, but a look at every project for each of them would cost more than that. */
const LOOK_MS = 250;

export async function endWhenQuiet({ deps, stop, memory, leftovers }: Run): Promise<void> {
  const { clock, planner, limits } = deps;
  const { lingerMs } = limits;
  if (lingerMs === undefined) return;
  const startedAtMs = clock.now();
  let neededAtMs = startedAtMs;
  while (!stop.signal.aborted) {
    await clock.sleep(LOOK_MS, stop.signal).catch(() => {});
    const nowMs = clock.now();
    const isListed = memory.discoveredAtMs !== undefined;
    if (!isListed || leftovers.areDraining || isNeeded(planner.need(startedAtMs, nowMs))) neededAtMs = nowMs;
    else if (nowMs - neededAtMs >= lingerMs) stop.abort(new Error('Nothing is expected to happen soon'));
  }
}
