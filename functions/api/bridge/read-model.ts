/** What people and apps read of an account: lists in pages, single items, events. */

import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import { pendingEntries } from '../../../shared/core/records/journal.ts';
import type { JournalEntry } from '../../../shared/core/records/journal-entries.ts';
import { isOpen, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { commandKey, projectKey, projectsListOf } from '../../../shared/store/keys.ts';
import { createOperationRecords } from '../../../shared/store/operation-records.ts';
import { createProjectRecords } from '../../../shared/store/project-records.ts';
import { createReadRequests } from '../../../shared/store/read-requests.ts';
import { readableRecordsOf } from '../../../shared/store/readable-records.ts';
import {
  CREATED_INDEX,
  type Index,
  type Key,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import {
  ignoreUnreadable,
  type NoteUnreadable,
  UnreadableItemError,
} from '../../../shared/store/unreadable.ts';
import { createWorkIndex } from '../../../shared/store/work-index.ts';
import { createAuditReader } from './audit-reader.ts';
import { createEventFeed } from './event-feed.ts';
import { decodeCursor, encodeCursor, type Page, positionSchema } from './page-cursor.ts';

export type ReadModel = ReturnType<typeof createReadModel>;

export interface PageRequest {
  /** At most so many. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Open operations that are read at once: an account with more is in trouble that a page would not help. */
export const OPEN_OPERATIONS_MAX = 1_000;

export interface ReadPorts {
  readonly clock: Clock;
  readonly noteUnreadable?: NoteUnreadable;
}

/** Items that cannot be read are noted and left out of every list; asked for one by one, they reject by name. */
export function createReadModel(table: Table, indexes: TableIndexes, accountId: string, ports: ReadPorts) {
  const { clock, noteUnreadable = ignoreUnreadable } = ports;
  const projects = createProjectRecords(table, accountId, noteUnreadable);
  const operations = createOperationRecords(table, accountId, noteUnreadable);
  const readRequests = createReadRequests(table, accountId, clock);
  const work = createWorkIndex(table, accountId, noteUnreadable);
  const feed = createEventFeed(table, indexes, accountId, ports);

  const keysOf = async (
    { index, partition, newestFirst = false }: { index: Index; partition: string; newestFirst?: boolean },
    { limit, cursor }: PageRequest,
  ) => {
    const schema = positionSchema(index.partitionKey, partition);
    const start = cursor === undefined ? undefined : decodeCursor(schema, cursor);
    const { keys, next } = await indexes.query({ index, partition, newestFirst, limit, start });
    return { keys, next: next && encodeCursor(next) };
  };

  /** The table hands items over in any order. */
  const itemsInOrder = async (keys: readonly Key[]) => {
    const items = new Map((await table.getMany(keys)).map((item) => [`${item.pk}\n${item.sk}`, item]));
    return keys.flatMap(({ pk, sk }) => items.get(`${pk}\n${sk}`) ?? []);
  };

  return {
    accountId,
    feed,

    /** Newest first. */
    audit: createAuditReader(table, indexes, accountId),

    /** By id. */
    async projects(request: PageRequest): Promise<Page<ProjectRecord>> {
      const { keys, next } = await keysOf(
        { index: LIST_INDEX, partition: projectsListOf(accountId) },
        request,
      );
      return { items: readableRecordsOf('project', await itemsInOrder(keys), noteUnreadable), next };
    },

    /** The one thing that is written: a wish. */
    requestRead: (projectId: string, intervalMs: number): Promise<void> =>
      readRequests.requestRead(projectId, intervalMs),

    project: (projectId: string): Promise<ProjectRecord | undefined> => projects.readProject(projectId),

    /** Newest first, by the time at which the upstream created them. */
    async operations(projectId: string, request: PageRequest): Promise<Page<OperationRecord>> {
      const partition = projectKey(accountId, projectId).pk;
      const { keys, next } = await keysOf({ index: CREATED_INDEX, partition, newestFirst: true }, request);
      return { items: readableRecordsOf('operation', await itemsInOrder(keys), noteUnreadable), next };
    },

    operation: (projectId: string, operationId: string): Promise<OperationRecord | undefined> =>
      operations.readOperation(projectId, operationId),

    /** Those that are neither ended nor given up, oldest first. */
    async openOperations(projectId?: string): Promise<readonly OperationRecord[]> {
      const { places } = await work.findWorkPage({ limit: OPEN_OPERATIONS_MAX, projectId });
      const keys = places.flatMap(({ key, operationId }) => (operationId === undefined ? [] : key));
      const records = await work.readRecords(keys);
      return records
        .flatMap((record) => (record.kind === 'operation' && isOpen(record) ? [record] : []))
        .toSorted((a, b) => a.created_at.localeCompare(b.created_at));
    },

    async command(projectId: string, requestId: string): Promise<CommandRecord | undefined> {
      const key = commandKey(accountId, projectId, requestId);
      const item = await table.get(key);
      if (item === undefined) return undefined;
      const [record] = readableRecordsOf('command', [item], noteUnreadable);
      if (record === undefined) throw new UnreadableItemError({ key, fields: [] });
      return record;
    },

    /** What is recorded and not yet on the bus: normally nothing, or a second old. */
    async unpublished(): Promise<{ readonly count: number; readonly oldest_at: string | undefined }> {
      const { places } = await work.findWorkPage({ limit: OPEN_OPERATIONS_MAX });
      const records = await work.readRecords(places.map(({ key }) => key));
      const pending = records.flatMap((record) => pendingEntries<JournalEntry>(record));
      const times = pending.map(({ observed_at }) => observed_at).toSorted();
      return { count: pending.length, oldest_at: times[0] };
    },
  };
}
