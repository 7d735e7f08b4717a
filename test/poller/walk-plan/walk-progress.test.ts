import { describe, expect, test } from 'vitest';
import { startWalk } from '../../../functions/poller/walk-plan/page-walk.ts';
import type { PollOutcome } from '../../../functions/poller/walk-plan/poll-outcome.ts';
import { startSweep } from '../../../functions/poller/walk-plan/sweep-walk.ts';
import { decideProgress, withoutWatermark } from '../../../functions/poller/walk-plan/walk-progress.ts';
import type { WalkState } from '../../../functions/poller/walk-plan/walk-state.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { ResumePoint, SweepPoint } from '../../../shared/core/records/reading-progress.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import { NOON_MS } from '../../builders.ts';

const at = (text: string) => `${text}.000000000Z` as Timestamp;
const OLD = at('2026-01-15T11:00:00');
const NEW = at('2026-01-15T11:30:00');
const LATER = at('2026-01-15T11:45:00');
const limits = { firstPageRows: 5, widePageRows: 10, pagesMax: 4, overlapMs: 60_000 };
const begun = startWalk({ bound: undefined, resume: undefined }, limits);
const complete: WalkState = { ...begun, outcome: 'complete', head: NEW, pagesRead: 1, next: undefined };
const interrupted: WalkState = { ...complete, outcome: 'interrupted', lastCursor: 'row-9' };
const sweepBound = at('2026-01-08T11:00:00');
const sweep = startSweep({ bound: sweepBound, cursor: undefined, firstPageRows: 3 }, limits);
const sweptThrough: WalkState = { ...sweep, outcome: 'complete' };

const aProject = (fields: Partial<ProjectRecord> = {}): ProjectRecord => ({
  kind: 'project',
  account_id: 'main',
  project_id: 'a',
  is_visible: true,
  revision: 0,
  published: 0,
  entries: [],
  watermark: OLD,
  ...fields,
});

const decide = (fields: Partial<PollOutcome>) =>
  decideProgress({
    project: aProject(),
    walk: complete,
    sweep: undefined,
    newerRowCount: 10,
    watermarkStepRows: 10,
    arrivals: undefined,
    listEnd: undefined,
    recorded: undefined,
    ended: [],
    nowMs: NOON_MS,
    ...fields,
  });

describe('a complete walk', () => {
  test('moves the watermark to the head that the list had when it began', () => {
    expect(decide({})).toStrictEqual({ watermark: NEW, resume: null });
  });

  test('writes along with it where the list ends and how often something happens', () => {
    const arrivals = { count: 3, observed_ms: 100 };

    expect(decide({ arrivals, listEnd: 'row-9' })).toEqual({
      watermark: NEW,
      resume: null,
      arrivals,
      listEnd: 'row-9',
    });
  });

  test('that is the first of its project counts as a sweep: it was deeper than any', () => {
    expect(decide({ project: undefined })).toEqual({ watermark: NEW, resume: null, sweptAtMs: NOON_MS });
    expect(decide({ project: aProject({ watermark: undefined }), newerRowCount: 0 })).toMatchObject({
      watermark: NEW,
      sweptAtMs: NOON_MS,
    });
  });

  test.each([OLD, at('2026-01-15T10:00:00'), undefined])(
    'whose head is not newer than the watermark (%s) moves nothing',
    (head) => {
      expect(decide({ walk: { ...complete, head } })).toBeUndefined();
    },
  );

  test('of an empty list that was never read earns nothing', () => {
    expect(decide({ project: undefined, walk: { ...complete, head: undefined } })).toBeUndefined();
  });

  test('of an unordered list never moves the watermark: rows may stand anywhere', () => {
    expect(decide({ walk: { ...complete, isUnordered: true } })).toBeUndefined();
  });

  test('of few new rows is not worth a write', () => {
    expect(decide({ newerRowCount: 9 })).toBeUndefined();
  });

  test.each([
    ['an earlier walk was interrupted', { project: aProject({ resume: { head: OLD, cursor: 'row-1' } }) }],
    ['it took several pages, which must not be walked again', { walk: { ...complete, pagesRead: 2 } }],
    ['the watermark lags by more than a day', { walk: { ...complete, head: at('2026-01-16T11:00:01') } }],
  ])('of few new rows is worth one when %s', (_why, fields: Partial<PollOutcome>) => {
    expect(decide({ newerRowCount: 0, ...fields })).toMatchObject({
      watermark: expect.any(String),
      resume: null,
    });
  });

  test('of few new rows is not worth one when the watermark lags by a day exactly', () => {
    expect(
      decide({ newerRowCount: 0, walk: { ...complete, head: at('2026-01-16T11:00:00') } }),
    ).toBeUndefined();
  });

  test('that earns nothing takes a resume point away all the same', () => {
    const resume: ResumePoint = { head: OLD, cursor: 'row-1' };

    expect(decide({ project: aProject({ resume }), walk: { ...complete, head: OLD } })).toEqual({
      resume: null,
    });
  });
});

