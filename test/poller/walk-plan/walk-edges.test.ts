/**
 * Tests pages at the edges of a walk: unreadable times, ties, malformed rows, and what is known of rows that came
 * while it went on.
 */

import { describe, expect, test } from 'vitest';
import { startWalk, takePage } from '../../../functions/poller/walk-plan/page-walk.ts';
import { resumePoint } from '../../../functions/poller/walk-plan/resume-point.ts';
import { SWEEP_DEPTH_MS, startSweep } from '../../../functions/poller/walk-plan/sweep-walk.ts';
import { boundOf, isInReach } from '../../../functions/poller/walk-plan/walk-bound.ts';
import type { WalkGoal, WalkPage, WalkState } from '../../../functions/poller/walk-plan/walk-state.ts';
import type { ResumePoint } from '../../../shared/core/records/reading-progress.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';

const limits = { firstPageRows: 3, widePageRows: 10, pagesMax: 4, overlapMs: 5_000 };
const text = (second: number) => `2026-01-15T12:00:${String(second).padStart(2, '0')}Z`;
const at = (second: number) => text(second).replace('Z', '.000000000Z') as Timestamp;
const UNREADABLE = -1;

/** Returns rows created in these seconds, newest first if the list is in order. */
function page(seconds: readonly number[], fields: Partial<WalkPage> = {}): WalkPage {
  const operations = seconds.map((second, place) => ({
    id: `row-${second}-${place}`,
    created_at: second === UNREADABLE ? 'soon' : text(second),
  }));
  return { operations, malformedRowCount: 0, cursor: 'next', ...fields };
}

const start = (goal: Partial<WalkGoal> = {}) =>
  startWalk({ bound: undefined, resume: undefined, ...goal }, limits);
const walk = (state: WalkState, ...pages: readonly WalkPage[]) => pages.reduce(takePage, state);

describe('the beginning of a walk', () => {
  test('is walking, at the head of the list, with nothing read', () => {
    expect(start()).toMatchObject({ outcome: 'walking', phase: 'head', pagesRead: 0, isUnordered: false });
  });

  test('knows that the list is unordered from either of those who may know', () => {
    const resume: ResumePoint = { head: at(10), cursor: 'row', is_unordered: true };

    expect(start({ resume }).isUnordered).toBe(true);
    expect(start({ isUnordered: true }).isUnordered).toBe(true);
    expect(start({ resume: { head: at(10), cursor: 'row' } }).isUnordered).toBe(false);
  });

  test('of a sweep is a page of its own size, and of a sweep that goes on a wide one at its cursor', () => {
    const sweep = (cursor: string | undefined) =>
      startSweep({ bound: at(1), cursor, firstPageRows: 2 }, limits);

    expect(sweep(undefined)).toMatchObject({ phase: 'tail', next: { cursor: undefined, limit: 2 } });
    expect(sweep('row')).toMatchObject({
      phase: 'tail',
      next: { cursor: 'row', limit: 10 },
      lastCursor: 'row',
    });
  });

  test('of a sweep lies seven days below the watermark', () => {
    expect(boundOf(at(10), SWEEP_DEPTH_MS)).toBe('2026-01-08T12:00:10.000000000Z');
  });

  test('is over for a walk that is complete: a page that comes late changes nothing', () => {
    const complete = walk(start(), page([], { cursor: undefined }));

    expect(complete.outcome).toBe('complete');
    expect(takePage(complete, page([50]))).toBe(complete);
  });
});

describe('a row whose time cannot be read', () => {
  test('is not the head of the list', () => {
    expect(walk(start(), page([UNREADABLE, 40, 30])).head).toBe(at(40));
  });

  test('does not hide that the bound was passed above it', () => {
    expect(walk(start({ bound: at(20) }), page([40, 19, UNREADABLE])).outcome).toBe('complete');
  });

  test('does not hide that the next page is out of order', () => {
    const first = walk(start({ isUnordered: false }), page([40, UNREADABLE], { cursor: 'a' }));
    const second = takePage(first, page([41], { cursor: 'b' }));

    expect(second.hasMetDisorder).toBe(true);
    expect(takePage(first, page([39], { cursor: 'b' })).hasMetDisorder).toBe(false);
  });

  test('is always in reach', () => {
    expect(isInReach(start({ bound: at(20) }), 'soon')).toBe(true);
  });
});

