import { describe, expect, test } from 'vitest';
import { listEndOf } from '../../../functions/poller/project/memory/list-end.ts';
import { reachOf, rowsToShow } from '../../../functions/poller/project/memory/page-reach.ts';
import { startWalk, takePage } from '../../../functions/poller/walk-plan/page-walk.ts';
import { resumePoint } from '../../../functions/poller/walk-plan/resume-point.ts';
import { startSweep, sweepPageRows } from '../../../functions/poller/walk-plan/sweep-walk.ts';
import { boundOf, isInReach } from '../../../functions/poller/walk-plan/walk-bound.ts';
import type {
  WalkGoal,
  WalkLimits,
  WalkPage,
  WalkState,
} from '../../../functions/poller/walk-plan/walk-state.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';

const limits: WalkLimits = { firstPageRows: 3, widePageRows: 10, pagesMax: 4, overlapMs: 5_000 };
const second = (value: number) => `2026-01-15T12:00:${String(value).padStart(2, '0')}Z`;
const time = (value: number) => second(value).replace('Z', '.000000000Z') as Timestamp;
const goal = (fields: Partial<WalkGoal> = {}): WalkGoal => ({
  bound: undefined,
  resume: undefined,
  ...fields,
});

/** Returns rows created in these seconds, and a cursor unless it is null. */
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
    ['without a cursor', page([40, 39, 38], null)],
    ['shorter than asked and without a cursor', page([40, 39], null)],
    ['empty', page([])],
    ['empty without a cursor', page([], null)],
  ])('is complete at a page that is %s', (_what, only) => {
    expect(walk(start({ bound: time(1) }), only).outcome).toBe('complete');
  });

  test('goes on after a page that holds fewer rows than were asked for, without asking for a wider one', () => {
    const state = walk(start({ bound: time(1) }), page([40, 39], 'a'));

    expect(state).toMatchObject({ outcome: 'walking', next: { cursor: 'a', limit: 10 } });
  });

  test('reads a list to its bound whose pages hold one row each', () => {
    const single = { ...limits, pagesMax: 100 };
    const pages = Array.from({ length: 30 }, (_, index) => page([59 - index], `after ${index}`));
    const state = walk(startWalk(goal({ bound: time(31) }), single), ...pages);

    expect(state).toMatchObject({ outcome: 'complete', pagesRead: 30, head: time(59) });
  });

  test('goes on after a page that holds nothing but malformed rows', () => {
    const state = walk(start({ bound: time(1) }), { ...page([]), malformedRowCount: 2 });

    expect(state).toMatchObject({ outcome: 'walking', isUnordered: false });
  });

  test('ends at the cursor behind which an earlier poll has proved that nothing stands', () => {
    const state = walk(start({ bound: time(1), endCursor: 'end' }), page([40, 39], 'end'));

    expect(state).toMatchObject({ outcome: 'complete', endCursor: 'end' });
  });

  test('follows even that cursor when the list is unordered, because new rows may stand behind its last one', () => {
    const state = walk(start({ endCursor: 'end', isUnordered: true }), page([40, 39], 'end'));

    expect(state).toMatchObject({ outcome: 'walking', next: { cursor: 'end' } });
  });

  test('says behind which cursor the list has ended', () => {
    const state = walk(start({ bound: time(1) }), page([40, 39], 'last row'), page([], null));

    expect(state).toMatchObject({ outcome: 'complete', endCursor: 'last row' });
    expect(walk(start({ bound: time(20) }), page([40, 30, 19])).endCursor).toBeUndefined();
  });

  test('ends when cursors go round in a circle', () => {
    const state = walk(
      start({ bound: time(1) }),
      page([40, 39], 'a'),
      page([38, 37], 'b'),
      page([38, 37], 'a'),
    );

    expect(state.outcome).toBe('complete');
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

  test('notices rows that are out of order from one page to the next, and not only within a page', () => {
    const state = walk(start({ bound: time(1) }), page([10, 9], 'a'), page([30, 29], 'b'));

    expect(state.isUnordered).toBe(true);
  });

  test('does not take what appears above a page that is read once more for disorder', () => {
    const state = walk(start({ bound: time(1) }), page([40, 39, 38]), page([45, 40, 39]));

    expect(state.isUnordered).toBe(false);
  });

  test('stops after three pages of an unordered list and says where to go on', () => {
    const state = walk(
      start({ bound: time(20) }),
      page([10, 15], 'a'),
      page([19, 21], 'b'),
      page([22, 23], 'c'),
    );

    expect(state.outcome).toBe('interrupted');
    expect(resumePoint(state)).toEqual({ head: time(10), cursor: 'c', is_unordered: true });
  });

  test('resumes an unordered list after one page of its head, and reads it to its end', () => {
    const resume = { head: time(10), cursor: 'c', is_unordered: true };
    const state = walk(start({ bound: time(20), resume }), page([10, 15], 'a'));

    expect(state).toMatchObject({ phase: 'tail', next: { cursor: 'c' } });
    expect(walk(state, page([5, 4], 'd'))).toMatchObject({ outcome: 'walking' });
    expect(walk(state, page([5, 4], null))).toMatchObject({ outcome: 'complete', isUnordered: true });
  });

  test('takes a page whose rows show no readable time for unordered', () => {
    const rows = [{ id: 'a', created_at: 'yesterday' }];
    const state = walk(start({ bound: time(1) }), { operations: rows, malformedRowCount: 0, cursor: 'a' });

    expect(state).toMatchObject({ outcome: 'walking', isUnordered: true, head: undefined });
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
    expect(resumePoint(state)).toEqual({ head: time(59), cursor: 'c', lowest: time(30) });
  });
});

