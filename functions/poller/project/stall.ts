/** When an operation counts as stalled: open for longer than its action usually takes. */

import { isTerminal } from '../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { epochMsOf, normaliseTimestamp } from '../../../shared/core/time/timestamp.ts';

/** Thresholds per action, milliseconds, ascending; `default` for every action that has none of its own. */
export type StallThresholdsMs = Readonly<Record<string, readonly number[]>>;

export interface Stall {
  readonly threshold_ms: number;
  /** Since the upstream created the operation. */
  readonly open_ms: number;
}

/**
 * The largest threshold that the operation has passed and that no event told of; undefined when there is none. A
 * failed operation is not stalled: it waits for a retry that may never come, and its failure was told.
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
  const toldMs = record.stalled_threshold_ms ?? 0;
  const ownThresholdsMs = thresholdsMs[record.action] ?? thresholdsMs['default'] ?? [];
  const threshold_ms = ownThresholdsMs.findLast((each) => each > toldMs && each <= open_ms);
  return threshold_ms === undefined ? undefined : { threshold_ms, open_ms };
}
