/** Commands through the API spend the same rate limit: what they have sent since the last look is taken out of the poller's bucket. */

import { USAGE_LOOK_MS, unknownCommandsMax } from '../../../../shared/core/rates/account-rate.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { PollerBudget } from '../../../../shared/upstream/request-budget.ts';

interface CommandsPort {
  /** How many requests commands have ever sent for this account. */
  sentCount(): Promise<number>;
  /** The part of the rate limit that is reserved for commands. */
  readonly requestsPerMinute: number;
}

export interface SharingDeps {
  /** Who spends the same rate limit through the API; undefined: nothing does. */
  readonly commands?: CommandsPort | undefined;
  readonly budget: Pick<PollerBudget, 'charge'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a warm environment keeps: how many requests commands had sent at the last look; undefined: there was none. */
export interface CommandCount {
  sentCount: number | undefined;
}

export async function shareWithCommands(
  { commands, budget, clock, signal }: SharingDeps,
  known: CommandCount,
): Promise<void> {
  if (commands === undefined) return;
  // What was sent long before this invocation or this process no longer counts against any minute.
  let newMax = unknownCommandsMax(commands.requestsPerMinute);
  let assumedCount = 0;
  while (!signal.aborted) {
    try {
      const sentCount = await commands.sentCount();
      const newCount = sentCount - (known.sentCount ?? 0) - assumedCount;
      budget.charge(Math.min(newMax, Math.max(0, newCount)));
      known.sentCount = sentCount;
      assumedCount = 0;
      newMax = Number.POSITIVE_INFINITY;
    } catch {
      // The table is busy, and meanwhile commands may use all of their part.
      const perLook = Math.ceil((commands.requestsPerMinute * USAGE_LOOK_MS) / 60_000);
      budget.charge(perLook);
      assumedCount += perLook;
    }
    await clock.sleep(USAGE_LOOK_MS, signal).catch(() => {});
  }
}
