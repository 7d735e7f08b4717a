/** Asks the table which operations of a project it holds. Later it may forget those that have ended. */

import { RECORDED_ABOVE_MAX, type RecordedOperation } from '../../../shared/core/records/recorded-above.ts';
import { normaliseTimestamp } from '../../../shared/core/time/timestamp.ts';
import { operationIdOf, projectKey } from '../../../shared/store/keys.ts';
import { CREATED_INDEX, type IndexPosition, type TableIndexes } from '../../../shared/store/table.ts';
import { isWanted, type WantedRecords } from '../walk-plan/failing-list.ts';

/**
 * At most this many entries of the index of creation times are read. Only an interrupted walk that is longer than this
 * hides what is recorded below it.
 */
export const INDEX_ENTRIES_MAX = 500;
const ENTRIES_PER_PAGE = 100;

export interface HeldOperations {
  /** The table holds these, the newest first: at most one more than can be noted. */
  readonly operations: readonly RecordedOperation[];
  /** The bound was met before all entries were read, so the table may hold older ones that are wanted. */
  readonly isBoundMet: boolean;
}

/** Resolves to the wanted operations that the table holds. */
export type AskForRecorded = (projectId: string, wanted: WantedRecords) => Promise<HeldOperations>;

/** The index holds keys only, so this costs one short query: an operation that has not ended yet may be noted, too. */
export function askForRecorded(indexes: TableIndexes, accountId: string): AskForRecorded {
  return async (projectId, wanted) => {
    const partition = projectKey(accountId, projectId).pk;
    const query = { index: CREATED_INDEX, partition, after: wanted.after, newestFirst: true };
    const recorded: RecordedOperation[] = [];
    let start: IndexPosition | undefined;
    for (let read = 0; read < INDEX_ENTRIES_MAX; read += ENTRIES_PER_PAGE) {
      const { keys, next } = await indexes.query({ ...query, limit: ENTRIES_PER_PAGE, start });
      for (const key of keys) {
        const id = operationIdOf(key);
        const createdAt = normaliseTimestamp(key.sortKey);
        if (id === undefined || createdAt === undefined || !isWanted(createdAt, wanted)) continue;
        recorded.push({ id, createdAt });
      }
      if (next === undefined || recorded.length > RECORDED_ABOVE_MAX)
        return { operations: recorded.slice(0, RECORDED_ABOVE_MAX + 1), isBoundMet: false };
      start = next;
    }
    return { operations: recorded, isBoundMet: true };
  };
}
