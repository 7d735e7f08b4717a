/** Open operations that the pages did not show are read one by one, at a rate that falls with their age. */

import { isJournalFull } from '../../../shared/core/records/journal.ts';
import {
  decideWatchEnd,
  isOpen,
  type OperationRecord,
  statusAgeMs,
} from '../../../shared/core/records/operation-record.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { type Poll, recordReadingOf } from './poll.ts';
import { isReadDue, isWatchOver, VANISHED_AFTER_MS } from './watch-rate.ts';

export async function readUnlisted(poll: Poll): Promise<void> {
  for (const record of [...poll.records.values()].filter(isOpen)) {
    if (poll.request.signal?.aborted) return;
    if (!poll.readIds.has(record.operation_id)) await readOne(poll, record);
    await endWatchIfOver(poll, record.operation_id);
  }
}

async function readOne(poll: Poll, record: OperationRecord): Promise<void> {
  const { upstream, clock } = poll.deps;
  const { memory, request } = poll;
  const id = record.operation_id;
  const nowMs = clock.now();
  const lastReadMs = memory.readAtMs.get(id);
  const sinceReadMs = lastReadMs === undefined ? undefined : nowMs - lastReadMs;
  if (!isReadDue(record.status, statusAgeMs(record, nowMs), sinceReadMs)) return;
  try {
    const query = { projectId: record.project_id, operationId: id };
    const reading = await upstream.getOperation(query, request.signal && { signal: request.signal });
    poll.readIds.add(id);
    memory.missingSinceMs.delete(id);
    memory.readAtMs.set(id, clock.now());
    await recordReadingOf(poll, record, reading);
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    if (error.kind === 'not_found') await noteMissing(poll, record);
  }
}

/** The list of this project answered in this very poll, so a 404 is not a lack of permission for the project. */
async function noteMissing(poll: Poll, record: OperationRecord): Promise<void> {
  const nowMs = poll.deps.clock.now();
  const missingSinceMs = poll.memory.missingSinceMs.get(record.operation_id) ?? nowMs;
  poll.memory.missingSinceMs.set(record.operation_id, missingSinceMs);
  if (nowMs - missingSinceMs >= VANISHED_AFTER_MS) await endWatch(poll, record, 'vanished');
}

/** Only after a reading of this poll that changed nothing: the operation is failed now, not just when last recorded. */
async function endWatchIfOver(poll: Poll, operationId: string): Promise<void> {
  const record = poll.records.get(operationId);
  if (record === undefined || !poll.readIds.has(operationId) || !isOpen(record)) return;
  const ageMs = statusAgeMs(record, poll.deps.clock.now());
  if (isWatchOver(record.status, ageMs)) await endWatch(poll, record, 'not_retried');
}

async function endWatch(
  poll: Poll,
  record: OperationRecord,
  reason: 'vanished' | 'not_retried',
): Promise<void> {
  if (isJournalFull(record)) return;
  const next = decideWatchEnd(record, { reason, nowMs: poll.deps.clock.now() });
  const result = await poll.deps.store.record(next, record.revision);
  if (result === 'recorded') poll.records.set(record.operation_id, next);
}
