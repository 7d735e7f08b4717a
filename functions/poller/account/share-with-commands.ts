/** Commands through the API spend the same rate limit: what they have sent since the last look is taken out of the poller's bucket. */

import { USAGE_LOOK_MS, unknownCommandsMax } from '../../../shared/core/rates/account-rate.ts';
import type { Run } from './run.ts';

export async function shareWithCommands({
  deps,
  memory,
  stop,
}: Pick<Run, 'deps' | 'memory' | 'stop'>): Promise<void> {
  const { clock, budget, commands } = deps;
  if (commands === undefined) return;
  const unknownMax = unknownCommandsMax(commands.requestsPerMinute);
  // What was sent long before this invocation or this process is in nobody's minute any more.
  let newMax = unknownMax;
  let assumedCount = 0;
  while (!stop.signal.aborted) {
    try {
      const sentCount = await commands.sentCount();
      const newCount = sentCount - (memory.commandCount ?? 0) - assumedCount;
      budget.charge(Math.min(newMax, Math.max(0, newCount)));
      memory.commandCount = sentCount;
      assumedCount = 0;
      newMax = Number.POSITIVE_INFINITY;
    } catch {
      // The table is busy, and meanwhile commands may use all of their part.
      const perLook = Math.ceil((commands.requestsPerMinute * USAGE_LOOK_MS) / 60_000);
      budget.charge(perLook);
      assumedCount += perLook;
    }
    await clock.sleep(USAGE_LOOK_MS, stop.signal).catch(() => {});
  }
}
