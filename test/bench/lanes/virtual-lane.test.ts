import { expect, test } from 'vitest';
import { runVirtualLane } from './virtual-lane.ts';

test('a lane loses no operation of its accounts, and none of their services refuses a request', async () => {
  const { complete, refused, mean_s, transitions } = await runVirtualLane({
    accounts: 4,
    projects: 10,
    minutes: 20,
    requestsPerMinute: 40,
    pollIntervalMs: 1_000,
    seed: 3,
  });

  expect(transitions).toBeGreaterThan(10);
  expect([complete, refused]).toEqual([1, 0]);
  expect(mean_s).toBeLessThan(10);
});
