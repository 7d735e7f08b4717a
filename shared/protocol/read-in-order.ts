/**
 * Reads one operation twice in the order that makes a compare-and-set safe: the store first, the upstream second (ADR
 * 0002).
 */

import type { Operation } from '../core/records/operation.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import { isUnreadable } from '../store/unreadable.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { isUpstreamError } from '../upstream/upstream-error.ts';

export interface OperationReader {
  /**
   * Resolves to undefined when there is no record of it. Rejects with `UnreadableItemError` when the record cannot be
   * read.
   */
  readOperation(projectId: string, operationId: string): Promise<OperationRecord | undefined>;
}

export interface OrderedReadDeps {
  readonly clock: Clock;
  readonly store: OperationReader;
  readonly upstream: Pick<UpstreamClient, 'getOperation'>;
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
export async function readInOrder(
  { clock, store, upstream, signal }: OrderedReadDeps,
  { project_id, id }: Pick<Operation, 'project_id' | 'id'>,
): Promise<OrderedRead> {
  try {
    const recorded = await store.readOperation(project_id, id);
    const query = { projectId: project_id, operationId: id };
    const requestedMs = clock.now();
    const reading = await upstream.getOperation(query, signal && { signal });
    return { recorded, reading, requestedMs };
  } catch (error) {
    if (isUpstreamError(error)) return 'unresolved';
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}
