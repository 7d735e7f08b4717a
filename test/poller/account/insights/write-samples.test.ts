import { describe, expect, test } from 'vitest';
import { type SampleGroup, writeSamples } from '../../../../functions/poller/account/insights.ts';
import { createInsightsStore, type InsightsStore } from '../../../../shared/insights/day-insights.ts';
import { insightsKey } from '../../../../shared/store/keys.ts';
import { A_DAY, samplesOf } from '../../../insights/a-sample.ts';
import { createMemoryTable } from '../../../simulation/memory-table.ts';

const DURATIONS = [100, 200, 400] as const;
const GROUP: SampleGroup = { projectId: undefined, day: A_DAY, samples: samplesOf(DURATIONS), sinceMs: 0 };

function setUp() {
  const table = createMemoryTable().as('poller');
  const store = createInsightsStore(table, 'main');
  /** Returns how many operations the stored day counts. */
  const storedCount = async () => {
    const read = await store.readDay(GROUP);
    if (read === 'unreadable') return read;
    const { attempts = {} } = read.insights.get('start_compute') ?? {};
    return Object.values(attempts).reduce((sum, count) => sum + count, 0);
  };
  return { table, store, storedCount };
}

/** Returns a store of which the first write goes as `write` says. */
function withFirstWrite(store: InsightsStore, write: InsightsStore['writeDay']): InsightsStore {
  let isFirst = true;
  return {
    ...store,
    async writeDay(day, next) {
      if (!isFirst) return store.writeDay(day, next);
      isFirst = false;
      return write(day, next);
    },
  };
}

describe('writing samples', () => {
  test('adds them to what is stored of their day', async () => {
    const { store, storedCount } = setUp();

    await writeSamples({ store, writer: 'a' }, GROUP);
    const second = await writeSamples({ store, writer: 'a' }, GROUP);

    expect(second).toEqual({ kind: 'written', leftOutCount: 0 });
    expect(await storedCount()).toBe(2 * DURATIONS.length);
  });

  test('loses nothing when another poller has written in between', async () => {
    const { store, storedCount } = setUp();
    const raced = withFirstWrite(store, async (day, next) => {
      await writeSamples({ store, writer: 'b' }, GROUP);
      return store.writeDay(day, next);
    });

    const outcome = await writeSamples({ store: raced, writer: 'a' }, GROUP);

    expect(outcome.kind).toBe('written');
    expect(await storedCount()).toBe(2 * DURATIONS.length);
  });

  test('counts nothing twice when the write was made and its reply was lost', async () => {
    const { store, storedCount } = setUp();
    const lossy = withFirstWrite(store, async (day, next) => {
      await store.writeDay(day, next);
      throw new Error('no reply');
    });

    const outcome = await writeSamples({ store: lossy, writer: 'a' }, GROUP);

    expect(outcome.kind).toBe('written');
    expect(await storedCount()).toBe(DURATIONS.length);
  });

  test.each([
    [2, 'written', DURATIONS.length],
    [3, 'waiting', 0],
  ])(
    'that is refused %i times ends as %s, because other pollers write the same item',
    async (count, kind, stored) => {
      const { store, storedCount } = setUp();
      let refusals = count;
      const writeDay: InsightsStore['writeDay'] = async (day, next) =>
        refusals-- > 0 ? 'refused' : store.writeDay(day, next);

      expect((await writeSamples({ store: { ...store, writeDay }, writer: 'a' }, GROUP)).kind).toBe(kind);
      expect(await storedCount()).toBe(stored);
    },
  );

  test('waits when the day could not be read', async () => {
    const { store, storedCount } = setUp();
    const readDay = () => Promise.reject(new Error('throttled'));

    expect(await writeSamples({ store: { ...store, readDay }, writer: 'a' }, GROUP)).toEqual({
      kind: 'waiting',
    });
    expect(await storedCount()).toBe(0);
  });

  test('counts them once when the SDK has repeated a write that was made, and its repetition is refused', async () => {
    const { store, storedCount } = setUp();
    const repeated: InsightsStore = {
      ...store,
      async writeDay(day, next) {
        await store.writeDay(day, next);
        return store.writeDay(day, next);
      },
    };

    expect((await writeSamples({ store: repeated, writer: 'a' }, GROUP)).kind).toBe('written');
    expect(await storedCount()).toBe(DURATIONS.length);
  });

  test('gives the samples up when a reply is lost and the day cannot be read afterwards', async () => {
    const { store } = setUp();
    let isWritten = false;
    const unclear: InsightsStore = {
      ...store,
      readDay: (day) => (isWritten ? Promise.reject(new Error('throttled')) : store.readDay(day)),
      async writeDay() {
        isWritten = true;
        throw new Error('no reply');
      },
    };

    expect(await writeSamples({ store: unclear, writer: 'a' }, GROUP)).toEqual({ kind: 'lost' });
  });

  test.each([
    ['another poller has written in its place', 'b', 1],
    ['this poller has written more since', 'a', 2],
  ])('gives the samples up when a reply is lost and %s', async (_what, writer, revision) => {
    const { store } = setUp();
    const unclear = withFirstWrite(store, async (day, next) => {
      for (let written = 1; written <= revision; written++)
        await store.writeDay(day, { ...next, writer, revision: written });
      throw new Error('no reply');
    });

    expect(await writeSamples({ store: unclear, writer: 'a' }, GROUP)).toEqual({ kind: 'lost' });
  });

  test('waits when the write was not made', async () => {
    const { store, storedCount } = setUp();
    const throttled = withFirstWrite(store, async () => {
      throw new Error('throttled');
    });

    const outcome = await writeSamples({ store: throttled, writer: 'a' }, GROUP);

    expect(outcome).toEqual({ kind: 'waiting' });
    expect(await storedCount()).toBe(0);
  });

  test('gives the samples up when another poller has written since and nothing says whether they are in', async () => {
    const { store, storedCount } = setUp();
    const unclear = withFirstWrite(store, async (day, next) => {
      await store.writeDay(day, next);
      await writeSamples({ store, writer: 'b' }, GROUP);
      throw new Error('no reply');
    });

    const outcome = await writeSamples({ store: unclear, writer: 'a' }, GROUP);

    expect(outcome).toEqual({ kind: 'lost' });
    expect(await storedCount()).toBe(2 * DURATIONS.length);
  });

  test('leaves an item alone that this version cannot read', async () => {
    const { table, store } = setUp();
    const key = insightsKey('main', undefined, A_DAY);
    await table.update({ key, set: { kind: 'insights', revision: 3, writer: 'newer', actions: 'packed' } });

    const outcome = await writeSamples({ store, writer: 'a' }, GROUP);

    expect(outcome).toEqual({ kind: 'lost' });
    expect(table.sync.peek(key)).toMatchObject({ revision: 3, actions: 'packed' });
  });

  test('lets the item expire two days after it was last looked at', async () => {
    const { table, store } = setUp();

    await writeSamples({ store, writer: 'a' }, GROUP);

    const item = table.sync.peek(insightsKey('main', undefined, A_DAY));
    expect(new Date(Number(item?.['expires_at']) * 1_000).toISOString()).toBe('2026-01-24T00:00:00.000Z');
  });
});
