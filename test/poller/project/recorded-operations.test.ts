import { expect, test } from 'vitest';
import { askForRecorded } from '../../../functions/poller/project/recorded-operations.ts';
import { RECORDED_ABOVE_MAX } from '../../../shared/core/records/recorded-above.ts';
import { secondOf } from '../../../shared/core/time/timestamp.ts';
import type { IndexQuery } from '../../../shared/store/table.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);
const at = (seconds: number) => secondOf(NOON_MS + seconds * 1_000);
const ALL = { after: undefined, stretch: undefined };

/** The index shows one entry for each second from noon on, beside `others`. */
function anIndex({ count, others = [] }: { readonly count: number; readonly others?: readonly string[] }) {
  const entries = Array.from({ length: count }, (_, second) => ({
    sk: `OP#op-${second}`,
    sortKey: at(second),
  }));
  const all = [...others.map((sk) => ({ sk, sortKey: at(count) })), ...entries.toReversed()];
  const queries: IndexQuery[] = [];
  const query = async (asked: IndexQuery) => {
    queries.push(asked);
    const from = Number(asked.start?.['place'] ?? 0);
    const keys = all.slice(from, from + asked.limit).map((entry) => ({ pk: asked.partition, ...entry }));
    const place = from + asked.limit;
    return { keys, next: place < all.length ? { place: String(place) } : undefined };
  };
  return { queries, ask: askForRecorded({ query }, 'main') };
}

test('what the table holds of a project is found in one query, newest first', async () => {
  const { queries, ask } = anIndex({ count: 2, others: ['PROJECT'] });

  expect(await ask('quiet-pond', { ...ALL, after: at(-9) })).toEqual({
    operations: [
      { id: 'op-1', createdAt: at(1) },
      { id: 'op-0', createdAt: at(0) },
    ],
    isBoundMet: false,
  });
  expect(queries).toMatchObject([{ partition: 'A#main#P#quiet-pond', newestFirst: true, after: at(-9) }]);
});

test('one operation more is found than can be noted, so that it is known where the note ends', async () => {
  const { queries, ask } = anIndex({ count: 300 });
  const { operations: found, isBoundMet } = await ask('quiet-pond', ALL);

  expect(isBoundMet).toBe(false);
  expect(found).toHaveLength(RECORDED_ABOVE_MAX + 1);
  expect(found.at(-1)?.id).toBe(`op-${299 - RECORDED_ABOVE_MAX}`);
  expect(queries).toHaveLength(1);
});

test('what a walk has recorded before it was cut short needs no note, and what is above and below does', async () => {
  const { ask } = anIndex({ count: 300 });
  const { operations: found } = await ask('quiet-pond', {
    after: at(3),
    stretch: { head: at(290), lowest: at(5) },
  });

  expect(found.map(({ id }) => id)).toEqual([
    ...[299, 298, 297, 296, 295, 294, 293, 292, 291].map((second) => `op-${second}`),
    'op-5',
    'op-4',
  ]);
});

test('a walk that was very long hides what is below it: at most five pages of the index are read, and the bound is reported', async () => {
  const { queries, ask } = anIndex({ count: 2_000 });
  const wanted = { after: undefined, stretch: { head: at(2_000), lowest: at(5) } };

  expect(await ask('quiet-pond', wanted)).toEqual({ operations: [], isBoundMet: true });
  expect(queries).toHaveLength(5);
});

test('five hundred entries are read without meeting the bound', async () => {
  const { ask } = anIndex({ count: 500 });
  const found = await ask('quiet-pond', { after: undefined, stretch: { head: at(500), lowest: at(0) } });

  expect(found).toEqual({ operations: [{ id: 'op-0', createdAt: at(0) }], isBoundMet: false });
});
