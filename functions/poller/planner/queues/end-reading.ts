/** Decides what the end of a reading means for its turn, and how long the turn rests after a failure. */

import type { Turn } from './turn.ts';
import { joinFirst, type TurnQueues } from './turn-queues.ts';

/** A turn rests for this long after the first of several consecutive failures. Most failures have passed by then. */
const FAILURE_BACKOFF_MS = 5_000;

export interface BackoffLimits {
  readonly pollIntervalMsMin: number;
  /** The back-off doubles with each consecutive failure, up to this time. */
  readonly failureBackoffMsMax: number;
}

export interface ReadingEnd {
  readonly hasFailed: boolean;
  readonly nowMs: number;
}

export function endReading(
  { byWeight, rests }: TurnQueues,
  turn: Turn,
  { hasFailed, nowMs }: ReadingEnd,
): void {
  turn.isUnderWay = false;
  turn.isPressing = false;
  turn.polledAtMs = nowMs;
  turn.failureCount = hasFailed ? turn.failureCount + 1 : 0;
  // The first reading of the project list is reported for a turn that was never given out.
  byWeight.leave(turn);
  rests.delete(turn);
}

/**
 * Lets a turn wait on whose reading was cut short before anything was read. Its deadline counts from its last reading, as before: otherwise a
 * project that the end of each invocation cuts short would wait for ever.
 */
export function resumeWaiting(queues: TurnQueues, turn: Turn): void {
  turn.isUnderWay = false;
  turn.isPressing = false;
  joinFirst(queues, turn);
  queues.deadlines.follow(turn, turn.polledAtMs);
}

/** Lets the turn rest and come by its weight afterwards. However many turns fail, the others keep their share. */
export function restAfterFailure(queues: TurnQueues, turn: Turn, untilMs: number): void {
  const { byWeight, rests, byUrgency, deadlines } = queues;
  deadlines.leave(turn);
  byUrgency.fulfil(turn);
  if (turn.page === undefined) byWeight.assign(turn, turn.stride);
  rests.set(turn, untilMs);
}

/** Returns the milliseconds for which a turn rests after this many consecutive failures. */
export function backoffMs(limits: BackoffLimits, failureCount: number): number {
  const firstMs = Math.max(FAILURE_BACKOFF_MS, limits.pollIntervalMsMin);
  return Math.min(firstMs * 2 ** (failureCount - 1), limits.failureBackoffMsMax);
}
