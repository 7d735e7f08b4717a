/** Reads open operations that the pages did not show one by one, at a rate that falls with their age. */

import { isJournalFull } from '../../../../shared/core/journal/journal.ts';
import type { WatchEndReason } from '../../../../shared/core/journal/journal-entries.ts';
import {
  decideWatchEnd,
  isOpen,
  type OperationRecord,
  statusAgeMs,
} from '../../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { UpstreamClient } from '../../../../shared/upstream/upstream-client.ts';
import { isUpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import type { OperationRecorder } from './operation-recorder.ts';
import type { Sightings } from './sightings.ts';
import { isWatchOver, VANISHED_AFTER_MS } from './watch-end.ts';
import { isReadDue } from './watch-interval.ts';

export interface UnlistedDeps {
  readonly upstream: Pick<UpstreamClient, 'getOperation'>;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

export async function readUnlisted(
  deps: UnlistedDeps,
  recorder: OperationRecorder,
  sightings: Sightings,
): Promise<void> {
  for (const record of [...recorder.records.values()].filter(isOpen)) {
    if (deps.signal?.aborted) return;
    if (!sightings.hasRead(record.operation_id)) await readOne(deps, recorder, sightings, record);
    await endWatchIfOver(deps.clock.now(), recorder, sightings, record.operation_id);
  }
}

async function readOne(
  { upstream, clock, signal }: UnlistedDeps,
  recorder: OperationRecorder,
  sightings: Sightings,
  record: OperationRecord,
): Promise<void> {
  const id = record.operation_id;
  const nowMs = clock.now();
  const lastReadMs = sightings.lastReadMs(id);
  const sinceReadMs = lastReadMs === undefined ? undefined : nowMs - lastReadMs;
  if (!isReadDue(record.status, statusAgeMs(record, nowMs), sinceReadMs)) return;
  try {
    const query = { projectId: record.project_id, operationId: id };
    const reading = await upstream.getOperation(query, signal && { signal });
    sightings.takeSingle(id);
    await recorder.recordReading(record, reading, { observedBy: 'poll', requestedMs: nowMs });
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    if (error.kind === 'not_found') await takeMissing(clock.now(), recorder, sightings, record);
    // The end of an invocation says nothing of the operation. Any other failure counts as an attempt.
    else if (error.kind !== 'cancelled') sightings.takeUnanswered(id);
  }
}

/**
 * A 404 can mean that the key may no longer see the project. The list of the project has answered at the beginning of this poll, so the 404s
 * of earlier polls are about the operation alone. The one of this poll may be the first of the whole project.
 */
async function takeMissing(
  nowMs: number,
  recorder: OperationRecorder,
  sightings: Sightings,
  record: OperationRecord,
): Promise<void> {
  const missingForMs = sightings.takeMissing(record.operation_id, nowMs);
  if (missingForMs >= VANISHED_AFTER_MS) await endWatch(nowMs, recorder, record, 'vanished');
}

/**
 * Ends the watch only after this poll has tried to read the operation: if it was answered, the operation is failed now,
 * and not only when it was last recorded. Without an answer age alone ends the watch.
 */
async function endWatchIfOver(
  nowMs: number,
  recorder: OperationRecorder,
  sightings: Sightings,
  operationId: string,
): Promise<void> {
  const record = recorder.records.get(operationId);
  if (record === undefined || !sightings.hasTried(operationId) || !isOpen(record)) return;
  if (isWatchOver(record.status, statusAgeMs(record, nowMs)))
    await endWatch(nowMs, recorder, record, 'not_retried');
}

async function endWatch(
  nowMs: number,
  recorder: OperationRecorder,
  record: OperationRecord,
  reason: WatchEndReason,
): Promise<void> {
  if (isJournalFull(record)) return;
  await recorder.recordDecision(record, decideWatchEnd(record, { reason, nowMs }));
}
