/** Tests what insights need of a table, whatever it is made of. The same suite runs on every implementation. */

import { describe, expect, test } from 'vitest';
import { createInsightsStore, insightDays, withSamples } from '../../shared/insights/day-insights.ts';
import type { Table } from '../../shared/store/table.ts';
import { NOON_MS } from '../builders.ts';
import { samplesOf } from '../insights/a-sample.ts';

/** The account is new for every test, so that one table serves them all. */
export function describeInsights(name: string, open: () => Table): void {
  let testCount = 0;
  const fresh = () => {
    testCount += 1;
    return createInsightsStore(open(), `insights-${testCount}`);
  };
  const { insights } = withSamples(new Map(), [
    ...samplesOf([300, 310, 60_000, 1]),
    ...samplesOf([5], { action: 'a.strange-action with "signs" #1' }),
  ]);
  const [oldest, ...later] = insightDays(NOON_MS);

  describe(`insights on ${name}`, () => {
    test('are read as they were written, and have revision 0 before', async () => {
      const store = fresh();
      const day = { projectId: 'quiet-pond-12345678', day: oldest ?? ('' as never) };
      const before = await store.readDay(day);

      await store.writeDay(day, { insights, revision: 1, writer: 'a-process' });

      expect(before).toEqual({ insights: new Map(), revision: 0, writer: '' });
      expect(await store.readDay(day)).toEqual({ insights, revision: 1, writer: 'a-process' });
    });

    test('are replaced only by the next revision', async () => {
      const store = fresh();
      const day = { projectId: undefined, day: oldest ?? ('' as never) };
      const write = (revision: number) => store.writeDay(day, { insights, revision, writer: 'a-process' });

      expect(await write(2)).toBe('refused');
      expect(await write(1)).toBe('applied');
      expect(await write(1)).toBe('refused');
      expect(await write(2)).toBe('applied');
    });

    test('of the last days are read together, those of a project apart from those of the account', async () => {
      const store = fresh();
      const last = later.at(-1) ?? ('' as never);
      for (const day of [oldest ?? last, last])
        await store.writeDay({ projectId: undefined, day }, { insights, revision: 1, writer: 'a' });
      await store.writeDay({ projectId: 'a', day: last }, { insights, revision: 1, writer: 'a' });

      expect(await store.readDays(undefined, NOON_MS)).toEqual([insights, insights]);
      expect(await store.readDays('a', NOON_MS)).toEqual([insights]);
      expect(await store.readDays('b', NOON_MS)).toEqual([]);
      expect(await store.readDays(undefined, NOON_MS + 86_400_000)).toEqual([insights]);
    });
  });
}