describe('an interrupted walk', () => {
  test('leaves a resume point and no watermark', () => {
    expect(decide({ walk: interrupted })).toEqual({ resume: { head: NEW, cursor: 'row-9' } });
  });

  test('leaves nothing when it has no resume point', () => {
    expect(decide({ walk: { ...interrupted, lastCursor: undefined } })).toBeUndefined();
  });

  test('writes its resume point once', () => {
    const project = aProject({ resume: { head: NEW, cursor: 'row-9' } });

    expect(decide({ walk: interrupted, project })).toBeUndefined();
  });

  test.each([
    ['its cursor', { head: NEW, cursor: 'row-1' }],
    ['its head', { head: OLD, cursor: 'row-9' }],
  ])('writes its resume point again when %s has moved', (_what, resume) => {
    expect(decide({ walk: interrupted, project: aProject({ resume }) })).toEqual({
      resume: { head: NEW, cursor: 'row-9' },
    });
  });

  test('writes its resume point again when it has recorded deeper rows above the same cursor', () => {
    const project = aProject({ resume: { head: NEW, cursor: 'row-9', lowest: NEW } });
    const deeper: WalkState = { ...interrupted, aboveNext: OLD };

    expect(decide({ walk: deeper, project })).toEqual({
      resume: { head: NEW, cursor: 'row-9', lowest: OLD },
    });
    expect(
      decide({ walk: { ...deeper, aboveNext: NEW }, project: { ...project, watermark: NEW } }),
    ).toBeUndefined();
  });
});

describe('a sweep', () => {
  test('that meets rows out of order marks the list as unordered, which is recorded up to its watermark', () => {
    const disordered: WalkState = { ...sweptThrough, isUnordered: true, hasMetDisorder: true };

    expect(decide({ sweep: disordered })).toMatchObject({ isUnordered: true, recordedUntil: NEW });
    expect(decide({ newerRowCount: 0, walk: { ...complete, head: OLD }, sweep: disordered })).toMatchObject({
      isUnordered: true,
      recordedUntil: OLD,
    });
    expect(decide({ project: aProject({ is_unordered: true }), sweep: disordered })).not.toMatchObject({
      isUnordered: true,
    });
  });

  test('that meets rows out of order of a list that is unordered already says nothing new of how far it is recorded', () => {
    const disordered: WalkState = { ...sweptThrough, isUnordered: true, hasMetDisorder: true };
    const project = aProject({ is_unordered: true, recorded_until: LATER });

    expect(decide({ project, walk: { ...complete, head: OLD }, sweep: disordered })).not.toHaveProperty(
      'recordedUntil',
    );
  });

  test('that meets rows out of order of a project of which nothing is stored says that its reach is unknown', () => {
    const disordered: WalkState = { ...sweptThrough, isUnordered: true, hasMetDisorder: true };

    expect(
      decide({ project: undefined, walk: { ...complete, head: undefined }, sweep: disordered }),
    ).toMatchObject({ isUnordered: true, recordedUntil: at('0001-01-01T00:00:00') });
  });

  test('that has reached its bound is done, and is counted', () => {
    expect(decide({ walk: { ...complete, head: OLD }, sweep: sweptThrough })).toEqual({
      sweptAtMs: NOON_MS,
      sweepCount: 1,
    });
    const project = aProject({ sweep_count: 6 });
    expect(decide({ project, sweep: sweptThrough })).toMatchObject({ sweepCount: 7 });
  });

  test('that is done removes its resume point', () => {
    const stored: SweepPoint = { bound: sweepBound, cursor: 'row-3' };

    expect(decide({ project: aProject({ sweep: stored }), sweep: sweptThrough })).toMatchObject({
      sweep: null,
    });
  });

  test('that is done is written anyway, so the watermark goes along', () => {
    expect(decide({ newerRowCount: 0, sweep: sweptThrough })).toMatchObject({
      watermark: NEW,
      sweepCount: 1,
    });
  });

  test.each(['walking', 'interrupted'] as const)(
    'that is still %s is not done, and leaves its resume point with the bound with which it began',
    (outcome) => {
      const walk = { ...complete, head: OLD };

      expect(decide({ walk, sweep: { ...sweep, outcome, lastCursor: 'row-3' } })).toEqual({
        sweep: { bound: sweepBound, cursor: 'row-3' },
      });
    },
  );

  test('of a project of which nothing is stored is done and leaves a resume point all the same', () => {
    const walk = { ...complete, head: undefined };

    expect(decide({ walk, project: undefined, sweep: sweptThrough })).toEqual({
      sweptAtMs: NOON_MS,
      sweepCount: 1,
    });
    expect(
      decide({ walk, project: undefined, sweep: { ...sweep, outcome: 'interrupted', lastCursor: 'row-3' } }),
    ).toEqual({ sweep: { bound: sweepBound, cursor: 'row-3' } });
  });

  test('that has no resume point leaves the stored one', () => {
    const project = aProject({ sweep: { bound: sweepBound, cursor: 'row-3' } });

    expect(
      decide({ walk: { ...complete, head: OLD }, project, sweep: { ...sweep, outcome: 'interrupted' } }),
    ).toBeUndefined();
  });

  test('that has not moved writes nothing', () => {
    const walk = { ...complete, head: OLD };
    const stored = { bound: sweepBound, cursor: 'row-3' };
    const still: WalkState = { ...sweep, outcome: 'interrupted', lastCursor: 'row-3' };

    expect(decide({ walk, sweep: still, project: aProject({ sweep: stored }) })).toBeUndefined();
    expect(decide({ walk, sweep: { ...sweep, outcome: 'interrupted' } })).toBeUndefined();
  });
});

