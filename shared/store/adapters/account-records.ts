/** Reads the record of an account. */

import type { AccountRecord } from '../../core/records/account-record.ts';
import { accountKey } from '../keys.ts';
import { type AccountOrigin, originIn } from '../parse-record.ts';
import type { Table } from '../table.ts';
import type { NoteUnreadable } from '../unreadable.ts';
import { readableRecord, readableRecordsOf } from './readable-records.ts';

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