describe('reach', () => {
  test('is everything before the first complete walk, and everything in an unordered list', () => {
    expect(isInReach(start(), text(1))).toBe(true);
    expect(isInReach(start({ bound: at(20), isUnordered: true }), text(1))).toBe(true);
    expect(isInReach(start({ bound: at(20) }), text(19))).toBe(false);
    expect(isInReach(start({ bound: at(20) }), text(20))).toBe(true);
  });
});

describe('the bound of a first walk', () => {
  const boundAfter = (goal: Partial<WalkGoal>, ...seconds: readonly number[]) =>
    walk(start(goal), page(seconds)).goal.bound;

  test('lies as deep below the head as is wanted', () => {
    expect(boundAfter({ depthMs: 30_000 }, 50, 40)).toBe(at(20));
  });

  test('is not drawn where there is one already, nor without a head', () => {
    expect(boundAfter({ depthMs: 30_000, bound: at(45) }, 50, 46)).toBe(at(45));
    expect(boundAfter({ depthMs: 30_000 }, UNREADABLE)).toBeUndefined();
    expect(boundAfter({}, 50)).toBeUndefined();
  });

  test('lies deeper where there are news', () => {
    expect(boundAfter({ depthMs: 30_000, newsSince: at(10) }, 50)).toBe(at(10));
    expect(boundAfter({ depthMs: 30_000, newsSince: at(21) }, 50)).toBe(at(20));
    expect(boundAfter({ depthMs: 30_000, newsSince: at(20) }, 50)).toBe(at(20));
  });
});

describe('order', () => {
  test('is not lost by rows of one second', () => {
    expect(walk(start(), page([40, 40, 40])).hasMetDisorder).toBe(false);
  });

  test('once lost stays lost for this walk', () => {
    const state = walk(start(), page([40, 41], { cursor: 'a' }), page([39, 38], { cursor: 'b' }));

    expect(state).toMatchObject({ hasMetDisorder: true, isUnordered: true });
  });

  test('that an earlier walk has lost is not met again by rows that are in order', () => {
    expect(walk(start({ isUnordered: true }), page([40, 30]))).toMatchObject({
      isUnordered: true,
      hasMetDisorder: false,
    });
  });
});

describe('malformed rows', () => {
  test('count as rows: a page with one of each does not end the list', () => {
    expect(walk(start(), page([40], { malformedRowCount: 1 })).outcome).toBe('walking');
  });

  test('alone do not end the list either', () => {
    expect(walk(start(), page([], { malformedRowCount: 2 })).outcome).toBe('walking');
  });

  test('fill a page, so that it is widened', () => {
    expect(walk(start(), page([40, 30], { malformedRowCount: 1 })).next).toEqual({
      cursor: undefined,
      limit: 10,
    });
    expect(walk(start(), page([40], { malformedRowCount: 1 })).next).toEqual({ cursor: 'next', limit: 10 });
  });

  test('stand at the end of the list like others', () => {
    const state = walk(start({ endCursor: 'last' }), page([40], { malformedRowCount: 1, cursor: 'last' }));

    expect(state).toMatchObject({ outcome: 'complete', endCursor: 'last' });
  });

  test('the end of the list is the cursor that led to an empty page', () => {
    const state = walk(start(), page([40], { cursor: 'a' }), page([], { cursor: 'a' }));

    expect(state).toMatchObject({ outcome: 'complete', endCursor: 'a' });
  });
});

