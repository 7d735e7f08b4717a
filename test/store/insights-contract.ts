/** Tests what insights need of a table, whatever it is made of. The same suite runs on every implementation. */

import { describe, expect, test } from 'vitest';
import {
  createInsightsStore,
  insightDays,
  NO_INSIGHTS,
  withSamples,
} from '../../shared/insights/day-insights.ts';
import type { Table } from '../../shared/store/table.ts';
import { NOON_MS } from '../builders.ts';
import { A_DAY, addTo, samplesOf } from '../insights/values.ts';

/** The account is new for every test, so that one table serves them all. */
export function describeInsights(name: string, open: () => Table): void {
  let testCount = 0;
  const fresh = () => {
    testCount += 1;
    return createInsightsStore(open(), `insights-${testCount}`);
  };
  const samples = [
    ...samplesOf([300, 310, 60_000, 1]),
    ...samplesOf([5], { action: 'a.strange-action with "signs" #1' }),
  ];
  const { counts } = withSamples(NO_INSIGHTS, samples);
  const [oldest = A_DAY, ...later] = insightDays(NOON_MS);

  describe(`insights on ${name}`, () => {
    test('are read as they were written, and have revision 0 before', async () => {
      const item = fresh().itemOf({ projectId: 'quiet-pond-12345678', day: oldest });
      const written = { counts, revision: 1, writer: 'a-process' };
      const before = await item.read();

      await item.write(written);

      expect(before).toEqual({ counts: NO_INSIGHTS, revision: 0, writer: '' });
      expect(await item.read()).toStrictEqual(written);
    });

    test('are replaced only by the next revision', async () => {
      const item = fresh().itemOf({ projectId: undefined, day: oldest });
      const writeRevision = (revision: number) => item.write({ counts, revision, writer: 'a-process' });

      expect(await writeRevision(2)).toBe('refused');
      expect(await writeRevision(1)).toBe('applied');
      expect(await writeRevision(1)).toBe('refused');
      expect(await writeRevision(2)).toBe('applied');
    });

    test('of the last days are read together, those of a project apart from those of the account', async () => {
      const store = fresh();
      const last = later.at(-1) ?? oldest;
      for (const day of [oldest, last]) await addTo(store.itemOf({ projectId: undefined, day }), samples);
      await addTo(store.itemOf({ projectId: 'a', day: last }), samples);
      const readFilled = async (projectId: string | undefined, nowMs = NOON_MS) =>
        (await store.readDays(projectId, nowMs)).filter(({ size }) => size > 0);

      expect(await readFilled(undefined)).toEqual([counts, counts]);
      expect(await readFilled('a')).toEqual([counts]);
      expect(await readFilled('b')).toEqual([]);
      expect(await readFilled(undefined, NOON_MS + 86_400_000)).toEqual([counts]);
    });
  });
}
