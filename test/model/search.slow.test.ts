/** Searches many more schedules of the protocol than `model.test.ts`. `npm run test:slow` runs it. */

import { expect, test } from 'vitest';
import { play } from './schedule.ts';

const SEEDS = 60_000;

test(`no promise is broken in ${SEEDS} further schedules`, { timeout: 900_000 }, async () => {
  for (let seed = 4_000_001; seed <= 4_000_000 + SEEDS; seed++) {
    if (seed % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(play({ seed }).violations, `seed ${seed}`).toEqual([]);
  }
});
