import { describe, expect, test } from 'vitest';
import {
  boundOf,
  isInReach,
  reachOf,
  resumePoint,
  rowsToShow,
  startWalk,
  takePage,
  type WalkGoal,
  type WalkLimits,
  type WalkPage,
  type WalkState,
} from '../../shared/core/page-walk.ts';
import type { Timestamp } from '../../shared/core/timestamp.ts';

const limits: WalkLimits = { firstPageRows: 3, widePageRows: 10, pagesMax: 4, overlapMs: 5_000 };
const second = (value: number) => `2026-01-15T12:00:${String(value).padStart(2, '0')}Z`;
const time = (value: number) => second(value).replace('Z', '.000000000Z') as Timestamp;
const goal = (fields: Partial<WalkGoal> = {}): WalkGoal => ({
  bound: undefined,
  resume: undefined,
  sweepNumber: undefined,
  ...fields,
});

/** Rows created in these seconds, and a cursor unless it is null. */
function page(seconds: readonly number[], cursor: string | null = 'next'): WalkPage {
  const operations = seconds.map((value) => ({ id: `operation-${value}`, created_at: second(value) }));
  return { operations, malformedRowCount: 0, cursor: cursor ?? undefined };
}

function walk(state: WalkState, ...pages: readonly WalkPage[]): WalkState {
  return pages.reduce(takePage, state);
}

const start = (fields?: Partial<WalkGoal>) => startWalk(goal(fields), limits);

describe('a walk', () => {
  test('begins at the head with a small page', () => {
    expect(start().next).toEqual({ cursor: undefined, limit: 3 });
  });

  test('is complete once a page ends below the bound', () => {
    expect(walk(start({ bound: time(20) }), page([40, 30, 19]))).toMatchObject({
      outcome: 'complete',
      head: time(40),
    });
  });

  test("does not take the bound's own second for read", () => {
    expect(walk(start({ bound: time(20) }), page([40, 30, 20])).outcome).toBe('walking');
  });

  test('widens its page before it follows a cursor, because ties can hide behind a page end', () => {
    const state = walk(start({ bound: time(1) }), page([40, 39, 38]));

    expect(state.next).toEqual({ cursor: undefined, limit: 10 });
  });

  test('then follows cursors as they came', () => {
    const wide = page([40, 39, 38, 37, 36, 35, 34, 33, 32, 31], '2026-01-15T12:00:31.20417Z');
    const state = walk(start({ bound: time(1) }), page([40, 39, 38]), wide);

    expect(state.next).toEqual({ cursor: '2026-01-15T12:00:31.20417Z', limit: 10 });
  });

  test('takes its head from the first page of all, not from what appeared meanwhile', () => {
    const state = walk(start({ bound: time(1) }), page([40, 39, 38]), page([45, 44, 0]));

    expect(state.head).toBe(time(40));
  });

  test.each([
    ['shorter than asked', page([40, 39])],
    ['without a cursor', page([40, 39, 38], null)],
    ['empty', page([])],
    ['empty without a cursor', page([], null)],
  ])('is complete at a page that is %s', (_what, only) => {
    expect(walk(start({ bound: time(1) }), only).outcome).toBe('complete');
  });

  test('counts malformed rows as rows, so that they do not make a page look short', () => {
    const state = walk(start({ bound: time(1) }), { ...page([40, 39]), malformedRowCount: 1 });

    expect(state.outcome).toBe('walking');
  });

  test('ends at a cursor that repeats and brings nothing new', () => {
    const rows = Array.from({ length: 10 }, (_, index) => 40 - index);
    const state = walk(start({ bound: time(1) }), page([40, 39, 38]), page(rows), page(rows));

    expect(state.outcome).toBe('complete');
  });

  test('goes on at a cursor that repeats and brings something new', () => {
    const rows = Array.from({ length: 10 }, (_, index) => 40 - index);
    const more = Array.from({ length: 10 }, (_, index) => 30 - index);

    expect(walk(start({ bound: time(1) }), page([40, 39, 38]), page(rows), page(more)).outcome).toBe(
      'walking',
    );
  });

  test('an empty list is complete and has no head', () => {
    expect(walk(start(), page([], null))).toMatchObject({ outcome: 'complete', head: undefined });
  });

  test('reads a list that is not newest first to its end, and does not trust its head', () => {
    const state = walk(start({ bound: time(20) }), page([10, 15, 19]));

    expect(state).toMatchObject({ outcome: 'walking', isUnordered: true });
  });

  test('goes as deep below its head as a first walk may', () => {
    const state = walk(start({ depthMs: 10_000 }), page([40, 35, 29]));

    expect(state.outcome).toBe('complete');
    expect(isInReach(state, second(30))).toBe(true);
    expect(isInReach(state, second(29))).toBe(false);
    expect(isInReach(state, 'not a time')).toBe(true);
  });

  test('stops at its page limit and says where to go on', () => {
    const state = walk(
      start({ bound: time(1) }),
      page([59, 58, 57]),
      tenFrom(59, 'a'),
      tenFrom(49, 'b'),
      tenFrom(39, 'c'),
    );

    expect(state.outcome).toBe('interrupted');
    expect(resumePoint(state)).toEqual({ head: time(59), cursor: 'c' });
  });
});

