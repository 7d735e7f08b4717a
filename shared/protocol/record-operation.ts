/** Compare-and-set of one operation: the write either follows the state it was compared with, or it does not happen. */

import { isJournalFull } from '../core/records/journal.ts';
import type { Operation } from '../core/records/operation.ts';
import {
  isOpen,
  type OperationRecord,
  type ReadingContext,
  recordReading,
} from '../core/records/operation-record.ts';
import type { BridgeStore, RecordResult } from '../store/bridge-store.ts';
import { isUnreadable } from '../store/unreadable.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { isUpstreamError } from '../upstream/upstream-error.ts';

/** Two pollers that race for one operation settle in one round; four allow for throttling beside it. */
const ATTEMPTS_MAX = 4;

export interface RecordDeps {
  readonly upstream: Pick<UpstreamClient, 'getOperation'>;
  readonly store: Pick<BridgeStore, 'record' | 'readOperation'>;
  /** Depends on whether the operation is met for the first time. */
  readonly contextOf: (recorded: OperationRecord | undefined, reading: Operation) => ReadingContext;
  readonly signal?: AbortSignal | undefined;
}

export type RecordOutcome =
  | { readonly kind: 'unchanged'; readonly record: OperationRecord }
  | { readonly kind: 'recorded'; readonly record: OperationRecord }
  /** The journal is full: what changed is recorded once the bus has taken entries of it. The operation stays watched. */
  | { readonly kind: 'deferred'; readonly record: OperationRecord }
  /** There is a record of it that this version cannot read: it is left as it is, and the walk goes on without it. */
  | { readonly kind: 'unreadable' }
  /** Not known to be recorded: the walk that found the reading is not complete. */
  | { readonly kind: 'unresolved' };

/**
 * `reading` must have been requested after `recorded` was read: then a compare-and-set that passes proves that the
 * reading is the newer of the two, without any clock (ADR 0002). A refused or lost write starts over in that order.
 */
export async function recordOperation(
  deps: RecordDeps,
  recorded: OperationRecord | undefined,
  reading: Operation,
): Promise<RecordOutcome> {
  let state = { recorded, reading };
  for (let attempt = 1; ; attempt++) {
    const next = recordReading(state.recorded, state.reading, deps.contextOf(state.recorded, state.reading));
    if (next === undefined) return unchanged(state.recorded);
    if (state.recorded !== undefined && isJournalFull(state.recorded)) return deferred(state.recorded);
    const result = await tryRecord(deps, next, state.recorded?.revision);
    if (result === 'recorded') return { kind: 'recorded', record: next };
    if (attempt === ATTEMPTS_MAX) return { kind: 'unresolved' };
    const fresh = await readAgain(deps, reading);
    if (fresh === 'unreadable' || fresh === 'unresolved') return { kind: fresh };
    state = fresh;
  }
}

/** A write whose reply was lost may have been applied: only reading the item again can tell. */
async function tryRecord(
  { store }: RecordDeps,
  next: OperationRecord,
  expectedRevision: number | undefined,
): Promise<RecordResult | 'unknown'> {
  try {
    return await store.record(next, expectedRevision);
  } catch {
    return 'unknown';
  }
}

/** First the store, then the upstream: never the other way round. */
async function readAgain({ store, upstream, signal }: RecordDeps, { project_id, id }: Operation) {
  try {
    const recorded = await store.readOperation(project_id, id);
    const query = { projectId: project_id, operationId: id };
    const reading = await upstream.getOperation(query, signal && { signal });
    return { recorded, reading };
  } catch (error) {
    if (isUpstreamError(error)) return 'unresolved';
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}

/**
 * An open operation is read again by every poll, so nothing is lost. One that had ended and moves again would be forgotten once
 * its entries are published: the page that it stands on does not count as read.
 */
function deferred(record: OperationRecord): RecordOutcome {
  return isOpen(record) ? { kind: 'deferred', record } : { kind: 'unresolved' };
}

function unchanged(record: OperationRecord | undefined): RecordOutcome {
  return record === undefined ? { kind: 'unresolved' } : { kind: 'unchanged', record };
}
