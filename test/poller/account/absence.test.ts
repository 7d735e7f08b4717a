import { describe, expect, test } from 'vitest';
import {
  type Absence,
  afterListing,
  afterNotFound,
  afterShown,
  asksForListing,
  isGone,
  provesFirstListing,
  restMs,
} from '../../../functions/poller/account/discovery/known-projects.ts';
import type { Listing } from '../../../functions/poller/planner/list-hints.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';

const MINUTE_MS = 60_000;

const aListing = (change: Partial<Listing> = {}): Listing => ({
  startedAtMs: Number.MAX_SAFE_INTEGER,
  unavailableCount: 0,
  malformedRowCount: 0,
  end: 'end',
  ...change,
});

function notFoundAt(...timesMs: readonly number[]): Absence {
  const known = timesMs.reduce<Absence | undefined>((absence, ms) => afterNotFound(absence, ms), undefined);
  if (known === undefined) throw new Error('At least one time');
  return known;
}

const absentFrom = (absence: Absence, listing: Listing, count: number) =>
  Array.from({ length: count }).reduce<Absence>((known) => afterListing(known, listing), absence);

describe('a project is gone', () => {
  test('after 404s of a minute and two whole listings without it', () => {
    const missing = notFoundAt(0, 30_000, MINUTE_MS);
    expect(isGone(missing, true)).toBe(false);
    expect(isGone(absentFrom(missing, aListing(), 1), true)).toBe(false);
    expect(isGone(absentFrom(missing, aListing(), 2), true)).toBe(true);
  });

  test('not after fewer 404s, and not after 404s of less than a minute', () => {
    expect(isGone(absentFrom(notFoundAt(0, MINUTE_MS), aListing(), 2), true)).toBe(false);
    expect(isGone(absentFrom(notFoundAt(0, 1, MINUTE_MS - 1), aListing(), 2), true)).toBe(false);
  });

  test.each([
    ['a row that cannot be read', { malformedRowCount: 1 }],
    ['an unavailable project', { unavailableCount: 1 }],
    ['a bound that was met', { end: 'list_pages' as const }],
  ])('after ten minutes and three listings when each leaves a doubt: %s', (_, doubt) => {
    const listing = aListing(doubt);
    const tenMinutes = notFoundAt(0, 5 * MINUTE_MS, 10 * MINUTE_MS);
    const justBefore = notFoundAt(0, 1, 10 * MINUTE_MS - 1);
    expect(isGone(absentFrom(tenMinutes, listing, 3), true)).toBe(true);
    expect(isGone(absentFrom(tenMinutes, listing, 2), true)).toBe(false);
    expect(isGone(absentFrom(justBefore, listing, 3), true)).toBe(false);
  });

  test('after ten minutes of 404s, too, when only one of the listings leaves a doubt', () => {
    const listings = (notFound: Absence) =>
      absentFrom(absentFrom(notFound, aListing({ malformedRowCount: 1 }), 1), aListing(), 2);

    expect(isGone(listings(notFoundAt(0, 1, 10 * MINUTE_MS - 1)), true)).toBe(false);
    expect(isGone(listings(notFoundAt(0, 1, 10 * MINUTE_MS)), true)).toBe(true);
  });

  test('never by a listing that shows it, however often it is missing besides', () => {
    const random = seededRandom(3);
    for (let round = 0; round < 200; round++) {
      let absence = notFoundAt(0);
      for (let step = 1; step < 30; step++) {
        const nowMs = step * 2 * MINUTE_MS;
        absence = afterNotFound(absence, nowMs);
        // The project never misses two listings in a row.
        if (step % 2 === 0 || random.next() < 0.2) absence = afterShown(absence, nowMs);
        absence = afterListing(absence, aListing({ startedAtMs: nowMs }));
        expect(isGone(absence, true)).toBe(false);
      }
    }
  });

  test('not by a listing that began before the first 404', () => {
    const missing = notFoundAt(1_000, 2_000, 90_000);
    const early = aListing({ startedAtMs: 999 });

    expect(isGone(absentFrom(missing, early, 3), true)).toBe(false);
  });

  test('by a page that shows it, the listings before it count no more', () => {
    const missing = absentFrom(notFoundAt(0, 1, MINUTE_MS), aListing(), 1);

    expect(isGone(absentFrom(afterShown(missing, 20), aListing(), 1), true)).toBe(false);
  });

  test('not by a listing in which a page has shown it', () => {
    const missing = afterShown(notFoundAt(0, 1, MINUTE_MS), 20);

    expect(absentFrom(missing, aListing({ startedAtMs: 20 }), 1)).toBe(missing);
    expect(absentFrom(missing, aListing({ startedAtMs: 21 }), 1).absentCount).toBe(1);
  });

  test('after 404s of ten minutes where no list can be read', () => {
    expect(isGone(notFoundAt(0, 1, 10 * MINUTE_MS - 1), false)).toBe(false);
    expect(isGone(notFoundAt(0, 1, 10 * MINUTE_MS), false)).toBe(true);
    expect(isGone(notFoundAt(0, 10 * MINUTE_MS), false)).toBe(false);
  });
});

describe('a project asks for a listing', () => {
  const missing = notFoundAt(0, 1, 2);

  test('after three 404s, and no more once two whole ones lack it', () => {
    expect(asksForListing(notFoundAt(0, 1))).toBe(false);
    expect(asksForListing(missing)).toBe(true);
    expect(asksForListing(absentFrom(missing, aListing(), 1))).toBe(true);
    expect(asksForListing(absentFrom(missing, aListing(), 2))).toBe(false);
  });

  test('not while listings leave a doubt, because the usual ones decide then', () => {
    expect(asksForListing(absentFrom(missing, aListing({ malformedRowCount: 1 }), 1))).toBe(false);
  });

  test('not while the list shows it, until a listing lacks it', () => {
    const shown = afterShown(missing, 10);

    expect(asksForListing(shown)).toBe(false);
    expect(asksForListing(absentFrom(shown, aListing(), 1))).toBe(true);
  });
});

test('the first listing is proved by one that is complete, or by the third that lacks rows', () => {
  expect(provesFirstListing(aListing({ unavailableCount: 9 }), 1)).toBe(true);
  expect(provesFirstListing(aListing({ malformedRowCount: 1 }), 2)).toBe(false);
  expect(provesFirstListing(aListing({ malformedRowCount: 1 }), 3)).toBe(true);
  expect(provesFirstListing(aListing({ end: 'list_pages' }), 1)).toBe(false);
});

test('all projects that answer 404 have a fifth of the limit together', () => {
  const rest = { requestsPerMinute: 350, isKnownGone: false };

  expect(restMs({ ...rest, notFoundProjectCount: 700 })).toBeCloseTo(10 * MINUTE_MS);
  expect(restMs({ ...rest, notFoundProjectCount: 1 })).toBeLessThan(1_000);
  expect(restMs({ ...rest, notFoundProjectCount: 1, isKnownGone: true })).toBe(15 * MINUTE_MS);
});
