import { expect, test } from 'vitest';
import { EMPTY_LEDGER, grant, type Ledger, nameIn } from '../../shared/rates/ledger.ts';
import { NOON_MS } from '../builders.ts';

const RATE = { pollerRequestsPerMinute: 350, commandRequestsPerMinute: 250, limitRequestsPerMinute: 700 };
const LIMITS = { rate: RATE, share: 1, requestsPerSecond: 1_000, callerRequestsPerMinute: 10_000 };
const CALLERS = ['a', 'b', 'c'].map((digest) => nameIn('request', digest));

/** Returns how many permits were given in each second, while every caller asks each instance for ten. */
function permitsBySecond(instanceSkewsMs: readonly number[], seconds: number, begun: Ledger = EMPTY_LEDGER) {
  let ledger: Ledger = { ...begun, poller: { holds: 350, wants: 350 } };
  return Array.from({ length: seconds }, (_, second) => {
    let count = 0;
    for (const skewMs of instanceSkewsMs)
      for (const name of CALLERS) {
        const nowMs = NOON_MS + second * 1_000 + skewMs;
        const wanted = new Map([[name, { count: 10, aheadCount: 0 }]]);
        const granted = grant(ledger, LIMITS, { nowMs, wanted, left: [], weight: 1 });
        if (granted.mustBeWritten) ledger = granted.ledger;
        count += granted.permits.get(name) ?? 0;
      }
    return count;
  });
}

function mostInMinute(bySecond: readonly number[]): number {
  const sums = bySecond.map((_, from) =>
    bySecond.slice(from, from + 60).reduce((sum, each) => sum + each, 0),
  );
  return Math.max(...sums);
}

test.each([0, 1, 5, 10, 29])(
  'an instance whose clock is %i seconds behind gives no minute more permits than commands may have',
  (behindS) => {
    expect(mostInMinute(permitsBySecond([0, -behindS * 1_000], 200))).toBeLessThanOrEqual(
      RATE.commandRequestsPerMinute,
    );
  },
);

test('what a clock that was wrong by hours has written ends as if it were written now', () => {
  const slot = Math.floor(NOON_MS / 1_000) + 7_200;
  const bySecond = permitsBySecond([0], 120, {
    ...EMPTY_LEDGER,
    given: {
      r: [
        [slot, 200],
        [slot + 1, 50],
      ],
    },
  });
  expect(bySecond.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => 0));
  expect(mostInMinute(bySecond)).toBeGreaterThan(200);
});
