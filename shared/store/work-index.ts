/** Finds what still has to be read or published, by the sparse index `work`, and reads the records it names. */

import type { JournalRecord } from '../records/journal-record.ts';
import { isCommandKey, operationIdOf, projectIdOf, projectKey, workOf } from './keys.ts';
import { readableRecords } from './records.ts';
import type { IndexPosition, Key, Table } from './table.ts';
import type { NoteUnreadable } from './unreadable.ts';

/**
 * An entry of the work index names an operation, a command or a project. When it names none of these, it is the
 * account's own.
 */
export interface WorkIndexEntry {
  readonly key: Key;
  readonly projectId: string | undefined;
  readonly operationId: string | undefined;
  /** It is true for a command whose operations have not all ended, or whose end is not published. */
  readonly isCommand: boolean;
}

export interface WorkPageRequest {
  readonly limit: number;
  /** The previous page ended here. It is undefined for the first page. */
  readonly start?: IndexPosition | undefined;
  /** It is undefined for the whole account. */
  readonly projectId?: string | undefined;
}

export interface WorkIndexPage {
  readonly entries: readonly WorkIndexEntry[];
  /** It is undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

export function createWorkIndex(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  const work = workOf(accountId);
  const partitionOf = (projectId: string | undefined) =>
    projectId === undefined ? {} : { pk: projectKey(accountId, projectId).pk };
  const entryOf = (key: Key): WorkIndexEntry => ({
    key,
    projectId: projectIdOf(key, accountId),
    operationId: operationIdOf(key),
    isCommand: isCommandKey(key),
  });

  return {
    /**
     * Resolves to everything that is open or that a crash left unpublished. The index can lag, so the items
     * themselves decide.
     */
    async findWork(projectId?: string): Promise<readonly WorkIndexEntry[]> {
      return (await table.queryWork({ work, ...partitionOf(projectId) })).map(entryOf);
    },

    /**
     * Resolves to at most `limit` of the same entries. An outage of the bus leaves everything in the index, so it may
     * be large.
     */
    async findWorkPage({ limit, start, projectId }: WorkPageRequest): Promise<WorkIndexPage> {
      const page = await table.queryWorkPage({ work, limit, start, ...partitionOf(projectId) });
      return { entries: page.keys.map(entryOf), next: page.next };
    },

    /** Resolves to the records in any order, without those that are missing or cannot be read. */
    async readRecords(keys: readonly Key[]): Promise<readonly JournalRecord[]> {
      return readableRecords(await table.getMany(keys), noteUnreadable);
    },
  };
}
