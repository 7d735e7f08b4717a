import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accountKey, accountStatusKey, leaseKey, ledgerKey } from '../../../shared/store/keys.ts';
import type { Item, Key, Table } from '../../../shared/store/table.ts';
import { gatherReads } from '../../../shared/store/table-access.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createScheduler } from '../../simulation/scheduler.ts';

const ACCESS = { readsMany: ['protocol'] } as const;
const CALL_MS = 5;
const idOf = ({ pk, sk }: Key) => `${pk} ${sk}`;

/** A table whose items say when they were read. */
function tableOf(now: () => number, sleep: (ms: number) => Promise<void>) {
  const calls: string[][] = [];
  const item = (key: Key): Item => ({ ...key, read_at_ms: now() });
  const isThere = ({ pk }: Key) => !pk.includes('gone');
  const answer = async <T>(keys: readonly Key[], result: () => T): Promise<T> => {
    calls.push(keys.map(idOf));
    await sleep(CALL_MS);
    if (keys.some(({ pk }) => pk.includes('bad'))) throw new Error('not read');
    const found = result();
    await sleep(CALL_MS);
    return found;
  };
  const table: Table = {
    ...createMemoryTable(),
    get: (key: Key) => answer([key], () => (isThere(key) ? item(key) : undefined)),
    getMany: (keys: readonly Key[]) => answer(keys, () => keys.filter(isThere).map(item).toReversed()),
  };
  return { table, calls };
}

function lane() {
  const scheduler = createScheduler(0);
  const clock = scheduler.clockOf({ name: 'lane', isCrashed: false, clockSkewMs: 0 });
  const { table, calls } = tableOf(
    () => clock.now(),
    (ms) => clock.sleep(ms),
  );
  return { scheduler, clock, calls, reads: gatherReads(table, ACCESS, clock) };
}

describe('the reads of a lane', () => {
  test('that begin in one step are one call, and each of them gets its own item', async () => {
    const { scheduler, calls, reads } = lane();
    const keys = [leaseKey('a'), leaseKey('b'), accountKey('gone'), leaseKey('a')];

    const items = Promise.all(keys.map((key) => reads.get(key)));
    await scheduler.runUntil(1_000);

    expect((await items).map((item) => item && idOf(item))).toEqual([
      'A#a LEASE',
      'A#b LEASE',
      undefined,
      'A#a LEASE',
    ]);
    expect(calls).toEqual([['A#a LEASE', 'A#b LEASE', 'A#gone ACCOUNT']]);
  });

  test('that come one by one afterwards are gathered for a moment', async () => {
    const { scheduler, clock, calls, reads } = lane();
    const read = async (atMs: number, key: Key) => {
      await clock.sleep(atMs);
      return reads.get(key);
    };

    const items = ['a', 'b', 'c', 'd'].map((id, place) => read(1 + 4 * place, accountStatusKey(id)));
    await scheduler.runUntil(1_000);

    expect(await Promise.all(items)).toHaveLength(4);
    expect(calls).toEqual([['A#a STATUS'], ['A#b STATUS', 'A#c STATUS', 'A#d STATUS']]);
  });

  test('fail together, and later reads do not', async () => {
    const { scheduler, clock, reads } = lane();
    const settled = Promise.allSettled([reads.get(leaseKey('bad')), reads.get(leaseKey('a'))]);
    const later = clock.sleep(500).then(() => reads.get(leaseKey('a')));
    await scheduler.runUntil(1_000);

    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await later).toMatchObject(leaseKey('a'));
  });

  test('of a partition that the role may not read in one call stay single', async () => {
    const { scheduler, calls, reads } = lane();
    const items = Promise.all(['a', 'b'].map((id) => reads.get(ledgerKey(id))));
    await scheduler.runUntil(1_000);

    expect(await items).toHaveLength(2);
    expect(calls).toEqual([['USAGE#a COMMANDS'], ['USAGE#b COMMANDS']]);
  });

  test('are all that is gathered: everything else goes to the table as it is', async () => {
    const table = createMemoryTable();
    const asked: unknown[] = [];
    const noting: Table = {
      ...table,
      getMany: async (...args) => {
        asked.push(['getMany', ...args]);
        return [];
      },
      update: async (...args) => {
        asked.push(['update', ...args]);
        return 'applied';
      },
      queryWork: async (...args) => {
        asked.push(['queryWork', ...args]);
        return [];
      },
    };
    const reads = gatherReads(
      noting,
      ACCESS,
      createScheduler(0).clockOf({ name: 'lane', isCrashed: false, clockSkewMs: 0 }),
    );
    const update = { key: leaseKey('a'), set: { kind: 'lease' } };

    expect(await reads.getMany([leaseKey('a')])).toEqual([]);
    expect(await reads.update(update)).toBe('applied');
    expect(await reads.queryWork({ work: 'a' })).toEqual([]);
    expect(asked).toEqual([
      ['getMany', [leaseKey('a')]],
      ['update', update],
      ['queryWork', { work: 'a' }],
    ]);
  });

  test('see the table after they were asked for and within a moment, whatever else is read', async () => {
    const asked = fc.array(fc.tuple(fc.nat(200), fc.nat(130)), { minLength: 1, maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(asked, async (reads) => {
        const { scheduler, clock, reads: table, calls } = lane();
        const all = Promise.all(
          reads.map(async ([atMs, account]) => {
            await clock.sleep(atMs);
            const item = await table.get(leaseKey(String(account)));
            return { atMs, account, item };
          }),
        );
        await scheduler.runUntil(10_000);
        for (const { atMs, account, item } of await all) {
          const readAtMs = Number(item?.['read_at_ms']);
          expect(item?.pk).toBe(`A#${account}`);
          expect(readAtMs - atMs).toBeGreaterThanOrEqual(CALL_MS);
          expect(readAtMs - atMs).toBeLessThanOrEqual(CALL_MS + 25);
        }
        expect(Math.max(...calls.map((keys) => keys.length))).toBeLessThanOrEqual(100);
        for (const keys of calls) expect(new Set(keys).size).toBe(keys.length);
      }),
      { numRuns: 30 },
    );
  });
});
