/**
 * Derives how near a lane is to what one process can do, and what people should do about it. A lane that has too much to
 * do polls late and loses nothing.
 */

/** One invocation of a lane was measured. */
export interface LaneLoad {
  /** The event loop was late by at most this in 99 of 100 cases, in milliseconds. */
  readonly eventLoopDelayMs: number;
  /** The poller of an account woke up at most this late to decide what to poll, in 99 of 100 cases, in milliseconds. */
  readonly lateDecisionMs: number;
  /** The process had this much memory at the end, in megabytes. */
  readonly memoryMb: number;
}

/** A call of the upstream takes about this long, so a delay of this length is as bad as a second call for each poll. */
export const EVENT_LOOP_DELAY_MS_MAX = 200;

/** A transition is found this much later than planned. People notice a second. */
export const LATE_DECISION_MS_MAX = 1_000;

/** Lambda ends a process that needs more than all of its memory, and the last tenth fills up within minutes. */
const MEMORY_SHARE_MAX = 0.9;

/** Returns the load as a percentage of the bound that is nearest. More than 100 is too much. */
export function loadPercentOf(load: LaneLoad, memoryLimitMb: number | undefined): number {
  const shares = [
    load.eventLoopDelayMs / EVENT_LOOP_DELAY_MS_MAX,
    load.lateDecisionMs / LATE_DECISION_MS_MAX,
    memoryLimitMb === undefined ? 0 : load.memoryMb / (MEMORY_SHARE_MAX * memoryLimitMb),
  ];
  return Math.round(100 * Math.max(...shares));
}

export type LaneAdvice =
  | { readonly kind: 'none' }
  /** This account alone does much of the work of the lane. */
  | { readonly kind: 'pin_account'; readonly accountId: string }
  | { readonly kind: 'add_lane' }
  /** The lane has one account already, so only a larger function helps. */
  | { readonly kind: 'add_memory' };

/** An account that does more of the lane's polls than this leaves too little to move away with the others. */
const LARGE_SHARE = 0.5;

/** `pollCounts` has the polls of each account in the invocation. */
export function adviseLane(loadPercent: number, pollCounts: ReadonlyMap<string, number>): LaneAdvice {
  if (loadPercent <= 100) return { kind: 'none' };
  if (pollCounts.size <= 1) return { kind: 'add_memory' };
  const total = [...pollCounts.values()].reduce((sum, count) => sum + count, 0);
  const [largest] = [...pollCounts].toSorted(([, a], [, b]) => b - a);
  if (largest !== undefined && largest[1] > LARGE_SHARE * total)
    return { kind: 'pin_account', accountId: largest[0] };
  return { kind: 'add_lane' };
}
