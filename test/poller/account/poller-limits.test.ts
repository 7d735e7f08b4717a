import { expect, test } from 'vitest';
import { STOP_RESERVE_MS } from '../../../functions/poller/account/wind-up.ts';
import {
  POLLS_AT_ONCE_MAX,
  pollOptionsFor,
  pollsAtOnceFor,
} from '../../../functions/poller/create-account.ts';
import { MINUTE_MS } from '../../../shared/records/time.ts';

test('a row that becomes visible up to five minutes late is found by the next walk, and needs no sweep', () => {
  expect(pollOptionsFor('open', {}).walkLimits.overlapMs).toBe(5 * MINUTE_MS);
});

test('what the configuration says of history and of stalls is what a poll goes by', () => {
  const stallThresholdsMs = { start_compute: [MINUTE_MS] };

  expect(pollOptionsFor('none', stallThresholdsMs)).toMatchObject({ backfill: 'none', stallThresholdsMs });
});

test('polling stops early enough for all that follows it: three seconds for the polls, three and a half for the rest', () => {
  expect(STOP_RESERVE_MS).toBe(6_500);
});

test.each([
  [60, 12],
  [720, 12],
  [721, 13],
  [6_000, 100],
  [60 * POLLS_AT_ONCE_MAX + 1, POLLS_AT_ONCE_MAX],
])('at %i requests a minute, %i polls run at once', (requestsPerMinute, expected) => {
  expect(pollsAtOnceFor(requestsPerMinute)).toBe(expected);
});
