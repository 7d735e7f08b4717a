import { describe, expect, test } from 'vitest';
import type { UsageWatch } from '../../../../functions/poller/account/account-deps.ts';
import { noListings } from '../../../../functions/poller/account/account-memory.ts';
import {
  createNameKeeper,
  keepNamesRepeatedly,
  withNames,
} from '../../../../functions/poller/account/discovery/keep-names.ts';
import { noKnownProjects } from '../../../../functions/poller/account/discovery/known-projects.ts';
import { fetchListPage } from '../../../../functions/poller/account/discovery/list-page.ts';
import { createBoundReports } from '../../../../functions/poller/account/status/report-bound.ts';
import { emptyMemory } from '../../../../functions/poller/project/project-memory.ts';
import { silentTelemetry } from '../../../../shared/runtime/telemetry.ts';
import {
  createProjectNames,
  NAME_ITEMS,
  NAMES_PER_ITEM_MAX,
  namesPlaceOf,
} from '../../../../shared/store/project-names.ts';
import type { UpstreamClient } from '../../../../shared/upstream/upstream-client.ts';
import { aTelemetry, only } from '../../../builders.ts';
import { createMemoryTable } from '../../../simulation/memory-table.ts';

const isGone = () => false;
const bounds = createBoundReports(silentTelemetry);
const writing = { isGone, bounds };

function setUp() {
  const table = createMemoryTable().as('poller');
  let writeCount = 0;
  let readCount = 0;
  const counted = {
    ...table,
    getMany: (keys: Parameters<typeof table.getMany>[0]) => {
      readCount += 1;
      return table.getMany(keys);
    },
    update: (update: Parameters<typeof table.update>[0]) => {
      writeCount += 1;
      return table.update(update);
    },
  };
  const keeper = () => createNameKeeper(createProjectNames(counted, 'main'));
  const names = createProjectNames(table, 'main');
  return { keeper, names, writeCount: () => writeCount, readCount: () => readCount };
}

