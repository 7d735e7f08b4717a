import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { laneOf } from '../../shared/accounts/account.ts';

const ids = Array.from({ length: 2_000 }, (_, index) => ({ account_id: `tenant-${index}` }));
const accountIds = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,20}$/).map((account_id) => ({ account_id }));
const laneCounts = fc.integer({ min: 1, max: 500 });

/** The lanes of `tenant-0` to `tenant-19` among a hundred, by the algorithm of Lamping and Veach. */
const GOLDEN = [15, 50, 83, 39, 28, 86, 45, 50, 3, 4, 71, 67, 30, 99, 4, 90, 39, 27, 53, 50];

describe('the lane of an account', () => {
  test('is one of the lanes, and always the same', () => {
    fc.assert(
      fc.property(accountIds, laneCounts, (account, laneCount) => {
        const lane = laneOf(account, laneCount);

        expect(lane).toBeGreaterThanOrEqual(0);
        expect(lane).toBeLessThan(laneCount);
        expect(laneOf({ ...account }, laneCount)).toBe(lane);
      }),
    );
  });

  test('stays, or becomes the new lane, when one lane is added', () => {
    fc.assert(
      fc.property(accountIds, laneCounts, (account, laneCount) => {
        const before = laneOf(account, laneCount);
        const after = laneOf(account, laneCount + 1);

        expect([before, laneCount]).toContain(after);
      }),
    );
  });

  test('is spread so that each of ten lanes gets its tenth of 2,000 accounts, within a fifth', () => {
    const counts = Map.groupBy(ids, (account) => laneOf(account, 10));

    expect(counts.size).toBe(10);
    for (const [, members] of counts) expect(Math.abs(members.length - 200)).toBeLessThan(40);
  });

  test('is the pinned lane while that lane exists, and follows from the id when it does not', () => {
    const account = { account_id: 'tenant', lane: 7 };

    expect(laneOf(account, 8)).toBe(7);
    expect(laneOf(account, 7)).toBe(laneOf({ account_id: 'tenant' }, 7));
  });

  test('is no lane that only pinned accounts have, unless the account is pinned to it', () => {
    const lanes = new Set(ids.map((account) => laneOf(account, 12, 10)));

    expect(Math.max(...lanes)).toBe(9);
    expect(laneOf({ account_id: 'tenant', lane: 11 }, 12, 10)).toBe(11);
  });

  test('is the same in every version of the bridge, because two versions run side by side during a deployment', () => {
    expect(ids.slice(0, 20).map((account) => laneOf(account, 100))).toEqual(GOLDEN);
  });
});
