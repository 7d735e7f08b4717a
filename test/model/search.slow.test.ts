/** Searches many more schedules of the protocol than `model.test.ts`. `npm run test:slow` runs it. */

import { expect, test } from 'vitest';
import { follow } from './follow.ts';

const SEEDS = 60_000;

test(`no promise is broken and each trace is accepted in ${SEEDS} further schedules`, {
  timeout: 900_000,
}, async () => {
  for (let seed = 4_000_001; seed <= 4_000_000 + SEEDS; seed++) {
    if (seed % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
    const { violations, rejections } = follow({ seed });
    expect(violations, `seed ${seed}`).toEqual([]);
    expect(rejections, `seed ${seed}`).toEqual([]);
  }
});
