import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  ATTEMPTS_MAX,
  callerPauseMs,
  decideRetry,
  type FailedAttempt,
  PAUSE_MS_MAX,
  parseRetryAfter,
  RETRY_AFTER_MS_MAX,
  retryDelayMs,
} from '../../shared/rates/retry-decision.ts';
import { NOON_MS } from '../builders.ts';

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

describe('the pause before a repetition', () => {
  const pause = (attempt: number, dice: number, retryAfterMs?: number) =>
    retryDelayMs({ attempt, dice, retryAfterMs });

  test('is half certain and half by chance, and doubles up to ten seconds', () => {
    expect([pause(1, 0), pause(1, 0.5), pause(1, 1)]).toEqual([125, 187.5, 250]);
    expect([pause(2, 0), pause(2, 1), pause(3, 1)]).toEqual([250, 500, 1_000]);
    expect(pause(20, 1)).toBe(10_000);
  });

  test('is never shorter than the upstream asks for, and up to a quarter of a second longer', () => {
    expect([pause(1, 0, 3_000), pause(1, 0.5, 3_000), pause(4, 1, 3_000)]).toEqual([3_000, 3_125, 3_250]);
  });

  test('of twenty seconds is waited for, and a longer one is not', () => {
    const refused = (retryAfterMs: number) =>
      decideRetry({ kind: 'rate_limited', method: 'GET', status: 429, attempt: 1, dice: 0, retryAfterMs });

    expect(refused(PAUSE_MS_MAX)).toEqual({ kind: 'retry', delayMs: PAUSE_MS_MAX });
    expect(refused(PAUSE_MS_MAX + 1)).toEqual({ kind: 'give_up' });
  });
});

describe('a Retry-After', () => {
  test('may have spaces around it', () => {
    expect(parseRetryAfter(' 7 ', NOON_MS)).toBe(7_000);
  });

  test.each([
    'maybe Thu, 15 Jan 2026 12:00:30 GMT',
    'Thu, 15 Jan 2026 12:00:30 GMT+0200',
    'maybe Thu Jan 15 12:00:30 2026',
    'Thu Jan 15 12:00:30 2026 (or later)',
    '',
  ])('with more or less than a date is none: %s', (header) => {
    expect(parseRetryAfter(header, NOON_MS)).toBeUndefined();
  });

  test.each([undefined, null])('that is missing is none (%s)', (header) => {
    expect(parseRetryAfter(header, NOON_MS)).toBeUndefined();
  });
});

describe('a failed call', () => {
  const failed = (fields: Partial<FailedAttempt> = {}): FailedAttempt => ({
    kind: 'unavailable',
    method: 'GET',
    status: 500,
    attempt: 1,
    dice: 0,
    retryAfterMs: undefined,
    ...fields,
  });
  const isRetried = (fields: Partial<FailedAttempt>) => decideRetry(failed(fields)).kind === 'retry';

  test('is repeated after its pause', () => {
    expect(decideRetry(failed({ attempt: 2 }))).toEqual({ kind: 'retry', delayMs: 250 });
  });

  test('is repeated three times', () => {
    expect(ATTEMPTS_MAX).toBe(4);
    expect([3, 4, 5].map((attempt) => isRetried({ attempt }))).toEqual([true, false, false]);
  });

  test.each(['rate_limited', 'unavailable', 'network', 'timeout', 'malformed_answer'] as const)(
    'that reads is repeated after %s, which can pass',
    (kind) => {
      expect(isRetried({ kind, status: undefined })).toBe(true);
    },
  );

  test.each(['not_found', 'forbidden', 'unauthorized', 'rejected', 'cancelled'] as const)(
    'that reads is not repeated after %s',
    (kind) => {
      expect(isRetried({ kind, status: 503 })).toBe(false);
    },
  );

  test.each([
    [423, true],
    [429, true],
    [503, true],
    [500, false],
    [404, false],
    [undefined, false],
  ])(
    'that changes something is repeated after %s: %s, since only some refusals prove that no work was done',
    (status, is) => {
      expect(isRetried({ method: 'POST', status })).toBe(is);
    },
  );
});

describe('the pause of a caller who waits', () => {
  test('is at most two seconds while the upstream names none', () => {
    const pause = (attempt: number) => callerPauseMs({ attempt, dice: 1, retryAfterMs: undefined });

    expect([pause(1), pause(4), pause(5)]).toEqual([250, 2_000, 2_000]);
  });

  test('is never shorter than the upstream asks for', () => {
    expect(callerPauseMs({ attempt: 1, dice: 0, retryAfterMs: 7_000 })).toBe(7_000);
  });
});
