/** Finds the operations that hold the lock of a project, as far as the bridge has recorded them. */

import type { OperationsReader } from '../protocol/settle-commands.ts';
import type { OperationRecord } from '../records/operation-record.ts';

export interface OpenWorkFinder {
  /**
   * Finds what is open or unpublished of a project, in an index that can lag. `operationId` is undefined for an item
   * that is no operation.
   */
  findWork(projectId: string): Promise<readonly { readonly operationId: string | undefined }[]>;
}

export interface LockReaders {
  readonly work: OpenWorkFinder;
  readonly recording: { readonly store: OperationsReader };
}

/** The upstream answers 423 while an operation is in one of these statuses (docs/upstream.md, "Lock"). */
export const LOCKING_STATUSES: readonly string[] = ['scheduling', 'running', 'cancelling'];

/** A check of availability runs beside everything else. */
const LOCKS_NOTHING: ReadonlySet<string> = new Set(['check_availability']);

/** A failed operation holds no lock, although it may be retried. */
export function holdsLock({
  status,
  action,
  watch_ended,
}: Pick<OperationRecord, 'status' | 'action' | 'watch_ended'>): boolean {
  return LOCKING_STATUSES.includes(status) && !LOCKS_NOTHING.has(action) && !watch_ended;
}

/**
 * `knownIds` are operations that an index may not show yet, because they were recorded a moment ago. Rejects when the
 * table does.
 */
export async function findLockHolders(
  { work, recording }: LockReaders,
  projectId: string,
  knownIds: readonly string[] = [],
): Promise<readonly string[]> {
  const found = await work.findWork(projectId);
  const ids = new Set([...knownIds, ...found.flatMap(({ operationId }) => operationId ?? [])]);
  if (ids.size === 0) return [];
  const { records } = await recording.store.readOperations(projectId, [...ids]);
  return [...records.values()].filter(holdsLock).map(({ operation_id }) => operation_id);
}
