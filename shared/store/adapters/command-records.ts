/** Reads the records of commands. */

import type { CommandRecord } from '../../core/records/command-record.ts';
import type { Key, Table } from '../table.ts';
import type { NoteUnreadable } from '../unreadable.ts';
import { readableRecordsOf } from './readable-records.ts';

export function createCommandRecords(table: Table, noteUnreadable: NoteUnreadable) {
  return {
    /** Resolves to the records in any order, without those that are missing or cannot be read. */
    async readCommands(keys: readonly Key[]): Promise<readonly CommandRecord[]> {
      if (keys.length === 0) return [];
      return readableRecordsOf('command', await table.getMany(keys), noteUnreadable);
    },
  };
}
