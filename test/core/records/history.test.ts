/** Tests which rows that the table does not know count as forgotten, and how a project's item comes to say so. */

import { describe, expect, test } from 'vitest';
import { startWalk, takePage } from '../../../functions/poller/walk-plan/page-walk.ts';
import type { PollOutcome } from '../../../functions/poller/walk-plan/poll-outcome.ts';
import { resumePoint } from '../../../functions/poller/walk-plan/resume-point.ts';
import { decideProgress } from '../../../functions/poller/walk-plan/walk-progress.ts';
import type { WalkGoal, WalkPage } from '../../../functions/poller/walk-plan/walk-state.ts';
import {
  FORGOTTEN_AFTER_MS,
  mayBeForgotten,
  type RecordedReach,
} from '../../../shared/core/records/history.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import { RECORDED_ABOVE_MAX } from '../../../shared/core/records/recorded-above.ts';
import { normaliseTimestamp, secondOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';

const DAY_MS = 24 * 3_600_000;
const at = (day: number, hour = 0): Timestamp =>
  normaliseTimestamp(
    `2026-01-${String(day).padStart(2, '0')}T${String(hour).padStart(2, '0')}:00:00Z`,
  ) as Timestamp;
const LONG_AFTER_MS = Date.parse(at(28)) + FORGOTTEN_AFTER_MS;
const isForgotten = (createdAt: Timestamp, reach: RecordedReach, nowMs = LONG_AFTER_MS) =>
  mayBeForgotten({ id: 'op-1', createdAt }, reach, nowMs);

describe('a row that the table does not know', () => {
  test('is news for thirty days, whatever is recorded', () => {
    const nowMs = Date.parse(at(10)) + FORGOTTEN_AFTER_MS;

    expect(isForgotten(at(10), { watermark: at(20) }, nowMs)).toBe(true);
    expect(isForgotten(at(10), { watermark: at(20) }, nowMs - 1)).toBe(false);
  });

  // Seed 500001858 of the wide world: the rows further down were not in order.
  test('is news within the stretch of a walk that began lately, because the table has forgotten nothing of it', () => {
    const stretch = { head: at(20), lowest: at(10) };
    const reachedSince = (began_at: Timestamp) => isForgotten(at(15), { resume: { ...stretch, began_at } });

    expect(reachedSince(at(28))).toBe(true);
    expect(reachedSince(at(28, 1))).toBe(false);
    expect(isForgotten(at(15), { resume: stretch })).toBe(true);
  });

  test('may be forgotten up to a day above the watermark, and is news without one', () => {
    expect(isForgotten(at(11), { watermark: at(10) })).toBe(true);
    expect(isForgotten(at(11, 1), { watermark: at(10) })).toBe(false);
    expect(isForgotten(at(1), {})).toBe(false);
  });

  test('is news above the newest operation that was recorded, where that is known', () => {
    const reach = { watermark: at(10), recorded_until: at(10, 5) };

    expect(isForgotten(at(10, 5), reach)).toBe(true);
    expect(isForgotten(at(10, 6), reach)).toBe(false);
  });

  test('of an unordered list is judged by its age alone only while it is not noted how far the list was recorded', () => {
    expect(isForgotten(at(15), { is_unordered: true })).toBe(true);
    expect(isForgotten(at(15), { is_unordered: true, recorded_until: at(14) })).toBe(false);
    expect(isForgotten(at(14), { is_unordered: true, recorded_until: at(14) })).toBe(true);
  });

  test('of an unordered list may be forgotten above that when the item names it', () => {
    const reach = { is_unordered: true, recorded_until: at(14) };

    expect(isForgotten(at(15), { ...reach, recorded_above: { 'op-1': 0 } })).toBe(true);
    expect(isForgotten(at(15), { ...reach, recorded_above: { 'op-2': 0 } })).toBe(false);
  });

  test('may be forgotten in the stretch that an interrupted walk has recorded, and nowhere below it', () => {
    const resume = { head: at(20), lowest: at(15) };

    expect(isForgotten(at(15, 1), { resume })).toBe(true);
    expect(isForgotten(at(21), { resume })).toBe(true);
    expect(isForgotten(at(21, 1), { resume })).toBe(false);
    expect(isForgotten(at(14, 23), { resume })).toBe(false);
    expect(isForgotten(at(16), { resume: { head: at(20) } })).toBe(false);
  });

  test('is news in the second in which that stretch ends, because the rest of it is on the next page', () => {
    const resume = { head: at(20), lowest: at(15) };

    expect(isForgotten(at(15), { resume })).toBe(false);
    expect(isForgotten(at(20), { resume: { head: at(20), lowest: at(20) } })).toBe(true);
  });

  test('above that stretch is news, where its newest operation is known', () => {
    const resume = { head: at(20), lowest: at(15), newest: at(20, 3) };

    expect(isForgotten(at(20, 3), { resume })).toBe(true);
    expect(isForgotten(at(20, 4), { resume })).toBe(false);
  });

  test('above that newest operation is news also within a day of the watermark of an earlier walk', () => {
    const resume = { head: at(20), lowest: at(19, 23), newest: at(20, 3) };

    expect(isForgotten(at(20, 4), { watermark: at(19, 22), resume })).toBe(false);
    expect(isForgotten(at(20, 3), { watermark: at(19, 22), resume })).toBe(true);
    expect(isForgotten(at(19, 22), { watermark: at(19, 22), resume })).toBe(true);
  });

  test('of an unordered list is judged by no stretch', () => {
    const resume = { head: at(20), lowest: at(15) };

    expect(isForgotten(at(16), { is_unordered: true, recorded_until: at(10), resume })).toBe(false);
  });
});

const LIMITS = { firstPageRows: 3, widePageRows: 3, pagesMax: 2, overlapMs: 0 };
const page = (days: readonly number[], cursor: string | undefined, readAt: Timestamp = at(28)): WalkPage => ({
  operations: days.map((day) => ({ id: `day-${day}`, created_at: at(day) })),
  malformedRowCount: 0,
  cursor,
  readAt,
});
const walkOf = (goal: Partial<WalkGoal>, ...pages: readonly WalkPage[]) =>
  pages.reduce(takePage, startWalk({ bound: undefined, resume: undefined, ...goal }, LIMITS));

describe('a walk', () => {
  test('that stops half-way keeps how deep it came', () => {
    const state = walkOf({}, page([20, 19, 18], 'a'), page([17, 16, 15], 'b'));

    expect(resumePoint(state)).toEqual({ head: at(20), cursor: 'b', began_at: at(28), lowest: at(15) });
  });

  test('that could not widen its first page goes on behind it', () => {
    const limits = { ...LIMITS, widePageRows: 9 };
    const state = takePage(
      startWalk({ bound: undefined, resume: undefined }, limits),
      page([20, 19, 18], 'a'),
    );

    expect(state.next).toEqual({ cursor: undefined, limit: 9 });
    expect(resumePoint(state)).toEqual({ head: at(20), cursor: 'a', began_at: at(28), lowest: at(18) });
  });

  test('keeps when it began, however many polls it takes', () => {
    const first = walkOf({}, page([20, 19, 18], 'a', at(21)), page([17, 16, 15], 'b', at(21)));
    const resume = resumePoint(first);
    expect(resume).toMatchObject({ began_at: at(21), lowest: at(15) });

    const second = walkOf({ resume }, page([20, 19, 18], 'a', at(22)), page([14, 13, 12], 'c', at(22)));

    expect(resumePoint(second)).toMatchObject({ began_at: at(21), lowest: at(12) });
  });

  test('that went no further keeps how deep the one before it came', () => {
    const resume = { head: at(20), cursor: 'b', lowest: at(15) };

    expect(resumePoint(walkOf({ resume }, page([21, 20, 19], 'x')))).toEqual(resume);
  });

  test('of an unordered list keeps when it began, and the newest row that was there by then', () => {
    const first = walkOf(
      { isUnordered: true },
      page([11, 19, 12], 'a', at(20)),
      page([22, 13, 14], 'b', at(23)),
    );
    const resume = resumePoint(first);
    expect(resume).toEqual({
      head: at(11),
      cursor: 'b',
      is_unordered: true,
      began_at: at(20),
      newest: at(19),
    });

    const second = walkOf({ resume }, page([23, 11, 19], 'x', at(24)), page([18, 15, 16], undefined, at(24)));

    expect(second).toMatchObject({ outcome: 'complete', newest: at(19) });
  });

  test('that an earlier version began says nothing of the newest row', () => {
    const resume = { head: at(11), cursor: 'b', is_unordered: true };
    const state = walkOf({ resume }, page([23, 11, 19], 'x', at(24)), page([18, 15, 16], undefined, at(24)));

    expect(state).toMatchObject({ outcome: 'complete', newest: undefined });
  });
});

const PROJECT = {
  kind: 'project',
  account_id: 'main',
  project_id: 'quiet-pond',
  is_visible: true,
  revision: 0,
  published: 0,
  entries: [],
} as const satisfies ProjectRecord;

const progressOf = (
  project: Partial<ProjectRecord>,
  outcome: Pick<PollOutcome, 'walk'> & Partial<PollOutcome>,
) =>
  decideProgress({
    project: { ...PROJECT, ...project },
    sweep: undefined,
    newerRowCount: 1,
    watermarkStepRows: 24,
    arrivals: undefined,
    listEnd: undefined,
    recorded: undefined,
    ended: [],
    nowMs: Date.parse(at(28)) + DAY_MS,
    ...outcome,
  });

describe('the item of a project', () => {
  test('leaves it to the watermark again once that moves, which it does with the next row', () => {
    const walk = walkOf({ bound: at(10) }, page([12, 11, 9], undefined));

    expect(progressOf({ watermark: at(11) }, { walk })).toBeUndefined();
    const swept = { swept_at_ms: Date.parse(at(28)) };
    expect(progressOf({ ...swept, watermark: at(11), recorded_until: at(12) }, { walk })).toMatchObject({
      watermark: at(12),
      recordedUntil: null,
    });
  });

  test('says of an unordered list how new the newest row of a complete walk was, and never goes back', () => {
    const walk = walkOf({ isUnordered: true }, page([11, 19, 12], undefined));
    const project = { is_unordered: true } as const;

    expect(progressOf(project, { walk })).toMatchObject({ recordedUntil: at(19) });
    expect(progressOf({ ...project, recorded_until: at(18) }, { walk })).toMatchObject({
      recordedUntil: at(19),
    });
    expect(progressOf({ ...project, recorded_until: at(19) }, { walk })?.recordedUntil).toBeUndefined();
    expect(progressOf({ ...project, recorded_until: at(21) }, { walk })?.recordedUntil).toBeUndefined();
  });

  test('names what is recorded of an unordered list above that, until a complete walk reaches it', () => {
    const interrupted = walkOf(
      { isUnordered: true },
      page([11, 19, 12], 'a', at(20)),
      page([22], 'b', at(23)),
    );
    const ended = [11, 19, 22].map((day) => ({ id: `op-${day}`, createdAt: at(day) }));
    const project = { is_unordered: true, recorded_until: at(12) } as const;
    const noted = progressOf(project, { walk: interrupted, ended })?.recordedAbove ?? {};
    expect(Object.keys(noted)).toEqual(['op-22', 'op-19']);

    const again = { ...project, recorded_above: noted };
    expect(progressOf(again, { walk: interrupted, ended })?.recordedAbove).toBeUndefined();

    const complete = walkOf({ isUnordered: true }, page([11, 19, 12], undefined, at(20)));
    const after = progressOf(again, { walk: complete, ended: [] });
    expect(after).toMatchObject({ recordedUntil: at(19) });
    expect(Object.keys(after?.recordedAbove ?? {})).toEqual(['op-22']);
  });

  test('names no history of an unordered list, and at most 64 operations: the newest', () => {
    const walk = walkOf({ isUnordered: true, newsSince: at(2) }, page([11, 19, 12], 'a', at(20)));
    const second = (place: number) => secondOf(Date.parse(at(2)) + place * 1_000);
    const ended = Array.from({ length: 100 }, (_, place) => ({
      id: `op-${place}`,
      createdAt: second(place - 20),
    }));
    const names = Object.keys(progressOf({ is_unordered: true }, { walk, ended })?.recordedAbove ?? {});

    expect(names).toHaveLength(RECORDED_ABOVE_MAX);
    expect(names.at(0)).toBe('op-99');
    expect(names).not.toContain('op-19');
  });

  test('says that nothing of an unordered list is recorded for sure until it was read to its end once', () => {
    const walk = walkOf({}, page([11, 19, 12], 'a'), page([13, 9, 14], 'b'));

    expect(walk.outcome).toBe('interrupted');
    expect(progressOf({}, { walk })).toMatchObject({
      isUnordered: true,
      recordedUntil: '0001-01-01T00:00:00.000000000Z',
    });
    expect(progressOf({ watermark: at(8) }, { walk })).toMatchObject({ recordedUntil: at(8) });
    expect(progressOf({ is_unordered: true }, { walk })?.recordedUntil).toBeUndefined();
  });
});
