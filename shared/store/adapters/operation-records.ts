/** Reads the records of operations by id. */

import type { OperationRecord } from '../../core/records/operation-record.ts';
import { operationIdOf, operationKey } from '../keys.ts';
import type { Table } from '../table.ts';
import type { NoteUnreadable } from '../unreadable.ts';
import { readableRecord, readableRecordsOf } from './readable-records.ts';

export interface OperationsRead {
  /** The records that can be read are here by id. */
  readonly records: Map<string, OperationRecord>;
  /** The items of these operations exist and cannot be read. An operation without an item is in neither of the two. */
  readonly unreadableIds: ReadonlySet<string>;
}

export function createOperationRecords(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    /**
     * Resolves to undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be
     * read.
     */
    async readOperation(projectId: string, operationId: string): Promise<OperationRecord | undefined> {
      const item = await table.get(operationKey(accountId, projectId, operationId));
      return item && readableRecord('operation', item, noteUnreadable);
    },

    async readOperations(projectId: string, operationIds: readonly string[]): Promise<OperationsRead> {
      const keys = operationIds.map((id) => operationKey(accountId, projectId, id));
      const items = await table.getMany(keys);
      const read = readableRecordsOf('operation', items, noteUnreadable);
      const records = new Map(read.map((record) => [record.operation_id, record]));
      const found = items.flatMap((item) => operationIdOf(item) ?? []);
      return { records, unreadableIds: new Set(found.filter((id) => !records.has(id))) };
    },
  };
}
