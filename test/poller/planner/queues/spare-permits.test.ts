import { describe, expect, test } from 'vitest';
import { createSparePermits } from '../../../../functions/poller/planner/queues/spare-permits.ts';

/** At 600 requests a minute a permit comes every 100 ms, and the bucket is assumed to fill a little more slowly. */
const PERMIT_MS = 100 / 0.97;

describe('the permits that the rate limit has saved up', () => {
  test('are there from the start', () => {
    expect(createSparePermits(600).savedAtMs(3)).toBe(Number.NEGATIVE_INFINITY);
  });

  test('come back one after the other when some were used', () => {
    const spare = createSparePermits(600);
    for (let count = 0; count < 4; count++) spare.spend(1_000);

    expect(spare.savedAtMs(1)).toBeCloseTo(1_000 + PERMIT_MS);
    expect(spare.savedAtMs(2)).toBeCloseTo(1_000 + 2 * PERMIT_MS);
  });

  test('are at most four, however long nothing was sent', () => {
    const spare = createSparePermits(600);
    spare.spend(0);
    spare.spend(1_000_000);

    expect(spare.savedAtMs(3)).toBeCloseTo(1_000_000);
    expect(spare.savedAtMs(4)).toBeCloseTo(1_000_000 + PERMIT_MS);
  });

  test('are saved up soon, however long permits came faster than the bucket is assumed to fill', () => {
    const spare = createSparePermits(600);
    for (let count = 0; count <= 36_000; count++) spare.spend(100 * count);

    expect(spare.savedAtMs(1)).toBeLessThanOrEqual(3_600_000 + PERMIT_MS);
  });
});
