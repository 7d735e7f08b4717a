import { describe, expect, test } from 'vitest';
import {
  afterRefusal,
  FULL_SHARE,
  type RateShare,
  rateLimitOf,
  shareAt,
  shareOf,
  spend,
  UNUSED,
  waitMs,
} from '../../shared/rates/account-rate.ts';
import { NOON_MS } from '../builders.ts';

const MINUTE_MS = 60_000;

describe('beside an unannounced second user', () => {
  test.each([0.1, 0.3, 0.6])(
    'of %s of the limit, refusals become rare, the rest is used, and the other one is hardly refused',
    (otherShare) => {
      const { own, other } = shareOneLimit({ otherShare, hours: 4 });
      const firstHour = own.filter(({ hour }) => hour === 0);
      const later = own.filter(({ hour }) => hour > 0);
      const refused = (requests: readonly { readonly isRefused: boolean }[]) =>
        requests.filter(({ isRefused }) => isRefused).length;

      expect(refused(firstHour)).toBeLessThan(30);
      expect(refused(later) / 3).toBeLessThanOrEqual(4);
      expect((later.length - refused(later)) / (3 * 60)).toBeGreaterThan(0.9 * 700 * (1 - otherShare));
      expect(refused(other) / other.length).toBeLessThan(0.01);
    },
  );

  test('that goes away, the whole limit is in use again within forty minutes and the way up', () => {
    const { share, endMs } = shareOneLimit({ otherShare: 0.3, hours: 4 });

    expect(shareAt(share, endMs + 60 * MINUTE_MS)).toBe(1);
  });
});

test('a single refusal costs a fifth at once and nothing any more ten minutes later', () => {
  const once = afterRefusal(FULL_SHARE, NOON_MS);

  expect(shareAt(once, NOON_MS)).toBe(0.8);
  expect(shareAt(once, NOON_MS + 2 * MINUTE_MS)).toBe(0.95);
  expect(shareAt(once, NOON_MS + 10 * MINUTE_MS)).toBe(1);
});

test('refusals at one moment count once', () => {
  const once = afterRefusal(FULL_SHARE, NOON_MS);

  expect(afterRefusal(once, NOON_MS + 100)).toEqual(once);
});

test('whatever is refused, something still gets through', () => {
  let share = FULL_SHARE;
  for (let count = 0; count < 100; count++) share = afterRefusal(share, NOON_MS + count * 6_000);

  expect(shareAt(share, NOON_MS + 600_000)).toBeGreaterThanOrEqual(0.1);
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
    const first = held({ holdMs: 5 * MINUTE_MS });

    expect(afterRefusal(first, NOON_MS + 5 * MINUTE_MS - 1).holdMs).toBe(5 * MINUTE_MS);
    expect(afterRefusal(first, NOON_MS + 5 * MINUTE_MS).holdMs).toBe(10 * MINUTE_MS);
    expect(afterRefusal(held({ holdMs: 30 * MINUTE_MS }), NOON_MS + 30 * MINUTE_MS).holdMs).toBe(
      40 * MINUTE_MS,
    );
  });
});

/** Plays a sliding window of 700 a minute that both send into. The other one sends evenly and takes no notice. */
function shareOneLimit({ otherShare, hours }: { readonly otherShare: number; readonly hours: number }) {
  const limit = rateLimitOf(700, 20);
  const endMs = hours * 60 * MINUTE_MS;
  const accepted: number[] = [];
  let oldest = 0;
  const arrive = (atMs: number) => {
    while ((accepted[oldest] ?? Number.POSITIVE_INFINITY) <= atMs - MINUTE_MS) oldest += 1;
    const isRefused = accepted.length - oldest >= 700;
    if (!isRefused) accepted.push(atMs);
    return { hour: Math.floor(atMs / (60 * MINUTE_MS)), isRefused };
  };
  const own: ReturnType<typeof arrive>[] = [];
  const other: ReturnType<typeof arrive>[] = [];
  let share = FULL_SHARE;
  let state = UNUSED;
  let otherAtMs = 0;
  for (let nowMs = 0; nowMs < endMs; ) {
    nowMs += waitMs(shareOf(limit, shareAt(share, nowMs)), state, nowMs);
    for (; otherAtMs <= nowMs; otherAtMs += MINUTE_MS / (700 * otherShare)) other.push(arrive(otherAtMs));
    state = spend(shareOf(limit, shareAt(share, nowMs)), state, nowMs);
    const request = arrive(nowMs);
    own.push(request);
    if (!request.isRefused) continue;
    share = afterRefusal(share, nowMs);
    state = { ...state, pausedUntilMs: nowMs + 1_000 };
  }
  return { own, other, share, endMs };
}
