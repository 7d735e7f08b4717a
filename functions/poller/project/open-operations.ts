/**
 * Reads open operations that the pages did not show one by one, at a rate that falls with their age, decides when an
 * operation is no longer watched, and records, once per threshold, that an open operation takes longer than its
 * action usually does.
 */

import { isJournalFull } from '../../../shared/records/journal.ts';
import type { UsualDuration, WatchEndReason } from '../../../shared/records/journal-entries.ts';
import {
  decideStall,
  decideWatchEnd,
  isOpen,
  type OperationRecord,
  type Stall,
  statusAgeMs,
} from '../../../shared/records/operation-record.ts';
import { DAY_MS, epochMsOf, HOUR_MS, MINUTE_MS, normaliseTimestamp } from '../../../shared/records/time.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { Poll, PollDeps } from './poll.ts';
import { recordDecision, recordReading } from './record-page.ts';

/** A failed operation that was not retried for this long is not watched any more, and an event says so. */
export const FAILED_WATCH_MS_MAX = 30 * DAY_MS;

/**
 * An operation counts as vanished after two 404 answers at least this far apart, since a single one can be a passing
 * refusal, and one more after the list of its project has answered again.
 */
const VANISHED_AFTER_MS = MINUTE_MS;

/**
 * A failed operation may be retried hours later ("States and transitions"), so it is watched at a falling rate: a few
 * dozen of them at a constant rate would use up the whole rate limit. Any other open operation is expected to change
 * soon after it began.
 */
const WATCH_STEPS = {
  failed: [
    { untilAgeMs: HOUR_MS, intervalMs: MINUTE_MS },
    { untilAgeMs: DAY_MS, intervalMs: 10 * MINUTE_MS },
  ],
  moving: [
    { untilAgeMs: 10 * MINUTE_MS, intervalMs: 5_000 },
    { untilAgeMs: HOUR_MS, intervalMs: MINUTE_MS },
    { untilAgeMs: DAY_MS, intervalMs: 10 * MINUTE_MS },
  ],
} as const;

/** Beyond the last step an operation is read this often. */
const LAST_INTERVAL_MS = HOUR_MS;

/**
 * Watches the open operations one after the other: those first that the pages have shown, and then those that were read
 * longest ago, so that one that never answers stops no other. What one of them needs is recorded before the next one is
 * read, because with few requests a minute the end of the invocation comes in between.
 * After a list that failed, `readsUnlisted` is false, and no further request is spent on the project.
 */
export async function watchOpen(deps: PollDeps, poll: Poll, readsUnlisted: boolean): Promise<void> {
  const isRead = ({ operation_id }: OperationRecord) => poll.readIds.has(operation_id);
  const waitsSinceMs = (record: OperationRecord) =>
    isRead(record) ? -1 : (poll.memory.readAtMs.get(record.operation_id) ?? 0);
  const open = [...poll.records.values()].filter(isOpen);
  for (const record of open.toSorted((a, b) => waitsSinceMs(a) - waitsSinceMs(b))) {
    if (poll.signal?.aborted) return;
    if (readsUnlisted) {
      if (!isRead(record)) await readOne(deps, poll, record);
      await endWatchIfOver(deps, poll, record.operation_id);
    }
    await recordStall(deps, poll, record.operation_id);
  }
}

async function readOne(deps: PollDeps, poll: Poll, record: OperationRecord): Promise<void> {
  const { upstream, clock } = deps;
  const { memory, signal } = poll;
  const { operation_id: operationId, project_id: projectId } = record;
  const requestedMs = clock.now();
  if (!isReadDue(record, requestedMs, memory.readAtMs.get(operationId))) return;
  try {
    const reading = await upstream.getOperation({ projectId, operationId }, signal && { signal });
    memory.readAtMs.set(operationId, clock.now());
    memory.missing.delete(operationId);
    poll.readIds.add(operationId);
    await recordReading(deps, poll, record, reading, { observer: 'poll', requestedMs });
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    if (error.kind === 'not_found') await takeMissing(deps, poll, record);
    // The end of an invocation says nothing of the operation. Any other failure counts as an attempt, and parts two 404s.
    else if (error.kind !== 'cancelled') {
      memory.missing.delete(operationId);
      poll.triedIds.add(operationId);
      memory.readAtMs.set(operationId, clock.now());
    }
  }
}

/** `readAtMs` is when the process has last read the operation or has tried to, and undefined when that is unknown. */
function isReadDue(record: OperationRecord, nowMs: number, readAtMs: number | undefined): boolean {
  if (readAtMs === undefined) return true;
  const steps = record.status === 'failed' ? WATCH_STEPS.failed : WATCH_STEPS.moving;
  const ageMs = statusAgeMs(record, nowMs);
  const intervalMs = steps.find(({ untilAgeMs }) => ageMs < untilAgeMs)?.intervalMs ?? LAST_INTERVAL_MS;
  return nowMs - readAtMs >= intervalMs;
}

