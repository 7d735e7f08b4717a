/** Reads the records that are derived from operations: branches and computes. */

import type { DerivedRecord } from '../../core/records/journal-record.ts';
import type { Key, Table } from '../table.ts';
import type { NoteUnreadable } from '../unreadable.ts';
import { readableRecords } from './readable-records.ts';

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
