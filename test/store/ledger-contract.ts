/** Tests what the ledger of an account needs of a table, whatever it is made of. */

import { expect, test } from 'vitest';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import type { Table } from '../../shared/store/table.ts';

export function describeLedger(name: string, open: () => Table): void {
  test(`of several processes that write the ledger at once, one succeeds, on ${name}`, async () => {
    const store = createLedgerStore(open(), 'contended');
    const ledgerOf = (count: number) => ({
      given: { ra: [[7, count] as const], r: [] },
      lately: [[7_000, count] as const],
      poller: { holds: 100, wants: 150 },
    });
    for (const version of [0, 1]) {
      const before = await store.read();
      expect(before.version).toBe(version);
      const written = await Promise.all([1, 2, 3].map((count) => store.write(ledgerOf(count), version)));
      expect(written.filter((isWritten) => isWritten)).toHaveLength(1);
      const { ledger } = await store.read();
      expect(ledger).toMatchObject(ledgerOf(written.indexOf(true) + 1));
    }
  });
}
