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
    async queryWorkPage({ work, limit }) {
      calls.push([`${work} ${limit}`]);
      await sleep(CALL_MS);
      const all = work === 'small' ? [] : ['a', 'b', 'c'].map((id) => leaseKey(id));
      return { keys: all.slice(0, limit), next: all.length > limit ? { pk: 'next' } : undefined };
    },
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

  test('of the work of an account are shared while one is under way, when it shows all of the work', async () => {
    const { scheduler, calls, reads } = lane();
    const pageOf = (work: string, limit: number) => reads.queryWorkPage({ work, limit });

    const small = Promise.all([pageOf('small', 200), pageOf('small', 1_000)]);
    const large = Promise.all([pageOf('large', 2), pageOf('large', 1_000)]);
    const narrow = Promise.all([pageOf('narrow', 5), pageOf('narrow', 2)]);
    await scheduler.runUntil(1_000);

    expect((await small).map(({ keys }) => keys.length)).toEqual([0, 0]);
    expect((await large).map(({ keys }) => keys.length)).toEqual([2, 3]);
    expect((await narrow).map(({ keys }) => keys.length)).toEqual([3, 2]);
    expect(calls.map(([first]) => first)).toEqual([
      'small 200',
      'large 2',
      'narrow 5',
      'large 1000',
      'narrow 2',
    ]);
    void pageOf('small', 200);
    expect(calls).toHaveLength(6);
  });

  test('of a later page, or of one project, are never answered with the first page of the account', async () => {
    const { scheduler, calls, reads } = lane();
    const query = { work: 'small', limit: 200 };
    const pages = Promise.all([
      reads.queryWorkPage(query),
      reads.queryWorkPage({ ...query, start: { pk: 'here' } }),
      reads.queryWorkPage({ ...query, pk: 'a-project' }),
    ]);
    await scheduler.runUntil(1_000);

    expect(await pages).toHaveLength(3);
    expect(calls).toHaveLength(3);
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
