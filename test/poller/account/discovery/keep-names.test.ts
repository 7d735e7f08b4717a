import { describe, expect, test } from 'vitest';
import { fetchListPage } from '../../../../functions/poller/account/discovery/fetch-list-page.ts';
import {
  createNameKeeper,
  keepNamesRepeatedly,
  withNames,
} from '../../../../functions/poller/account/discovery/keep-names.ts';
import { noKnownProjects } from '../../../../functions/poller/account/discovery/known-projects.ts';
import { noListings } from '../../../../functions/poller/account/discovery/listings.ts';
import { createBoundReports } from '../../../../functions/poller/account/status/report-bound.ts';
import { silentTelemetry } from '../../../../shared/runtime/telemetry.ts';
import {
  createProjectNames,
  NAME_ITEMS,
  NAMES_PER_ITEM_MAX,
  namesPlaceOf,
} from '../../../../shared/store/project-names.ts';
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

  test('beyond the bound of an item are left out and counted', () => {
    const names = new Map(Array.from({ length: NAMES_PER_ITEM_MAX }, (_, index) => [`p-${index}`, 'x']));

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
    const upstream = { listProjects: async () => ({ ...page, cursor: undefined, serverDateMs: undefined }) };
    const { signal } = controller;

    await fetchListPage({ upstream, clock, telemetry: silentTelemetry, signal, names: port }, undefined);
    const discovery = { projects: noKnownProjects(), listings: noListings() };
    await keepNamesRepeatedly({ names: port, clock, telemetry: silentTelemetry, bounds, signal }, discovery);

    expect(sleeps[0]).toBe(5_000);
    expect(await names.nameOf('a')).toBe('shop');
  });
});