describe('the newest row that was there when a walk began', () => {
  const cycle = (goal: Partial<WalkGoal>, ...pages: readonly WalkPage[]) => {
    const { beganAt, newest } = walk(start({ isUnordered: true, ...goal }), ...pages);
    return { beganAt, newest };
  };

  test('is the newest of all its pages that is older than its beginning', () => {
    const pages = [
      page([10, 30, 20], { readAt: at(40), cursor: 'a' }),
      page([15, 35, 41], { readAt: at(45), cursor: 'b' }),
      page([25, UNREADABLE], { readAt: at(50), cursor: 'c' }),
    ];

    expect(cycle({}, ...pages)).toEqual({ beganAt: at(40), newest: at(35) });
  });

  test('is not a row of the very second in which it began: others may follow in it', () => {
    expect(cycle({}, page([40, 39], { readAt: at(40) }))).toEqual({ beganAt: at(40), newest: at(39) });
  });

  test('is not known when no clock shows the time', () => {
    expect(cycle({}, page([10, 30]))).toEqual({ beganAt: undefined, newest: undefined });
  });

  test('goes on over the polls of one walk', () => {
    const resume: ResumePoint = {
      head: at(30),
      cursor: 'a',
      is_unordered: true,
      began_at: at(40),
      newest: at(35),
    };

    expect(cycle({ resume }, page([50, 20, 38], { readAt: at(55) }))).toEqual({
      beganAt: at(40),
      newest: at(38),
    });
    expect(cycle({ resume }, page([20], { readAt: at(55) }))).toEqual({ beganAt: at(40), newest: at(35) });
  });

  test('is not known of a walk that an earlier version has begun', () => {
    const resume: ResumePoint = { head: at(30), cursor: 'a', is_unordered: true };

    expect(cycle({ resume }, page([20, 25], { readAt: at(55) }))).toEqual({
      beganAt: undefined,
      newest: undefined,
    });
  });
});

describe('what an interrupted walk leaves', () => {
  test('of an ordered list is its head, its cursor and its lowest row', () => {
    const state = walk(start(), page([40], { cursor: 'a' }), page([30, UNREADABLE], { cursor: 'b' }));

    expect(resumePoint(state)).toStrictEqual({ head: at(40), cursor: 'b', lowest: at(30) });
  });

  test('of an ordered list says besides when the walk began, where its first page said it', () => {
    const state = walk(start(), page([40], { cursor: 'a', readAt: at(45) }), page([30], { cursor: 'b' }));

    expect(resumePoint(state)).toStrictEqual({
      began_at: at(45),
      head: at(40),
      cursor: 'b',
      lowest: at(30),
    });
  });

  test('without any readable time is only its cursor', () => {
    const state: WalkState = { ...start(), lastCursor: 'a' };

    expect(resumePoint(state)).toStrictEqual({ head: '0001-01-01T00:00:00.000000000Z', cursor: 'a' });
  });

  test('of an unordered list says besides when it began and which row was the newest then', () => {
    const state = walk(
      start({ isUnordered: true }),
      page([10, 30], { readAt: at(40), cursor: 'a' }),
      page([20], { cursor: 'b' }),
    );

    expect(resumePoint(state)).toStrictEqual({
      head: at(10),
      cursor: 'b',
      is_unordered: true,
      began_at: at(40),
      newest: at(30),
    });
    expect(resumePoint(walk(start({ isUnordered: true }), page([10], { cursor: 'a' })))).toStrictEqual({
      head: at(10),
      cursor: 'a',
      is_unordered: true,
    });
  });

  test('keeps what was looked up of the newest recorded row, however often the walk is cut short', () => {
    const resume: ResumePoint = { head: at(30), cursor: 'a', lowest: at(10), newest: at(35) };
    const state = walk(
      start({ resume, bound: at(0) }),
      page([30, 29], { cursor: 'b' }),
      page([9, 8], { cursor: 'c' }),
    );

    expect(resumePoint(state)).toMatchObject({ head: at(30), newest: at(35) });
  });

  test('while it still reads what is new at the head is what it had begun with', () => {
    const resume: ResumePoint = { head: at(30), cursor: 'a', lowest: at(10) };
    const state = walk(start({ resume }), page([50, 49, 48], { cursor: 'b' }));

    expect(resumePoint(state)).toStrictEqual(resume);
    const disorder = walk(start({ resume }), page([48, 49, 50], { cursor: 'b' }));
    expect(resumePoint({ ...disorder, phase: 'head' })).toStrictEqual({ ...resume, is_unordered: true });
  });

  test('whose tail has read no row yet is as low as it was', () => {
    const resume: ResumePoint = { head: at(30), cursor: 'a', lowest: at(10) };
    const state = walk(start({ resume }), page([50, 29], { cursor: 'b' }));

    expect(state).toMatchObject({ phase: 'tail', next: { cursor: 'a' } });
    expect(resumePoint(state)).toStrictEqual({ head: at(30), cursor: 'a', lowest: at(10) });
  });
});

test('a sweep goes a week deep', () => {
  expect(SWEEP_DEPTH_MS).toBe(7 * 24 * 3_600_000);
});
