/** Finds what still has to be read or published, by the sparse index `work`, and reads the records it names. */

import type { JournalRecord } from '../core/records/journal-record.ts';
import { isCommandKey, operationIdOf, projectIdOf, projectKey, workOf } from './keys.ts';
import { readableRecords } from './readable-records.ts';
import type { IndexPosition, Key, Table } from './table.ts';
import type { NoteUnreadable } from './unreadable.ts';

/** One entry of the work index: of an operation, a command or a project, or (none of these) of the account itself. */
export interface WorkPlace {
  readonly key: Key;
  readonly projectId: string | undefined;
  readonly operationId: string | undefined;
  /** The item is a command whose operations have not all ended, or whose end is not published. */
  readonly isCommand: boolean;
}

export interface WorkPageRequest {
  readonly limit: number;
  /** Where the previous page ended; undefined for the first page. */
  readonly start?: IndexPosition | undefined;
  /** Undefined for the whole account. */
  readonly projectId?: string | undefined;
}

export interface WorkPlacePage {
  readonly places: readonly WorkPlace[];
  /** Undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

export function createWorkIndex(
  table: Pick<Table, 'getMany' | 'queryWork' | 'queryWorkPage'>,
  accountId: string,
  noteUnreadable: NoteUnreadable,
) {
  const work = workOf(accountId);
  const partitionOf = (projectId: string | undefined) =>
    projectId === undefined ? {} : { pk: projectKey(accountId, projectId).pk };
  const placeOf = (key: Key): WorkPlace => ({
    key,
    projectId: projectIdOf(key, accountId),
    operationId: operationIdOf(key),
    isCommand: isCommandKey(key),
  });

  return {
    /** Everything that is open or that a crash left unpublished. The index can lag, so the items themselves decide. */
    async findWork(projectId?: string): Promise<readonly WorkPlace[]> {
      return (await table.queryWork({ work, ...partitionOf(projectId) })).map(placeOf);
    },

    /** At most `limit` of the same: an outage of the bus leaves everything in the index, so it may be large. */
    async findWorkPage({ limit, start, projectId }: WorkPageRequest): Promise<WorkPlacePage> {
      const page = await table.queryWorkPage({ work, limit, start, ...partitionOf(projectId) });
      return { places: page.keys.map(placeOf), next: page.next };
    },

    /** In any order, without those that are missing or cannot be read. */
    async readRecords(keys: readonly Key[]): Promise<readonly JournalRecord[]> {
      return readableRecords(await table.getMany(keys), noteUnreadable);
    },
  };
}