describe('an interrupted walk', () => {
  const resume = { head: time(30), cursor: 'old' };

  test('reads what is new at the head first, down into the old head', () => {
    const state = walk(start({ bound: time(1), resume }), page([40, 39, 26]));

    expect(state).toMatchObject({ phase: 'head', outcome: 'walking' });
    expect(walk(start({ bound: time(1), resume }), page([40, 39, 24])).phase).toBe('tail');
  });

  test('then goes on where the other one stopped', () => {
    const state = walk(start({ bound: time(1), resume }), page([40, 39, 24]));

    expect(state.next).toEqual({ cursor: 'old', limit: 10 });
    expect(walk(state, page([10, 5, 0])).outcome).toBe('complete');
  });

  test('keeps the older stretch while the head has not met it', () => {
    const state = walk(start({ bound: time(1), resume }), page([59, 58, 57]), tenFrom(59, 'a'));

    expect(resumePoint(state)).toEqual(resume);
  });

  test('has nothing to resume before a cursor was followed', () => {
    expect(resumePoint(start())).toBeUndefined();
    expect(resumePoint(walk(start({ bound: time(1) }), page([40, 39, 38])))).toBeUndefined();
  });

  test('takes the head of its own first page for the next watermark', () => {
    const state = walk(start({ bound: time(1), resume }), page([40, 39, 24]), page([10, 5, 0]));

    expect(state.head).toBe(time(40));
  });
});

describe('a sweep', () => {
  test('has page ends elsewhere than a walk, and elsewhere each time', () => {
    const sizes = Array.from({ length: 10 }, (_, sweepNumber) => start({ sweepNumber }).next?.limit);

    expect(sizes).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 9]);
  });

  test('has any stretch that fits on a wide page whole on one page, one time or another', () => {
    const pagesOf = (sweepNumber: number, rowCount: number) => {
      const ends: number[] = [];
      const first = start({ sweepNumber }).next?.limit ?? 0;
      for (let end = first; end < rowCount + limits.widePageRows; end += limits.widePageRows) ends.push(end);
      return ends;
    };
    for (let from = 0; from < 30; from++) {
      const until = from + limits.widePageRows - 1;
      const isWhole = Array.from({ length: 9 }, (_, sweepNumber) => pagesOf(sweepNumber, 40)).some(
        (ends) => !ends.some((end) => end > from && end < until),
      );

      expect([from, isWhole]).toEqual([from, true]);
    }
  });

  test('trusts no short page: it goes on until there is no further one', () => {
    const state = walk(start({ sweepNumber: 0, bound: time(1) }), page([40, 39]));

    expect(state.next).toEqual({ cursor: 'next', limit: 10 });
    expect(walk(state, page([], null)).outcome).toBe('complete');
  });

  test('leaves no resume point', () => {
    const state = walk(start({ sweepNumber: 0, bound: time(1) }), page([40, 39, 38]), page([37, 36, 35]));

    expect(resumePoint(state)).toBeUndefined();
  });
});

test('the bound of a walk lies below the watermark, and there is none before the first', () => {
  expect(boundOf(undefined, 5_000)).toBeUndefined();
  expect(boundOf(time(30), 5_000)).toBe(time(25));
});

function tenFrom(newest: number, cursor: string): WalkPage {
  return page(
    Array.from({ length: 10 }, (_, index) => newest - index),
    cursor,
  );
}

describe('a larger first page', () => {
  const reach = { rowCount: 100, newestMs: 1_000_000, oldestMs: 900_000 };
  const usual = { ...limits, firstPageRows: 100, widePageRows: 1_000 };
  const rows = (agesMs: readonly number[]) =>
    rowsToShow(
      agesMs.map((ageMs) => reach.newestMs - ageMs),
      reach,
      usual,
    );

  test('is asked for when an open operation lies behind the usual one, with room to spare, in steps', () => {
    expect(rows([50_000])).toBeUndefined();
    expect(rows([100_000])).toBe(200);
    expect(rows([50_000, 300_000])).toBe(500);
    expect(rows([640_000])).toBe(1_000);
  });

  test('is not asked for when even the largest does not reach, and not for its sake alone', () => {
    expect(rows([700_000])).toBeUndefined();
    expect(rows([700_000, 100_000])).toBe(200);
    expect(rows([])).toBeUndefined();
  });

  test('is unknown as long as no page has said how often rows come', () => {
    expect(rowsToShow([0], undefined, usual)).toBeUndefined();
    expect(reachOf([])).toBeUndefined();
    expect(reachOf([{ created_at: '2026-01-15T12:00:00Z' }, { created_at: 'no time' }])).toBeUndefined();
    const same = reachOf([{ created_at: '2026-01-15T12:00:00Z' }, { created_at: '2026-01-15T12:00:00Z' }]);
    expect(rowsToShow([0], same, usual)).toBeUndefined();
  });
});
