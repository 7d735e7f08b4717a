/** Keeps the account's ledger in one item, which every process that spends the rate limit reads and writes. */

import * as z from 'zod';
import { EMPTY_LEDGER, type Ledger } from '../rates/ledger.ts';
import { ledgerKey } from './keys.ts';
import type { Table } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

export interface LedgerStore {
  /** Rejects when the item cannot be read. */
  read(): Promise<StoredLedger>;
  /** Resolves to false when another process has written the ledger since it was read as `version`. */
  write(ledger: Ledger, version: number): Promise<boolean>;
}

interface StoredLedger {
  readonly ledger: Ledger;
  /** Each write raises it by one. It is 0 before the first one. */
  readonly version: number;
}

export const LEDGER_ATTRIBUTES = ['ledger_version', 'given', 'lately', 'poller'] as const;

const givenList = z.array(z.tuple([z.number(), z.number()]));

const ledgerItem = z.object({
  ledger_version: z.number(),
  given: z.record(z.string(), givenList),
  lately: givenList,
  poller: z.object({ holds: z.number(), wants: z.number() }).optional(),
});

export function createLedgerStore(
  table: Table,
  accountId: string,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): LedgerStore {
  const key = ledgerKey(accountId);
  return {
    async read() {
      const item = await table.get(key);
      // An earlier version counted in the same item, under other names.
      if (item?.['ledger_version'] === undefined) return { ledger: EMPTY_LEDGER, version: 0 };
      const { data } = ledgerItem.safeParse(item);
      if (data !== undefined) return { ledger: data, version: data.ledger_version };
      const unreadable = { key, fields: [...LEDGER_ATTRIBUTES] };
      noteUnreadable(unreadable);
      throw new UnreadableItemError(unreadable);
    },
    async write({ given, lately, poller }, version) {
      const name = 'ledger_version';
      const result = await table.update({
        key,
        set: { [name]: version + 1, given, lately, poller: poller && { ...poller } },
        condition: version === 0 ? { kind: 'absent', name } : { kind: 'equals', name, value: version },
      });
      return result === 'applied';
    },
  };
}
