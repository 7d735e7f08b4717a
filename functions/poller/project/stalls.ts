/** Records, once per threshold, that an open operation takes longer than its action usually does. */

import { isJournalFull } from '../../../shared/core/journal/journal.ts';
import type { UsualDuration } from '../../../shared/core/journal/journal-entries.ts';
import { isTerminal } from '../../../shared/core/records/operation.ts';
import { decideStall, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { HOUR_MS, MINUTE_MS } from '../../../shared/core/time/durations.ts';
import { epochMsOf, normaliseTimestamp } from '../../../shared/core/time/timestamp.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Poll } from './poll.ts';
import type { PollDeps, StallThresholdsMs } from './poll-deps.ts';
import { recordDecision } from './record-page.ts';

interface Stall {
  readonly threshold_ms: number;
  /** This many milliseconds have passed since the upstream created the operation. */
  readonly open_ms: number;
  /** The threshold rests on this. It is undefined when the threshold is a fixed one. */
  readonly usual_duration?: UsualDuration | undefined;
}

/** An operation is stalled beyond this many times the duration within which 99 of 100 of its kind end. */
const USUAL_FACTOR = 3;

/** An operation that has been open for less time than this is not worth an alert, however quick its kind usually is. */
const USUAL_THRESHOLD_MS_MIN = 5 * MINUTE_MS;

/**
 * These thresholds apply while too few operations of an action have ended to say what is usual. The slowest operation
 * seen in the public contract took five seconds.
 */
const UNKNOWN_THRESHOLDS_MS = [15 * MINUTE_MS, 2 * HOUR_MS] as const;

export async function recordStalls(deps: PollDeps, poll: Poll): Promise<void> {
  const { clock, options } = deps;
  for (const record of poll.records.values()) {
    if (poll.signal?.aborted) return;
    // An operation that this poll has not read may have ended unseen, and then it is not stalled.
    if (!poll.readIds.has(record.operation_id) || isJournalFull(record)) continue;
    const nowMs = clock.now();
    const usual = await usualOf(deps, record, nowMs);
    const stall = dueStall(record, options.stallThresholdsMs, nowMs, usual);
    if (stall !== undefined)
      await recordDecision(deps, poll, record, decideStall(record, { ...stall, nowMs }));
  }
}

/** It is read only for an operation that has been open for minutes. When it cannot be read, the next poll tries again. */
async function usualOf(
  { options, usualDurationOf, telemetry }: PollDeps,
  record: OperationRecord,
  nowMs: number,
): Promise<UsualDuration | 'unknown' | undefined> {
  if (usualDurationOf === undefined || !dependsOnUsual(record, options.stallThresholdsMs, nowMs))
    return undefined;
  const { project_id, action } = record;
  try {
    return (await usualDurationOf(project_id, action)) ?? 'unknown';
  } catch (error) {
    telemetry.log('warn', 'insights.not_read', { project_id, reason: toError(error).name });
    return undefined;
  }
}

/**
 * Returns the stall that is to be recorded of the operation, or undefined when there is none. `usual` says what its
 * action usually takes, and is `unknown` while too few operations have ended. Without it only fixed thresholds apply.
 */
function dueStall(
  record: OperationRecord,
  thresholdsMs: StallThresholdsMs,
  nowMs: number,
  usual?: UsualDuration | 'unknown',
): Stall | undefined {
  const open_ms = openMsOf(record, nowMs);
  if (open_ms === undefined) return undefined;
  const fixedMs = fixedThresholdsMs(record, thresholdsMs);
  if (fixedMs !== undefined) return passedThreshold(record, fixedMs, open_ms);
  if (usual === undefined) return undefined;
  if (usual === 'unknown') return passedThreshold(record, UNKNOWN_THRESHOLDS_MS, open_ms);
  // What is usual changes from day to day, so such a threshold is published once per operation.
  if (record.stalled_threshold_ms !== undefined) return undefined;
  const stall = passedThreshold(record, [usualThresholdMs(usual)], open_ms);
  return stall && { ...stall, usual_duration: usual };
}

/** Returns the largest of these thresholds that the operation has passed, unless an event was recorded for it. */
function passedThreshold(
  { stalled_threshold_ms: recordedMs = 0 }: OperationRecord,
  thresholdsMs: readonly number[],
  open_ms: number,
): Stall | undefined {
  const threshold_ms = thresholdsMs.findLast((each) => each > recordedMs && each <= open_ms);
  return threshold_ms === undefined ? undefined : { threshold_ms, open_ms };
}

/** Says whether the decision depends on what the action usually takes, which has to be read first. */
function dependsOnUsual(record: OperationRecord, thresholdsMs: StallThresholdsMs, nowMs: number): boolean {
  if (fixedThresholdsMs(record, thresholdsMs) !== undefined) return false;
  const openMs = openMsOf(record, nowMs) ?? 0;
  return openMs >= USUAL_THRESHOLD_MS_MIN && (record.stalled_threshold_ms ?? 0) < UNKNOWN_THRESHOLDS_MS[1];
}

/** Returns the threshold in whole seconds. */
function usualThresholdMs({ p99_ms }: Pick<UsualDuration, 'p99_ms'>): number {
  return Math.max(USUAL_THRESHOLD_MS_MIN, Math.ceil((USUAL_FACTOR * p99_ms) / 1_000) * 1_000);
}

function fixedThresholdsMs(
  { action }: OperationRecord,
  thresholdsMs: StallThresholdsMs,
): readonly number[] | undefined {
  return thresholdsMs[action] ?? thresholdsMs['default'];
}

/**
 * Returns how long the operation has been open, or undefined when it cannot be stalled. A failed operation is not
 * stalled: it waits for a retry that may never come, and its failure is recorded.
 */
function openMsOf(record: OperationRecord, nowMs: number): number | undefined {
  if (isTerminal(record.status) || record.status === 'failed' || record.watch_ended) return undefined;
  const createdAt = normaliseTimestamp(record.created_at);
  return createdAt === undefined ? undefined : nowMs - epochMsOf(createdAt);
}