describe('a list that is not newest first', () => {
  const same = { ...complete, head: OLD };
  const unordered = aProject({ is_unordered: true });

  test('is remembered as such, once', () => {
    const walk = { ...same, isUnordered: true, hasMetDisorder: true };

    expect(decide({ walk })).toMatchObject({ isUnordered: true });
    expect(decide({ walk, project: unordered })).toBeUndefined();
  });

  test('is remembered after an interrupted walk, too', () => {
    expect(decide({ walk: { ...interrupted, isUnordered: true, hasMetDisorder: true } })).toMatchObject({
      isUnordered: true,
      resume: { head: NEW, cursor: 'row-9', is_unordered: true },
    });
  });

  test('is forgotten after a walk from its head to its end that met no disorder', () => {
    expect(decide({ walk: { ...same, isUnordered: true }, project: unordered })).toEqual({
      isUnordered: null,
    });
  });

  test('is not forgotten after half of it: the disorder may be in the other half', () => {
    const resumed = { ...same, goal: { ...same.goal, resume: { head: OLD, cursor: 'row-1' } } };

    expect(decide({ walk: resumed, project: unordered })).toBeUndefined();
    expect(decide({ walk: { ...interrupted, lastCursor: undefined }, project: unordered })).toBeUndefined();
  });

  test('was never one when no walk has met disorder', () => {
    expect(decide({ walk: same })).toBeUndefined();
    expect(decide({ walk: same, project: undefined, newerRowCount: 0 })).not.toHaveProperty('isUnordered');
  });
});

describe('how far a project was recorded', () => {
  const UNKNOWN = at('0001-01-01T00:00:00');
  const met = { ...complete, head: OLD, isUnordered: true, hasMetDisorder: true };

  test('is the watermark, and no other field holds it then', () => {
    expect(decide({ project: aProject({ recorded_until: OLD, swept_at_ms: NOON_MS }) })).toEqual({
      watermark: NEW,
      resume: null,
      recordedUntil: null,
    });
    expect(decide({})).not.toHaveProperty('recordedUntil');
  });

  test('makes a watermark worth its write with the first new row: what was said stops being true', () => {
    expect(decide({ newerRowCount: 0, project: aProject({ recorded_until: OLD }) })).toMatchObject({
      watermark: NEW,
    });
  });

  test('is, for an unordered list, the newest row that was there when a complete walk began', () => {
    expect(decide({ walk: { ...met, newest: LATER } })).toMatchObject({ recordedUntil: LATER });
    const project = aProject({ is_unordered: true, recorded_until: LATER });
    expect(decide({ project, walk: { ...met, newest: LATER } })).toBeUndefined();
    expect(decide({ project, walk: { ...met, newest: NEW } })).toBeUndefined();
    expect(decide({ project: { ...project, recorded_until: NEW }, walk: { ...met, newest: LATER } })).toEqual(
      {
        recordedUntil: LATER,
      },
    );
  });

  test('is not said by an interrupted walk of one, beyond what was known when its order was lost', () => {
    const walk: WalkState = { ...met, outcome: 'interrupted', newest: LATER, lastCursor: undefined };

    expect(decide({ walk })).toEqual({ isUnordered: true, recordedUntil: OLD });
    expect(decide({ walk, project: undefined })).toEqual({ isUnordered: true, recordedUntil: UNKNOWN });
    expect(decide({ walk, project: aProject({ is_unordered: true }) })).toBeUndefined();
  });
});

