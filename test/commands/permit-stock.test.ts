/** Tests that a permit of the table is used once, in time, or never. */

import { expect, test } from 'vitest';
import { PermitStock } from '../../shared/commands/permits/permit-stock.ts';
import { PERMIT_MS } from '../../shared/core/rates/account-rate.ts';

const INTERVAL_MS = 100;
const GRANTED = 4;

/** The table gives out `GRANTED` permits, one interval apart, the first of them for now. */
async function stockedAt(startMs: number) {
  let nowMs = startMs;
  const stock = new PermitStock({
    clock: { now: () => nowMs, sleep: () => Promise.withResolvers<void>().promise },
    limitAt: () => ({ intervalMs: INTERVAL_MS, toleranceMs: 10 * INTERVAL_MS }),
    notes: {
      writableAtMs: () => 0,
      nextPlaceMs: () => 0,
      hasFailed: () => false,
      note: async () => {},
      noteAndAsk: async () => ({
        permitCount: GRANTED,
        requestCount: 0,
        nextAtMs: startMs + GRANTED * INTERVAL_MS,
        window: 0,
        members: new Map(),
        writeCount: 1,
      }),
    },
  });
  await stock.obtain('alone', startMs);
  const takenAt = (atMs: number) => {
    nowMs = atMs;
    let count = 0;
    while (count <= GRANTED && stock.tryTake('alone')) count += 1;
    return count;
  };
  return { takenAt };
}

test('each permit is used once', async () => {
  const { takenAt } = await stockedAt(1_000_000);
  expect(takenAt(1_000_000)).toBe(GRANTED);
  expect(takenAt(1_000_000)).toBe(0);
});

test('a permit is lost at its end, and the later ones are left', async () => {
  const { takenAt } = await stockedAt(1_000_000);
  expect(takenAt(1_000_000 + PERMIT_MS + INTERVAL_MS)).toBe(GRANTED - 2);
});

test('nothing is left when the last permit has ended', async () => {
  const { takenAt } = await stockedAt(1_000_000);
  expect(takenAt(1_000_000 + PERMIT_MS + (GRANTED - 1) * INTERVAL_MS)).toBe(0);
});
