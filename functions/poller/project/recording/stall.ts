/** Decides when an operation counts as stalled: it is open for longer than its action usually takes. */

import { isTerminal } from '../../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { epochMsOf, normaliseTimestamp } from '../../../../shared/core/time/timestamp.ts';

/**
 * Each action has thresholds in milliseconds, in ascending order. Those of `default` apply to every action that has
 * none of its own.
 */
export type StallThresholdsMs = Readonly<Record<string, readonly number[]>>;

export interface Stall {
  readonly threshold_ms: number;
  /** This many milliseconds have passed since the upstream created the operation. */
  readonly open_ms: number;
}

/**
 * Returns the largest threshold that the operation has passed and that no event was recorded for, or undefined when
 * there is none. A failed operation is not stalled: it waits for a retry that may never come, and its failure is
 * recorded.
 */
export function dueStall(
  record: OperationRecord,
  thresholdsMs: StallThresholdsMs,
  nowMs: number,
): Stall | undefined {
  if (isTerminal(record.status) || record.status === 'failed' || record.watch_ended) return undefined;
  const createdAt = normaliseTimestamp(record.created_at);
  if (createdAt === undefined) return undefined;
  const open_ms = nowMs - epochMsOf(createdAt);
  const recordedMs = record.stalled_threshold_ms ?? 0;
  const ownThresholdsMs = thresholdsMs[record.action] ?? thresholdsMs['default'] ?? [];
  const threshold_ms = ownThresholdsMs.findLast((each) => each > recordedMs && each <= open_ms);
  return threshold_ms === undefined ? undefined : { threshold_ms, open_ms };
}
