import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NO_SETTLED_ROWS, settledRowsOf } from '../../../functions/poller/project/settled-rows.ts';

const state = fc.record({
  status: fc.oneof(fc.constantFrom('finished', 'error', 'skipped', 'cancelled'), fc.string()),
  failures_count: fc.nat(1_000),
});

test('rows are remembered in their state and in no other, whatever their ids and states are', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), state), fc.string(), state, (states, otherId, other) => {
      const known = new Map(Object.entries(states));
      const rows = settledRowsOf(known);

      for (const [id, own] of known) {
        expect(rows.has(id, own)).toBe(true);
        expect(rows.has(id, { ...own, failures_count: own.failures_count + 1 })).toBe(false);
        expect(rows.has(id, { ...own, status: `${own.status}?` })).toBe(false);
      }
      if (!known.has(otherId)) expect(rows.has(otherId, other)).toBe(false);
    }),
  );
});

test('a hundred thousand operations that differ in one character have a hundred thousand numbers', () => {
  const finished = { status: 'finished', failures_count: 0 };
  const idOf = (index: number) => `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`;
  const even = Array.from({ length: 100_000 }, (_, index) => [idOf(2 * index), finished] as const);
  const rows = settledRowsOf(new Map(even));

  expect(even.every(([id]) => rows.has(id, finished))).toBe(true);
  expect(even.some((_, index) => rows.has(idOf(2 * index + 1), finished))).toBe(false);
});

test('nothing is among no rows', () => {
  expect(NO_SETTLED_ROWS.has('', { status: '', failures_count: 0 })).toBe(false);
});