describe('an interrupted walk', () => {
  const resume = { head: time(30), cursor: 'old' };

  test('reads what is new at the head first, down to the head of the interrupted walk', () => {
    const state = walk(start({ bound: time(1), resume }), page([40, 39, 30]));

    expect(state).toMatchObject({ phase: 'head', outcome: 'walking' });
    expect(walk(start({ bound: time(1), resume }), page([40, 39, 29])).phase).toBe('tail');
  });

  test('leaves half of its pages to the older stretch, however much is new', () => {
    const state = walk(start({ bound: time(1), resume }), page([59, 58], 'a'), page([57, 56], 'b'));

    expect(state).toMatchObject({ phase: 'tail', next: { cursor: 'old', limit: 10 } });
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

  test('has nothing to resume before a page was read, or before one that shows where to go on', () => {
    expect(resumePoint(start())).toBeUndefined();
    expect(resumePoint(walk(start({ bound: time(1) }), page([40, 39, 0])))).toBeUndefined();
  });

  test('earns the head of the interrupted walk, because what is above may not be read yet', () => {
    const state = walk(start({ bound: time(1), resume }), page([40, 39, 24]), page([10, 5, 0]));

    expect(state).toMatchObject({ outcome: 'complete', head: time(30) });
  });

  test('comes nearer to its end with each poll, whatever the size of the pages', () => {
    for (const pageRows of [1, 2, 3, 7]) {
      const rows = Array.from({ length: 45 }, (_, index) => 59 - index);
      let point = resumePoint(start());
      let polls = 0;
      for (let outcome = 'interrupted'; outcome !== 'complete' && polls < 60; polls++) {
        let state = start({ bound: time(20), ...(point && { resume: point }) });
        while (state.next !== undefined) {
          const from = state.next.cursor === undefined ? 0 : rows.indexOf(Number(state.next.cursor)) + 1;
          const some = rows.slice(from, from + Math.min(pageRows, state.next.limit));
          state = takePage(state, page(some, some.length === 0 ? null : String(some.at(-1))));
        }
        outcome = state.outcome;
        point = resumePoint(state);
      }

      expect([pageRows, polls < 60]).toEqual([pageRows, true]);
    }
  });
});

describe('a sweep', () => {
  const sweep = (cursor?: string) => startSweep({ bound: time(1), cursor, firstPageRows: 3 }, limits);

  test('has page ends elsewhere than a walk, and elsewhere each time', () => {
    const sizes = Array.from({ length: 10 }, (_, sweepNumber) => sweepPageRows(sweepNumber, 10));

    expect(sizes).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 9]);
  });

  test.each([1, 2, 3, 10])(
    'has any stretch that fits on a page of %i rows whole on one page, in one sweep or another',
    (pageRows) => {
      const pagesOf = (sweepNumber: number, rowCount: number) => {
        const ends: number[] = [];
        for (let end = sweepPageRows(sweepNumber, pageRows); end < rowCount + pageRows; end += pageRows)
          ends.push(end);
        return ends;
      };
      for (let from = 0; from < 30; from++) {
        const until = from + pageRows - 1;
        const isWhole = Array.from({ length: pageRows }, (_, sweepNumber) => pagesOf(sweepNumber, 40)).some(
          (ends) => !ends.some((end) => end > from && end < until),
        );

        expect([from, isWhole]).toEqual([from, true]);
      }
    },
  );

  test('follows cursors from its first page on, and does not widen it', () => {
    expect(walk(sweep(), page([40, 39, 38], 'a')).next).toEqual({ cursor: 'a', limit: 10 });
  });

  test('is complete at its bound or at the end of the list, and not at a short page', () => {
    expect(walk(sweep(), page([40, 39])).outcome).toBe('walking');
    expect(walk(sweep(), page([40, 0])).outcome).toBe('complete');
    expect(walk(sweep(), page([40, 39]), page([], null)).outcome).toBe('complete');
  });

  test('goes on where an earlier poll has stopped', () => {
    expect(sweep('old').next).toEqual({ cursor: 'old', limit: 10 });
    expect(sweep('old').lastCursor).toBe('old');
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

describe('the end of a list', () => {
  const endAt = (ageMs: number) =>
    listEndOf('last', time(30), { nowMs: Date.parse(second(30)) + ageMs, overlapMs: 5_000 });

  test('is proven once its last row is older than rows may become visible late', () => {
    expect(endAt(5_000)).toEqual({ cursor: 'last', isProven: true });
    expect(endAt(4_999)).toEqual({ cursor: 'last', isProven: false });
  });

  test('is not proven when the last row shows no readable time', () => {
    expect(listEndOf('last', undefined, { nowMs: Date.now(), overlapMs: 0 }).isProven).toBe(false);
  });
});
