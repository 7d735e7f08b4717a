import { describe, expect, test } from 'vitest';
import {
  forgive,
  rateLimitOf,
  spend,
  startEmpty,
  UNUSED,
  unspend,
  usedUp,
  waitMs,
} from '../../../shared/core/rates/rate-limit.ts';
import { afterRefusal, type RateShare } from '../../../shared/core/rates/rate-share.ts';
import {
  decideRepetition,
  PATIENCE_MS,
  parseRetryAfter,
  retryDelayMs,
} from '../../../shared/core/rates/retry-delay.ts';
import { NOON_MS } from '../../builders.ts';

const MINUTE_MS = 60_000;
const limit = rateLimitOf(60, 6);

describe('a limit', () => {
  test('of less than two a minute is refused, with what was asked for', () => {
    expect(() => rateLimitOf(1, 1)).toThrow(new RangeError('A rate limit needs at least 2 a minute, not 1'));
    expect(() => rateLimitOf(Number.NaN, 1)).toThrow(RangeError);
    expect(rateLimitOf(2, 1).intervalMs).toBe(MINUTE_MS);
  });

  test('that is used up lets nothing leave for a minute', () => {
    expect(waitMs(limit, usedUp(limit, NOON_MS), NOON_MS)).toBe(MINUTE_MS);
    expect(usedUp(limit, NOON_MS).pausedUntilMs).toBe(0);
  });

  test('of which too much was spent is paid after a minute, and a smaller debt stays', () => {
    const deep = spend(limit, { ...UNUSED, pausedUntilMs: 7 }, NOON_MS, 1_000_000);
    const small = spend(limit, UNUSED, NOON_MS, 3);

    expect(waitMs(limit, forgive(limit, deep, NOON_MS), NOON_MS)).toBe(MINUTE_MS);
    expect(forgive(limit, deep, NOON_MS).pausedUntilMs).toBe(7);
    expect(forgive(limit, small, NOON_MS)).toEqual(small);
  });

  test('gets a request back that did not leave', () => {
    const before = spend(limit, { ...UNUSED, pausedUntilMs: 7 }, NOON_MS, 9);

    expect(unspend(limit, spend(limit, before, NOON_MS))).toEqual(before);
  });

  test('without anything saved up lets one request leave after a step, and no burst', () => {
    const state = startEmpty(limit, NOON_MS);

    expect(waitMs(limit, state, NOON_MS)).toBe(Math.ceil(limit.intervalMs));
    expect(state.pausedUntilMs).toBe(0);
  });
});

describe('how long a refused share is left alone', () => {
  const held = (fields: Partial<RateShare>): RateShare => ({
    share: 0.5,
    changedAtMs: NOON_MS,
    ceiling: 0.5,
    holdMs: 20 * MINUTE_MS,
    ...fields,
  });

  test('is five minutes at first, and again after a refusal far above the last one', () => {
    const grown = held({ share: 0.6, holdMs: 20 * MINUTE_MS });

    expect(afterRefusal(grown, NOON_MS + MINUTE_MS).holdMs).toBe(5 * MINUTE_MS);
  });

  test('stays as it was after a refusal that is a tenth above the last one, and no more', () => {
    expect(afterRefusal(held({ share: 0.55 }), NOON_MS + MINUTE_MS).holdMs).toBe(20 * MINUTE_MS);
  });

  test('stays as it was when it is not over yet, and doubles when it is, up to forty minutes', () => {
    const [first] = [held({ holdMs: 5 * MINUTE_MS })];

    expect(afterRefusal(first, NOON_MS + 5 * MINUTE_MS - 1).holdMs).toBe(5 * MINUTE_MS);
    expect(afterRefusal(first, NOON_MS + 5 * MINUTE_MS).holdMs).toBe(10 * MINUTE_MS);
    expect(afterRefusal(held({ holdMs: 30 * MINUTE_MS }), NOON_MS + 30 * MINUTE_MS).holdMs).toBe(
      40 * MINUTE_MS,
    );
  });
});

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
    const refused = (retryAfterMs: number) => decideRepetition({ attempt: 1, dice: 0, retryAfterMs });

    expect(refused(PATIENCE_MS)).toEqual({ kind: 'retry', delayMs: PATIENCE_MS });
    expect(refused(PATIENCE_MS + 1)).toEqual({ kind: 'give_up' });
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
