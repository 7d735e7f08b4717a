import { describe, expect, test } from 'vitest';
import { burstOf, REQUEST_BURST } from '../../../../functions/poller/account/account-budget.ts';
import { POLLS_AT_ONCE_MAX, pollsAtOnceFor } from '../../../../functions/poller/create-account.ts';

describe('with a rate limit other than the default', () => {
  test.each([
    [700, 12],
    [20_000, 334],
    [100_000, POLLS_AT_ONCE_MAX],
  ])('of %i requests a minute, %i polls run at once', (requestsPerMinute, pollsAtOnce) => {
    expect(pollsAtOnceFor(requestsPerMinute)).toBe(pollsAtOnce);
  });

  test.each([
    [40, 2],
    [80, 4],
    [350, REQUEST_BURST],
    [20_000, 166],
  ])(
    'of %i requests a minute, %i requests may leave at once after a quiet moment',
    (requestsPerMinute, burst) => {
      expect(burstOf(requestsPerMinute)).toBe(burst);
    },
  );
});
