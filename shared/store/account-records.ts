/** Reads the record of an account. */

import type { AccountRecord } from '../core/records/account-record.ts';
import { accountKey } from './keys.ts';
import { type AccountOrigin, originIn } from './parse-record.ts';
import { readableRecord, readableRecordsOf } from './readable-records.ts';
import type { Table } from './table.ts';
import type { NoteUnreadable } from './unreadable.ts';

export function createAccountRecords(
  table: Pick<Table, 'get'>,
  accountId: string,
  noteUnreadable: NoteUnreadable,
) {
  return {
    /** Undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be read. */
    async readAccount(): Promise<AccountRecord | undefined> {
      const item = await table.get(accountKey(accountId));
      return item && readableRecord('account', item, noteUnreadable);
    },

    /**
     * The fields that decide what is history, also when the rest of the item cannot be read. `unreadable`: these fields
     * themselves cannot be read. Undefined: there is no such item.
     */
    async readOrigin(): Promise<AccountOrigin | 'unreadable' | undefined> {
      const item = await table.get(accountKey(accountId));
      if (item === undefined) return undefined;
      // Only to note what cannot be read.
      readableRecordsOf('account', [item], noteUnreadable);
      return originIn(item) ?? 'unreadable';
    },
  };
}
