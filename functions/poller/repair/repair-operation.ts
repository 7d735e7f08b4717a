/**
 * Repairs one operation by the protocol of a poll: the store is read first and the upstream second, the damaged record
 * is restored, and a change that the upstream shows is recorded like any other. A crash between the two writes leaves a
 * restored record whose events are in the work index.
 */

import type { Operation } from '../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { type Restoration, restoreRecord } from '../../../shared/core/records/restored-record.ts';
import type { RelayLedger } from '../../../shared/protocol/relay-ledger.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { RecordResult } from '../../../shared/store/adapters/record-result.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { OperationRecorder } from '../project/recording/operation-recorder.ts';

export interface RepairOperationDeps {
  readonly store: {
    readOperation(projectId: string, operationId: string): Promise<OperationRecord | undefined>;
    readBrokenOperation(projectId: string, operationId: string): Promise<OperationRecord | undefined>;
    record(next: OperationRecord, expectedRevision: number | undefined): Promise<RecordResult>;
  };
  readonly upstream: Pick<UpstreamClient, 'getOperation'>;
  readonly clock: Clock;
  readonly ledger?: Pick<RelayLedger, 'forget'> | undefined;
  /** Says whether the operation is history, which may have been recorded silently. */
  readonly isHistory: (operation: Operation) => boolean;
  readonly signal?: AbortSignal | undefined;
}

export type RepairOutcome =
  | { readonly kind: 'sound' | 'repaired' }
  /** No later reading can restore this. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** The upstream or the table gave no answer, so the page must be read again. */
  | { readonly kind: 'unresolved' };

/** Two pollers that race for one operation need two attempts; two more allow for throttled writes. */
const ATTEMPTS_MAX = 4;

const UNREADABLE =
  'This version of the bridge cannot read the item. Restore the item from a backup, or run the version that wrote it.';

/** Rejects when the table cannot be read. */
export async function repairOperation(
  deps: RepairOperationDeps,
  recorder: Pick<OperationRecorder, 'recordReading' | 'note'>,
  row: Operation,
): Promise<RepairOutcome> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const found = await readDamaged(deps, row);
    if ('kind' in found) return found;
    const { recorded, reading, requestedMs } = found;
    const restoration: Restoration =
      recorded === undefined
        ? { record: undefined, lostSequences: [] }
        : restoreRecord(recorded, reading, deps.isHistory(reading));
    const { record: restored, lostSequences } = restoration;
    if (restored !== undefined && !(await isWritten(deps, restored, recorded?.revision))) continue;
    if (restored !== undefined) recorder.note(restored);
    if (lostSequences.length > 0) return { kind: 'lost', reason: reasonOf(lostSequences) };
    const outcome = await recorder.recordReading(restored ?? recorded, reading, {
      observedBy: 'sweep',
      requestedMs,
    });
    if (outcome.kind === 'unresolved') return { kind: 'unresolved' };
    if (outcome.kind === 'unreadable') return { kind: 'lost', reason: UNREADABLE };
    return { kind: restored !== undefined || outcome.kind === 'recorded' ? 'repaired' : 'sound' };
  }
  return { kind: 'unresolved' };
}

interface OrderedReading {
  readonly recorded: OperationRecord | undefined;
  readonly reading: Operation;
  readonly requestedMs: number;
}

/** Reads the record first, because the opposite order could overwrite a newer state with an older reading (ADR 0002). */
async function readDamaged(
  { store, upstream, clock, signal }: RepairOperationDeps,
  { project_id, id }: Operation,
): Promise<OrderedReading | RepairOutcome> {
  const recorded = await store.readOperation(project_id, id).catch(async (error: unknown) => {
    if (!isUnreadable(error)) throw error;
    return (await store.readBrokenOperation(project_id, id)) ?? 'unreadable';
  });
  if (recorded === 'unreadable') return { kind: 'lost', reason: UNREADABLE };
  try {
    const query = { projectId: project_id, operationId: id };
    const requestedMs = clock.now();
    return { recorded, requestedMs, reading: await upstream.getOperation(query, signal && { signal }) };
  } catch (error) {
    if (isUpstreamError(error)) return { kind: 'unresolved' };
    throw error;
  }
}

/** Resolves to false when the record has changed meanwhile, or the reply was lost and it must be read again. */
async function isWritten(
  { store, ledger }: RepairOperationDeps,
  restored: OperationRecord,
  revisionRead: number | undefined,
): Promise<boolean> {
  const result = await store.record(restored, revisionRead).catch(() => 'unknown' as const);
  if (result !== 'recorded') return false;
  ledger?.forget(restored);
  return true;
}

function reasonOf(sequences: readonly number[]): string {
  const [events, are] = sequences.length === 1 ? ['Event', 'is'] : ['Events', 'are'];
  return `${events} ${sequences.join(', ')} ${are} lost, and nothing that is left says what ${sequences.length === 1 ? 'it was' : 'they were'}. Restore the item from a backup.`;
}
