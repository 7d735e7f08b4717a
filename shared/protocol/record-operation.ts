/**
 * Records one operation by compare-and-set: the write happens only if the stored state is the one that the reading
 * was compared with, so the store is read first and the upstream second.
 */

import { isJournalFull } from '../records/journal.ts';
import {
  decideNextRecord,
  isOpen,
  type Operation,
  type OperationRecord,
  type ReadingContext,
} from '../records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import type { BridgeStore } from '../store/bridge-store.ts';
import { isUnreadable } from '../store/unreadable.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { isUpstreamError } from '../upstream/upstream-error.ts';

interface OrderedReadDeps {
  readonly clock: Clock;
  readonly store: BridgeStore;
  readonly upstream: UpstreamClient;
  readonly signal?: AbortSignal | undefined;
}

export type OrderedRead =
  | {
      readonly recorded: OperationRecord | undefined;
      readonly reading: Operation;
      /** The request for the reading left at this time or later, by our clock. */
      readonly requestedMs: number;
    }
  /** This version cannot read the record. */
  | 'unreadable'
  /** The upstream gave no reading. */
  | 'unresolved';

/**
 * Reads the record first, because the opposite order could overwrite a newer state with an older reading. Rejects
 * when the table does.
 */
export async function readInOrder(deps: OrderedReadDeps, operation: Operation): Promise<OrderedRead> {
  const recorded = await readRecorded(deps, operation);
  if (recorded === 'unreadable') return recorded;
  const answer = await readUpstream(deps, operation);
  return answer === 'unresolved' ? answer : { recorded, ...answer };
}

async function readRecorded(
  { store }: OrderedReadDeps,
  { project_id, id }: Operation,
): Promise<OperationRecord | undefined | 'unreadable'> {
  try {
    return await store.readOperation(project_id, id);
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}

async function readUpstream(
  { clock, upstream, signal }: OrderedReadDeps,
  { project_id, id }: Operation,
): Promise<{ readonly reading: Operation; readonly requestedMs: number } | 'unresolved'> {
  try {
    const query = { projectId: project_id, operationId: id };
    const requestedMs = clock.now();
    const reading = await upstream.getOperation(query, signal && { signal });
    return { reading, requestedMs };
  } catch (error) {
    if (isUpstreamError(error)) return 'unresolved';
    throw error;
  }
}

/** Two pollers that race for one operation need two attempts; two more allow for throttled writes. */
const ATTEMPTS_MAX = 4;

export interface RecordDeps extends OrderedReadDeps {
  /** `recorded` is undefined when the operation is met for the first time. */
  readonly contextOf: (
    recorded: OperationRecord | undefined,
    reading: Operation,
    requestedMs: number,
  ) => ReadingContext;
}

export type RecordOutcome =
  | { readonly kind: 'unchanged'; readonly record: OperationRecord }
  | { readonly kind: 'recorded'; readonly record: OperationRecord }
  /**
   * The journal is full, so the change is recorded after the bus has taken some of its entries. The operation stays
   * watched.
   */
  | { readonly kind: 'deferred'; readonly record: OperationRecord }
  /** This version cannot read the stored record. It is left as it is, and the walk goes on without the operation. */
  | { readonly kind: 'unreadable' }
  /** The change may not be recorded, so the walk that found the reading must not count as complete. */
  | { readonly kind: 'unresolved' };

/**
 * `reading` must have been requested after `recorded` was read. Then a compare-and-set that passes proves that the
 * reading is the newer of the two, without any clock (ADR 0002). After a conflict or an unknown outcome both are read
 * again in that order. `requestedMs` is when the request for the reading left, or a time before that, by our clock.
 */
export async function recordOperation(
  deps: RecordDeps,
  recorded: OperationRecord | undefined,
  reading: Operation,
  requestedMs: number,
): Promise<RecordOutcome> {
  let state = { recorded, reading, requestedMs };
  for (let attempt = 1; ; attempt++) {
    const next = decideNextRecord(
      state.recorded,
      state.reading,
      deps.contextOf(state.recorded, state.reading, state.requestedMs),
    );
    if (next === undefined) return asStored(state.recorded);
    if (state.recorded !== undefined && isJournalFull(state.recorded)) return deferred(state.recorded);
    // When the reply was lost, the write may have been applied, so the item is read again as after a conflict.
    const result = await deps.store.record(next, state.recorded?.revision).catch(() => 'unknown' as const);
    if (result === 'recorded') return { kind: 'recorded', record: next };
    if (attempt === ATTEMPTS_MAX) return { kind: 'unresolved' };
    const stored = await readRecorded(deps, reading);
    if (stored === 'unreadable') return { kind: stored };
    // A write whose reply was lost, or that the SDK has repeated, may be refused although the item shows it.
    if (isShownBy(next, stored)) return { kind: 'recorded', record: stored };
    const answer = await readUpstream(deps, reading);
    if (answer === 'unresolved') return { kind: answer };
    state = { recorded: stored, ...answer };
  }
}

/** An entry's id is a hash of everything that the entry says, so no other process has written the same one. */
function isShownBy(
  next: OperationRecord,
  recorded: OperationRecord | undefined,
): recorded is OperationRecord {
  const [own, stored] = [next.entries.at(-1)?.id, recorded?.entries.at(-1)?.id];
  return own !== undefined && own === stored;
}

/**
 * Every poll reads an open operation again, so its change can wait. An operation that had ended and moves again would
 * be forgotten after its entries are published, so its page must not count as read.
 */
function deferred(record: OperationRecord): RecordOutcome {
  return isOpen(record) ? { kind: 'deferred', record } : { kind: 'unresolved' };
}

function asStored(record: OperationRecord | undefined): RecordOutcome {
  return record === undefined ? { kind: 'unresolved' } : { kind: 'unchanged', record };
}