/**
 * A 404 can mean that the key may no longer see the project. The list of the project has answered at the beginning of
 * this poll, so the 404s of earlier polls are about the operation alone. The one of this poll may be the first of the
 * whole project.
 */
async function takeMissing(deps: PollDeps, poll: Poll, record: OperationRecord): Promise<void> {
  const nowMs = deps.clock.now();
  const { missing } = poll.memory;
  const { firstMs, lastMs } = missing.get(record.operation_id) ?? { firstMs: nowMs, lastMs: nowMs };
  missing.set(record.operation_id, { firstMs, lastMs: nowMs });
  if (lastMs - firstMs >= VANISHED_AFTER_MS) await endWatch(deps, poll, record, 'vanished');
}

/**
 * Ends the watch only after this poll has tried to read the operation: if it was answered, the operation is failed now,
 * and not only when it was last recorded. Without an answer age alone ends the watch.
 */
async function endWatchIfOver(deps: PollDeps, poll: Poll, operationId: string): Promise<void> {
  const record = poll.records.get(operationId);
  const isTried = poll.readIds.has(operationId) || poll.triedIds.has(operationId);
  if (record === undefined || !isTried || !isOpen(record) || record.status !== 'failed') return;
  if (statusAgeMs(record, deps.clock.now()) >= FAILED_WATCH_MS_MAX)
    await endWatch(deps, poll, record, 'not_retried');
}

async function endWatch(
  deps: PollDeps,
  poll: Poll,
  record: OperationRecord,
  reason: WatchEndReason,
): Promise<void> {
  if (isJournalFull(record)) return;
  const next = decideWatchEnd(record, { reason, nowMs: deps.clock.now() });
  await recordDecision(deps, poll, record, next);
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

async function recordStall(deps: PollDeps, poll: Poll, operationId: string): Promise<void> {
  const record = poll.records.get(operationId);
  // An operation that this poll has not read may have ended unseen, and then it is not stalled.
  if (record === undefined || !poll.readIds.has(operationId) || isJournalFull(record)) return;
  const nowMs = deps.clock.now();
  const stall = await dueStall(deps, record, nowMs);
  if (stall !== undefined) await recordDecision(deps, poll, record, decideStall(record, { ...stall, nowMs }));
}

/**
 * Resolves to the stall that is to be recorded of the operation, or to undefined when there is none. What its action usually takes
 * is read only for an operation that has been open for minutes; when it cannot be read, the next poll tries again.
 */
async function dueStall(
  { options: { stallThresholdsMs }, usualDurationOf, telemetry }: PollDeps,
  record: OperationRecord,
  nowMs: number,
): Promise<Stall | undefined> {
  const { project_id, action, stalled_threshold_ms: recordedMs = 0 } = record;
  const open_ms = openMsOf(record, nowMs);
  if (open_ms === undefined) return undefined;
  const fixedMs = stallThresholdsMs[action] ?? stallThresholdsMs['default'];
  if (fixedMs !== undefined) return passedThreshold(fixedMs, recordedMs, open_ms);
  if (open_ms < USUAL_THRESHOLD_MS_MIN || recordedMs >= UNKNOWN_THRESHOLDS_MS[1]) return undefined;
  try {
    const usual_duration = await usualDurationOf(project_id, action);
    if (usual_duration === undefined) return passedThreshold(UNKNOWN_THRESHOLDS_MS, recordedMs, open_ms);
    // What is usual changes from day to day, so such a threshold is published once per operation.
    if (recordedMs > 0) return undefined;
    const stall = passedThreshold([usualThresholdMs(usual_duration)], recordedMs, open_ms);
    return stall && { ...stall, usual_duration };
  } catch (error) {
    telemetry.log('warn', 'insights.not_read', { project_id, reason: toError(error).name });
    return undefined;
  }
}

/** Returns the largest of these thresholds that the operation has passed, unless an event was recorded for it. */
function passedThreshold(
  thresholdsMs: readonly number[],
  recordedMs: number,
  open_ms: number,
): Stall | undefined {
  const threshold_ms = thresholdsMs.findLast((each) => each > recordedMs && each <= open_ms);
  return threshold_ms === undefined ? undefined : { threshold_ms, open_ms };
}

/** Returns the threshold in milliseconds, rounded up to a whole second. */
function usualThresholdMs({ p99_ms }: UsualDuration): number {
  return Math.max(USUAL_THRESHOLD_MS_MIN, Math.ceil((USUAL_FACTOR * p99_ms) / 1_000) * 1_000);
}

/**
 * Returns how long the operation has been open, or undefined when it cannot be stalled. A failed operation is not
 * stalled: it waits for a retry that may never come, and its failure is recorded.
 */
function openMsOf(record: OperationRecord, nowMs: number): number | undefined {
  if (!isOpen(record) || record.status === 'failed') return undefined;
  const createdAt = normaliseTimestamp(record.created_at);
  return createdAt === undefined ? undefined : nowMs - epochMsOf(createdAt);
}