describe('the names of projects', () => {
  test('are stored as the list shows them, and a page of 5,000 is read with one call of 32 items', async () => {
    const { keeper, names } = setUp();
    const rows = Array.from({ length: 5_000 }, (_, index) => ({
      id: `project-${index}`,
      name: `shop ${index}`,
    }));
    const one = keeper();
    one.take(rows);

    await one.write(writing);

    const stored = await names.readAll();
    expect(stored.size).toBe(NAME_ITEMS);
    expect([...stored.values()].reduce((sum, each) => sum + each.names.size, 0)).toBe(5_000);
    expect(await names.nameOf('project-4711')).toBe('shop 4711');
    expect(await names.nameOf('project-unknown')).toBeUndefined();
  });

  test('cost nothing while they stay the same, also after a restart', async () => {
    const { keeper, writeCount, readCount } = setUp();
    const rows = [{ id: 'a', name: 'shop' }, { id: 'b', name: 'blog' }, { id: 'c' }];
    const one = keeper();
    one.take(rows);
    await one.write(writing);
    const [written, read] = [writeCount(), readCount()];
    for (let listing = 0; listing < 10; listing++) {
      one.take(rows);
      await one.write(writing);
    }
    expect([writeCount(), readCount()]).toEqual([written, read]);

    const another = keeper();
    another.take(rows);
    await another.write(writing);

    expect([writeCount(), readCount()]).toEqual([written, read + 1]);
  });

  test('follow a change, and are written by two processes at once without loss', async () => {
    const { keeper, names } = setUp();
    const [one, two] = [keeper(), keeper()];
    one.take([{ id: 'a', name: 'shop' }]);
    await one.write(writing);
    const sibling = Array.from({ length: 1_000 }, (_, index) => `p-${index}`).find(
      (id) => namesPlaceOf(id) === namesPlaceOf('a'),
    );
    two.take([{ id: sibling ?? '', name: 'blog' }]);
    await two.write(writing);

    one.take([{ id: 'a', name: 'shop 2' }]);
    await one.write(writing);
    await one.write(writing);

    expect([await names.nameOf('a'), await names.nameOf(sibling ?? '')]).toEqual(['shop 2', 'blog']);
  });

  test('are forgotten with the next write once a project is gone', () => {
    const stored = {
      names: new Map([
        ['a', 'shop'],
        ['b', 'blog'],
      ]),
      revision: 4,
    };

    const { next } = withNames(stored, [['c', 'wiki']], (id) => id === 'a');

    expect(next).toEqual({
      names: new Map([
        ['b', 'blog'],
        ['c', 'wiki'],
      ]),
      revision: 5,
    });
  });

  const manyIds = Array.from({ length: NAMES_PER_ITEM_MAX }, (_, index) => `p-${index}`);

  test('beyond the bound of an item are left out and counted', () => {
    const names = new Map(manyIds.map((id) => [id, 'x']));

    const { next, leftOutCount } = withNames(
      { names, revision: 1 },
      [
        ['p-0', 'renamed'],
        ['new', 'y'],
      ],
      isGone,
    );

    expect([next.names.size, next.names.get('p-0'), leftOutCount]).toEqual([
      NAMES_PER_ITEM_MAX,
      'renamed',
      1,
    ]);
  });

  test('are cut to 64 characters, and a project without one has none', async () => {
    const { keeper, names, readCount } = setUp();
    const one = keeper();
    one.take([{ id: 'a' }, { id: 'b', name: '' }]);
    await one.write(writing);
    expect(readCount()).toBe(0);
    one.take([{ id: 'a' }, { id: 'c', name: 'x'.repeat(65) }]);

    await one.write(writing);

    expect(await Promise.all(['a', 'b', 'c'].map((id) => names.nameOf(id)))).toEqual([
      undefined,
      undefined,
      'x'.repeat(64),
    ]);
  });

  test('that do not fit into a full item are reported as a bound, and cost no write', async () => {
    const full = { names: new Map(manyIds.map((id) => [id, 'x'])), revision: 3 };
    const writes: unknown[] = [];
    const reported: unknown[] = [];
    const one = createNameKeeper({
      readAll: async () => new Map([[namesPlaceOf('a'), full]]),
      write: async (...args) => {
        writes.push(args);
        return 'applied';
      },
    });
    const report = (...bound: readonly unknown[]) => void reported.push(bound);
    one.take([{ id: 'a', name: 'shop' }]);

    await one.write({ isGone, bounds: { ...bounds, report } });

    expect([writes, reported]).toEqual([[], [['project_names', NAMES_PER_ITEM_MAX]]]);
  });

  test('that fit are no bound, and an item that this version cannot read is left alone', async () => {
    const writes: unknown[] = [];
    const reported: unknown[] = [];
    const unreadable = Array.from({ length: 1_000 }, (_, index) => `p-${index}`).find(
      (id) => namesPlaceOf(id) !== namesPlaceOf('a'),
    );
    const one = createNameKeeper({
      readAll: async () => new Map([[namesPlaceOf('a'), { names: new Map(), revision: 0 }]]),
      write: async (place) => {
        writes.push(place);
        return 'applied';
      },
    });
    const report = (...bound: readonly unknown[]) => void reported.push(bound);
    one.take([
      { id: 'a', name: 'shop' },
      { id: unreadable ?? '', name: 'blog' },
    ]);

    await one.write({ isGone, bounds: { ...bounds, report } });

    expect([writes, reported]).toEqual([[namesPlaceOf('a')], []]);
  });

  test('that could not be written are written the next time, from what the table has then', async () => {
    const { names } = setUp();
    let failures = 1;
    const one = createNameKeeper({
      readAll: () => names.readAll(),
      write: async (place, next) => {
        if (failures-- > 0) throw new Error('the table is busy');
        return names.write(place, next);
      },
    });
    one.take([{ id: 'a', name: 'shop' }]);
    await one.write(writing);
    expect(await names.nameOf('a')).toBeUndefined();

    await one.write(writing);

    expect(await names.nameOf('a')).toBe('shop');
  });

  test('are looked at again after a failure, which is logged with its kind', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const logs: unknown[] = [];
    let writeCount = 0;
    const gone: boolean[] = [];
    const names = {
      take: () => {},
      storedIds: async () => [],
      write: async ({ isGone: mayBeForgotten }: { readonly isGone: (id: string) => boolean }) => {
        gone.push(mayBeForgotten('gone'), mayBeForgotten('known'));
        writeCount += 1;
        if (writeCount === 3) controller.abort();
        throw new TypeError('the table is busy');
      },
    };
    const discovery = { projects: noKnownProjects(), listings: noListings() };
    discovery.projects.memories.set('known', emptyMemory());
    const clock = {
      now: () => 0,
      sleep: async () => {
        if (writeCount === 1) discovery.listings.hasEnded = true;
      },
    };
    const telemetry = aTelemetry({ log: (...line) => void logs.push(line) });

    await keepNamesRepeatedly(only({ names, clock, telemetry, bounds, signal }), discovery);

    expect(logs).toEqual(
      Array.from({ length: 3 }, () => ['warn', 'names.not_written', { reason: 'TypeError' }]),
    );
    // Before the end of the first listing nothing is known to be gone.
    expect(gone).toEqual([false, false, true, false, true, false]);
  });

  test('come from the pages that the poller reads, five seconds later', async () => {
    const { keeper, names } = setUp();
    const port = keeper();
    const controller = new AbortController();
    const sleeps: number[] = [];
    const clock = {
      now: () => 0,
      sleep: async (durationMs: number) => {
        sleeps.push(durationMs);
        if (sleeps.length === 2) controller.abort();
      },
    };
    const page = { projects: [{ id: 'a', name: 'shop' }], unavailableProjectIds: [], malformedRowCount: 0 };
    const upstream = only<UpstreamClient>({
      listProjects: async () => ({ ...page, cursor: undefined, serverDateMs: undefined }),
    });
    const { signal } = controller;
    const usage = only<UsageWatch>({ take: () => {} });

    await fetchListPage(
      only({ upstream, clock, telemetry: silentTelemetry, signal, names: port, usage }),
      undefined,
      { use: () => true },
    );
    const discovery = { projects: noKnownProjects(), listings: noListings() };
    await keepNamesRepeatedly(
      only({ names: port, clock, telemetry: silentTelemetry, bounds, signal }),
      discovery,
    );

    expect(sleeps[0]).toBe(5_000);
    expect(await names.nameOf('a')).toBe('shop');
  });
});
