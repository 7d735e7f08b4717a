import { expect, onTestFinished, test, vi } from 'vitest';
import { parseRetryAfter, RETRY_AFTER_MS_MAX } from '../../../shared/core/rates/retry-decision.ts';
import { NOON_MS } from '../../builders.ts';

test.each([
  ['Thu, 15 Jan 2026 12:00:30 GMT'],
  ['Thursday, 15-Jan-26 12:00:30 GMT'],
  ['Thu Jan 15 12:00:30 2026'],
])('a date is in GMT wherever the bridge runs: %s', (header) => {
  vi.stubEnv('TZ', 'America/New_York');
  onTestFinished(() => void vi.unstubAllEnvs());

  expect(new Date(NOON_MS).getTimezoneOffset()).toBe(300);
  expect(parseRetryAfter(header, NOON_MS)).toBe(30_000);
});

test.each([['Sunday 5'], ['Thu, 15 Jan 2026'], ['2026-01-15T12:00:30Z'], ['1e9'], ['0x10'], ['+5']])(
  'what only looks like a delay is none: %s',
  (header) => {
    expect(parseRetryAfter(header, NOON_MS)).toBeUndefined();
  },
);

test.each([['301'], ['86400'], ['9'.repeat(400)], ['Sat, 15 Jan 2028 12:00:00 GMT']])(
  'five minutes are the longest delay that is honoured: %s',
  (header) => {
    expect(parseRetryAfter(header, NOON_MS)).toBe(RETRY_AFTER_MS_MAX);
    expect(RETRY_AFTER_MS_MAX).toBe(300_000);
  },
);