describe('a walk that goes on after weeks and is complete', () => {
  const resume: ResumePoint = { head: NEW, cursor: 'row-1', lowest: OLD };
  const walk: WalkState = { ...complete, head: NEW, goal: { ...complete.goal, resume } };

  test('keeps how far its project was recorded, because what began after its head is unread and old', () => {
    const project = aProject({ watermark: undefined, resume: { ...resume, newest: LATER } });

    expect(decide({ walk, project })).toMatchObject({ watermark: NEW, resume: null, recordedUntil: LATER });
  });

  test('leaves that to the watermark when nothing was looked up, or when another walk has earned it', () => {
    expect(decide({ walk, project: aProject({ resume }) })).not.toHaveProperty('recordedUntil');
    const other = aProject({ resume: { ...resume, head: OLD, newest: LATER } });
    expect(decide({ walk, project: other })).not.toHaveProperty('recordedUntil');
  });
});

describe('what is left to write beside a watermark that was refused', () => {
  test('is everything that does not depend on it', () => {
    const sweepPoint = { bound: sweepBound, cursor: 'row-3' };
    const progress = {
      watermark: NEW,
      arrivals: { count: 1, observed_ms: 1 },
      listEnd: 'row-9',
      resume: null,
      sweep: sweepPoint,
      recordedUntil: NEW,
    };

    expect(withoutWatermark(progress)).toEqual({ sweep: sweepPoint });
  });

  test('leaves it to the walk of another process where that one continues', () => {
    const project = aProject({ resume: { head: NEW, cursor: 'row-1' } });
    const late = decide({ walk: complete, project });

    expect(late).toMatchObject({ watermark: NEW, resume: null });
    expect(withoutWatermark(late ?? {})).toBeUndefined();
  });

  test('is nothing when there is nothing else', () => {
    expect(withoutWatermark({ watermark: NEW, listEnd: 'row-9' })).toBeUndefined();
  });
});

describe('what is noted above the reach of an unordered list', () => {
  const secondsOf = (time: Timestamp) => Math.floor(Date.parse(time) / 1_000);
  const ended = (id: string, createdAt: Timestamp) => ({ id, createdAt });
  const unorderedWalk: WalkState = { ...interrupted, isUnordered: true };
  const noWatermark = aProject({ watermark: undefined });

  test('is every ended operation that is news and above what is recorded', () => {
    const walk = { ...unorderedWalk, goal: { ...unorderedWalk.goal, newsSince: OLD } };
    const before = at('2026-01-15T10:59:59');
    const project = { ...noWatermark, recorded_until: at('2026-01-15T11:10:00') };
    const progress = decide({
      project,
      walk,
      ended: [ended('history', before), ended('reached', OLD), ended('above', NEW)],
    });

    expect(progress?.recordedAbove).toEqual({ above: secondsOf(NEW) });
  });

  test('begins with an operation from the very moment at which news begins', () => {
    const walk = { ...unorderedWalk, goal: { ...unorderedWalk.goal, newsSince: OLD } };
    const before = at('2026-01-15T10:59:59');
    const progress = decide({
      project: noWatermark,
      walk,
      ended: [ended('first', OLD), ended('history', before)],
    });

    expect(progress?.recordedAbove).toEqual({ first: secondsOf(OLD) });
  });

  test('is every ended operation while it is unknown since when there is news', () => {
    const progress = decide({ project: noWatermark, walk: unorderedWalk, ended: [ended('a', OLD)] });

    expect(progress?.recordedAbove).toEqual({ a: secondsOf(OLD) });
  });

  test('is added to what was noted before, and not written again when nothing is new', () => {
    const project = { ...noWatermark, recorded_above: { a: secondsOf(OLD) } };

    expect(decide({ project, walk: unorderedWalk, ended: [ended('b', NEW)] })?.recordedAbove).toEqual({
      b: secondsOf(NEW),
      a: secondsOf(OLD),
    });
    expect(decide({ project, walk: unorderedWalk, ended: [ended('a', OLD)] })?.recordedAbove).toBeUndefined();
  });

  test('is nothing for a list that is newest first', () => {
    expect(decide({ project: noWatermark, walk: interrupted, ended: [ended('a', OLD)] })).not.toHaveProperty(
      'recordedAbove',
    );
  });

  test('is dropped once the watermark moves, and not mentioned where nothing was noted', () => {
    const project = aProject({ recorded_above: { a: secondsOf(OLD) }, swept_at_ms: NOON_MS });

    expect(decide({ project })).toMatchObject({ recordedAbove: null });
    expect(decide({})).not.toHaveProperty('recordedAbove');
  });

  test('is counted from nothing in a project that is not stored yet', () => {
    const progress = decide({ project: undefined, walk: unorderedWalk, ended: [ended('a', OLD)] });

    expect(progress?.recordedAbove).toEqual({ a: secondsOf(OLD) });
  });
});
