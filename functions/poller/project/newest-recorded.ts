/** Asks the table when the newest operation began that the table may forget: one whose end is recorded. */

import { isSettled } from '../../../shared/core/records/operation-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { OperationsReader } from '../../../shared/protocol/settle-commands.ts';
import { operationIdOf, projectKey } from '../../../shared/store/keys.ts';
import { CREATED_INDEX, type IndexPosition, type TableIndexes } from '../../../shared/store/table.ts';

/** Newer ones are open: a few in a usual project. */
const PLACES_MAX = 100;

/** Undefined: there is none, or it stands behind more open ones than are worth reading. */
export function askForNewestRecorded(
  indexes: TableIndexes,
  store: { readonly accountId: string } & OperationsReader,
) {
  return async (projectId: string): Promise<Timestamp | undefined> => {
    const partition = projectKey(store.accountId, projectId).pk;
    const query = { index: CREATED_INDEX, partition, newestFirst: true, limit: PLACES_PER_PAGE };
    let start: IndexPosition | undefined;
    for (let read = 0; read < PLACES_MAX; read += PLACES_PER_PAGE) {
      const { keys, next } = await indexes.query({ ...query, start });
      const ids = keys.flatMap((key) => operationIdOf(key) ?? []);
      const { records } = await store.readOperations(projectId, ids);
      const newest = ids
        .map((id) => records.get(id))
        .find((record) => record !== undefined && isSettled(record));
      if (newest !== undefined) return normaliseTimestamp(newest.created_at);
      if (next === undefined) return undefined;
      start = next;
    }
    return undefined;
  };
}

/** The newest one of a project that cannot be read has mostly ended. */
const PLACES_PER_PAGE = 5;
