/**
 * Reads the records of operations, branches, computes, commands and accounts. Items that cannot be read are noted,
 * and no code ever writes to such an item.
 */

import type { AccountRecord } from '../records/account-record.ts';
import type { CommandRecord } from '../records/command-record.ts';
import type { DerivedRecord, JournalRecord } from '../records/journal-record.ts';
import type { OperationRecord } from '../records/operation-record.ts';
import { accountKey, operationIdOf, operationKey } from './keys.ts';
import {
  type AccountOrigin,
  originIn,
  type ParsedItem,
  type ParsedItems,
  parseRecordOf,
  parseRecords,
  parseRecordsOf,
  type RecordOf,
} from './parse-record.ts';
import type { Item, Key, Table } from './table.ts';
import { type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

/** `conflict` says that the item has changed since it was read, and nothing was written. */
export type RecordResult = 'recorded' | 'conflict';

export function resultOf(outcome: 'applied' | 'refused'): RecordResult {
  return outcome === 'applied' ? 'recorded' : 'conflict';
}

/** Reads one item. Throws `UnreadableItemError` when the item as a whole cannot be read. */
export function readableRecord<K extends JournalRecord['kind']>(
  kind: K,
  item: Item,
  noteUnreadable: NoteUnreadable,
): RecordOf<K> {
  const { record, unreadable }: ParsedItem<RecordOf<K>> = parseRecordOf(kind, item);
  if (unreadable !== undefined) noteUnreadable(unreadable);
  if (record !== undefined) return record;
  throw new UnreadableItemError(unreadable ?? { key: { pk: '', sk: '' }, fields: [] });
}

/** Reads many items of one kind. It leaves out those that cannot be read. */
export function readableRecordsOf<K extends JournalRecord['kind']>(
  kind: K,
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly RecordOf<K>[] {
  return noted(parseRecordsOf(kind, items), noteUnreadable);
}

/** Reads many items of any kind. It leaves out those that cannot be read. */
export function readableRecords(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly JournalRecord[] {
  return noted(parseRecords(items), noteUnreadable);
}

function noted<R extends JournalRecord>(
  { records, unreadable }: ParsedItems<R>,
  noteUnreadable: NoteUnreadable,
): readonly R[] {
  for (const item of unreadable) noteUnreadable(item);
  return records;
}

export function createAccountRecords(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    /**
     * Resolves to undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be
     * read.
     */
    async readAccount(): Promise<AccountRecord | undefined> {
      const item = await table.get(accountKey(accountId));
      return item && readableRecord('account', item, noteUnreadable);
    },

    /**
     * Reads the fields that decide what is history, even when the rest of the item cannot be read. Resolves to
     * `unreadable` when these fields themselves cannot be read, and to undefined when there is no such item.
     */
    async readOrigin(): Promise<AccountOrigin | 'unreadable' | undefined> {
      const item = await table.get(accountKey(accountId));
      if (item === undefined) return undefined;
      // This call only notes what cannot be read.
      readableRecordsOf('account', [item], noteUnreadable);
      return originIn(item) ?? 'unreadable';
    },
  };
}

export function createCommandRecords(table: Table, noteUnreadable: NoteUnreadable) {
  return {
    /** Resolves to the records in any order, without those that are missing or cannot be read. */
    async readCommands(keys: readonly Key[]): Promise<readonly CommandRecord[]> {
      if (keys.length === 0) return [];
      return readableRecordsOf('command', await table.getMany(keys), noteUnreadable);
    },
  };
}

export interface DerivedRead {
  /** The records that can be read, in any order. */
  readonly records: readonly DerivedRecord[];
  /** Items with these keys exist and cannot be read. A key without an item is in neither of the two. */
  readonly unreadable: readonly Key[];
}

export function createDerivedRecords(table: Table, noteUnreadable: NoteUnreadable) {
  return {
    async readDerived(keys: readonly Key[]): Promise<DerivedRead> {
      if (keys.length === 0) return { records: [], unreadable: [] };
      const unreadable: Key[] = [];
      const records = readableRecords(await table.getMany(keys), (item) => {
        noteUnreadable(item);
        unreadable.push(item.key);
      });
      return { records: records.filter(isDerived), unreadable };
    },
  };
}

function isDerived(record: { readonly kind: string }): record is DerivedRecord {
  return record.kind === 'branch' || record.kind === 'compute';
}

export interface OperationsRead {
  /** The records that can be read are here by id. */
  readonly records: Map<string, OperationRecord>;
  /** The items of these operations exist and cannot be read. An operation without an item is in neither of the two. */
  readonly unreadableIds: ReadonlySet<string>;
}

/** Says whether the item only keeps its account from recording an operation that another account has (`transfers.ts`). */
export function isMarkAlone({ moved_by, revision }: Item): boolean {
  return moved_by !== undefined && revision === undefined;
}

export function createOperationRecords(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    /**
     * Resolves to undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be
     * read.
     */
    async readOperation(projectId: string, operationId: string): Promise<OperationRecord | undefined> {
      const item = await table.get(operationKey(accountId, projectId, operationId));
      if (item === undefined || isMarkAlone(item)) return undefined;
      return readableRecord('operation', item, noteUnreadable);
    },

    async readOperations(projectId: string, operationIds: readonly string[]): Promise<OperationsRead> {
      const keys = operationIds.map((id) => operationKey(accountId, projectId, id));
      const items = (await table.getMany(keys)).filter((item) => !isMarkAlone(item));
      const read = readableRecordsOf('operation', items, noteUnreadable);
      const records = new Map(read.map((record) => [record.operation_id, record]));
      const found = items.flatMap((item) => operationIdOf(item) ?? []);
      return { records, unreadableIds: new Set(found.filter((id) => !records.has(id))) };
    },
  };
}
