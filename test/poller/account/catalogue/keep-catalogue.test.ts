import { describe, expect, test } from 'vitest';
import { createCatalogueStore } from '../../../../functions/poller/account/catalogue/catalogue-store.ts';
import { CATALOGUE_CHUNKS } from '../../../../functions/poller/account/catalogue/catalogue-text.ts';
import {
  createCatalogueKeeper,
  keepCatalogueRepeatedly,
} from '../../../../functions/poller/account/catalogue/keep-catalogue.ts';
import { ignoreUnreadable } from '../../../../shared/store/unreadable.ts';
import { NOON_MS } from '../../../builders.ts';
import { createMemoryTable } from '../../../simulation/memory-table.ts';
import { anInvocation } from '../invocation-under-test.ts';

const HOUR_MS = 3_600_000;

const projectsNamed = (...ids: readonly string[]) => ids.map((id) => ({ id, history: undefined }));

const many = projectsNamed(...Array.from({ length: 2_000 }, (_, place) => `p${place}`));

function setUp() {
  const table = createMemoryTable().as('poller');
  const calls = { reads: 0, writes: 0 };
  const counted = {
    getMany: (keys: Parameters<typeof table.getMany>[0]) => {
      calls.reads += 1;
      return table.getMany(keys);
    },
    update: (update: Parameters<typeof table.update>[0]) => {
      calls.writes += 1;
      return table.update(update);
    },
  };
  const keeper = () => createCatalogueKeeper(createCatalogueStore(counted, 'main', ignoreUnreadable));
  const writeAll = async (one: ReturnType<typeof keeper>, projects: typeof many, nowMs: number) => {
    let callCount = 1;
    while (await one.write(() => projects, nowMs)) callCount += 1;
    return callCount;
  };
  const namedIn = async () => new Set((await keeper().readAll()).map(({ id }) => id));
  return { keeper, writeAll, namedIn, calls };
}

describe('the catalogue of an account', () => {
  test('is written a few chunks at a time, and one call reads all of it', async () => {
    const { keeper, writeAll, namedIn, calls } = setUp();
    const one = keeper();

    expect(await writeAll(one, many, NOON_MS)).toBe(CATALOGUE_CHUNKS / 8);
    expect(calls).toEqual({ reads: 1, writes: CATALOGUE_CHUNKS });
    expect(await namedIn()).toEqual(new Set(many.map(({ id }) => id)));
    expect(calls.reads).toBe(2);
  });

  test('costs no write while its projects stay the same, and one when a project is gone', async () => {
    const { keeper, writeAll, namedIn, calls } = setUp();
    const one = keeper();
    await writeAll(one, many, NOON_MS);
    await writeAll(one, many, NOON_MS + 2 * HOUR_MS);
    expect(calls.writes).toBe(CATALOGUE_CHUNKS);

    await writeAll(one, many.slice(1), NOON_MS + 2 * HOUR_MS);
    expect(calls.writes).toBe(CATALOGUE_CHUNKS + 1);
    expect((await namedIn()).has('p0')).toBe(false);
  });

  test('is what the last of two processes has written, and neither repeats its write for ever', async () => {
    const { keeper, writeAll, namedIn, calls } = setUp();
    const [one, other] = [keeper(), keeper()];
    await writeAll(one, projectsNamed('a'), NOON_MS);
    await writeAll(other, projectsNamed('a', 'b', 'c'), NOON_MS + HOUR_MS);
    expect(await namedIn()).toEqual(new Set(['a', 'b', 'c']));

    // What this process knows is old, so its first write is refused and it reads the chunks again.
    await writeAll(one, projectsNamed('a', 'b', 'c', 'd'), NOON_MS + 3 * HOUR_MS);
    expect(await namedIn()).toEqual(new Set(['a', 'b', 'c', 'd']));
    const { writes } = calls;
    await writeAll(one, projectsNamed('a', 'b', 'c', 'd'), NOON_MS + 3 * HOUR_MS);
    expect(calls.writes).toBe(writes);
  });
});

describe('the loop of an invocation', () => {
  function account(sighted: readonly string[], endedAtMs: number | undefined) {
    const { deps, stop, hooks, memory } = anInvocation();
    const written: string[][] = [];
    const catalogue = {
      readAll: async () => [],
      write: async (projects: () => Iterable<{ readonly id: string }>) => {
        written.push(Array.from(projects(), ({ id }) => id));
        return false;
      },
    };
    for (const id of sighted) memory.projects.sighted.add(id);
    memory.listings.endedAtMs = endedAtMs;
    let looks = 0;
    hooks.onSleep = () => {
      looks += 1;
      if (looks === 3) stop.abort();
    };
    const limits = { cataloguedFrom: 2 };
    const run = () =>
      keepCatalogueRepeatedly({ ...deps, catalogue, limits }, memory.projects, memory.listings);
    return { run, written, catalogue, logs: deps.telemetry };
  }

  test('writes the projects whose records this process has read', async () => {
    const { run, written } = account(['a', 'b'], NOON_MS);
    await run();

    expect(written).toEqual([['a', 'b']]);
  });

  test('writes nothing before the list was read to its end, because others would be left out', async () => {
    const { run, written } = account(['a', 'b'], undefined);
    await run();

    expect(written).toEqual([]);
  });

  test('writes nothing for an account with fewer projects', async () => {
    const { run, written } = account(['a'], NOON_MS);
    await run();

    expect(written).toEqual([]);
  });

  test('tries again when a write has failed', async () => {
    const { run, written, catalogue } = account(['a', 'b'], NOON_MS);
    const { write } = catalogue;
    let failures = 1;
    catalogue.write = (projects) =>
      failures-- > 0 ? Promise.reject(new Error('throttled')) : write(projects);
    await run();

    expect(written).toEqual([['a', 'b']]);
  });
});
