/** Asks the table when the newest operation began whose end is recorded. From that end on the table may forget it. */

import { isSettled } from '../../../shared/core/records/operation-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { OperationsReader } from '../../../shared/protocol/settle-commands.ts';
import { operationIdOf, projectKey } from '../../../shared/store/keys.ts';
import { CREATED_INDEX, type IndexPosition, type TableIndexes } from '../../../shared/store/table.ts';

/**
 * At most this many entries of the index of creation times are read. Usually only a few open operations stand before
 * the one that is looked for.
 */
const ENTRIES_MAX = 100;

/**
 * The function that it returns resolves to `null` when there is no such operation, and to undefined when it stands
 * behind more than `ENTRIES_MAX` others.
 */
export function askForNewestRecorded(
  indexes: TableIndexes,
  store: { readonly accountId: string } & OperationsReader,
) {
  return async (projectId: string): Promise<Timestamp | null | undefined> => {
    const partition = projectKey(store.accountId, projectId).pk;
    const query = { index: CREATED_INDEX, partition, newestFirst: true, limit: ENTRIES_PER_PAGE };
    let start: IndexPosition | undefined;
    for (let read = 0; read < ENTRIES_MAX; read += ENTRIES_PER_PAGE) {
      const { keys, next } = await indexes.query({ ...query, start });
      const ids = keys.flatMap((key) => operationIdOf(key) ?? []);
      const { records } = await store.readOperations(projectId, ids);
      const newest = ids
        .map((id) => records.get(id))
        .find((record) => record !== undefined && isSettled(record));
      if (newest !== undefined) return normaliseTimestamp(newest.created_at);
      if (next === undefined) return null;
      start = next;
    }
    return undefined;
  };
}

/** One page is usually enough: the newest operation of a project that cannot be read has mostly ended. */
const ENTRIES_PER_PAGE = 5;
