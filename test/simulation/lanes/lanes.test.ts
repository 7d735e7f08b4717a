import { describe, expect, test } from 'vitest';
import { simulateLanes } from './lanes-world.ts';

const SEEDS = [1, 2, 4, 5, 6, 7];

describe('lanes whose number and accounts change at random', () => {
  test.each(SEEDS)('lose nothing, and never send for one account at once (seed %i)', async (seed) => {
    const { violations, changeCount, eventCount } = await simulateLanes(seed);

    expect(violations).toEqual([]);
    expect(changeCount).toBeGreaterThan(10);
    expect(eventCount).toBeGreaterThan(0);
  });

  test('share the work: more than one of them has sent requests', async () => {
    const { requestsByLane } = await simulateLanes(1);

    expect(requestsByLane.size).toBeGreaterThan(1);
  });

  test('would send at once if they ignored the lease, and the check finds it', async () => {
    const found = await Promise.all(SEEDS.map((seed) => simulateLanes(seed, { ignoresLease: true })));

    expect(found.flatMap(({ violations }) => violations).map(({ rule }) => rule)).toContain('one sender');
  });
});
