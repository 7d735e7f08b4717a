/**
 * Reads open operations that the pages did not show one by one, at a rate that falls with their age, and decides when an
 * operation is not watched any more: a failed one that was not retried, and one that has vanished.
 */

import { isJournalFull } from '../../../shared/core/journal/journal.ts';
import type { WatchEndReason } from '../../../shared/core/journal/journal-entries.ts';
import {
  decideWatchEnd,
  isOpen,
  type OperationRecord,
  statusAgeMs,
} from '../../../shared/core/records/operation-record.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/core/time/durations.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { Poll } from './poll.ts';
import type { PollDeps } from './poll-deps.ts';
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

export async function readUnlisted(deps: PollDeps, poll: Poll): Promise<void> {
  for (const record of [...poll.records.values()].filter(isOpen)) {
    if (poll.signal?.aborted) return;
    if (!poll.readIds.has(record.operation_id)) await readOne(deps, poll, record);
    await endWatchIfOver(deps, poll, record.operation_id);
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
    // The end of an invocation says nothing of the operation. Any other failure counts as an attempt.
    else if (error.kind !== 'cancelled') {
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
