/** Tests what the item of a project says once its list cannot be read any more, and what a row is taken for weeks later. */

import { describe, expect, test } from 'vitest';
import { isWanted, noteRecorded, wantedRecords } from '../../../functions/poller/walk-plan/failing-list.ts';
import { startWalk } from '../../../functions/poller/walk-plan/page-walk.ts';
import type { PollOutcome } from '../../../functions/poller/walk-plan/poll-outcome.ts';
import { decideProgress } from '../../../functions/poller/walk-plan/walk-progress.ts';
import type { WalkState } from '../../../functions/poller/walk-plan/walk-state.ts';
import { mayBeForgotten } from '../../../shared/core/records/history.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Progress } from '../../../shared/core/records/reading-progress.ts';
import { RECORDED_ABOVE_MAX, type RecordedOperation } from '../../../shared/core/records/recorded-above.ts';
import { earlierBy, secondOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { NOON_MS } from '../../builders.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const LIMITS = { firstPageRows: 5, widePageRows: 10, pagesMax: 4, overlapMs: 5 * MINUTE_MS };

/** Returns the time that lies this many minutes after noon. */
const at = (minutes: number): Timestamp => secondOf(NOON_MS + minutes * MINUTE_MS);
const operation = (minutes: number, id = `op-${minutes}`): RecordedOperation => ({
  id,
  createdAt: at(minutes),
});
const WATERMARK = at(0);

const aProject = (fields: Partial<ProjectRecord> = {}): ProjectRecord => ({
  kind: 'project',
  account_id: 'main',
  project_id: 'a',
  is_visible: true,
  revision: 0,
  published: 0,
  entries: [],
  watermark: WATERMARK,
  ...fields,
});
const NEVER_WALKED: Partial<ProjectRecord> = { watermark: undefined };

/** This walk has not read a row, because the upstream failed at once. */
const failed = (project: ProjectRecord): WalkState =>
  startWalk({ bound: project.watermark, resume: project.resume }, LIMITS);

const decide = (project: ProjectRecord, fields: Partial<PollOutcome>): Progress =>
  decideProgress({
    project,
    walk: failed(project),
    sweep: undefined,
    newerRowCount: 0,
    watermarkStepRows: 24,
    arrivals: undefined,
    listEnd: undefined,
    recorded: undefined,
    ended: [],
    nowMs: Date.parse(at(120)),
    ...fields,
  }) ?? {};

/** Returns the project as the next poll reads it. */
const nextOf = (project: ProjectRecord, progress: Progress): ProjectRecord => {
  const set = {
    ...project,
    watermark: progress.watermark ?? project.watermark,
    resume: progress.resume === null ? undefined : (progress.resume ?? project.resume),
  };
  const { recordedUntil = project.recorded_until, recordedAbove = project.recorded_above } = progress;
  return { ...set, recorded_until: recordedUntil ?? undefined, recorded_above: recordedAbove ?? undefined };
};

const noted = (project: ProjectRecord, recorded: readonly RecordedOperation[]): ProjectRecord =>
  nextOf(project, decide(project, { recorded }));

/** Says what the row is taken for forty days later, when the table has forgotten what it held. */
const isForgotten = (row: RecordedOperation, project: ProjectRecord): boolean =>
  mayBeForgotten(row, project, NOON_MS + 40 * DAY_MS);

describe('a project that cannot be read for weeks', () => {
  test('keeps what is recorded, and everything else that began after its watermark is news', () => {
    const project = noted(aProject(), [operation(40), operation(10)]);

    expect(isForgotten(operation(40), project)).toBe(true);
    expect(isForgotten(operation(10), project)).toBe(true);
    expect(isForgotten(operation(30), project)).toBe(false);
    expect(isForgotten(operation(50), project)).toBe(false);
  });

  // Seed 500040698 of the wide world.
  test('keeps the rows that a walk has not come to between its head and what it has met above it', () => {
    const resume = { head: at(0), cursor: 'row-9', lowest: at(-60) };
    const walking = noted(aProject({ ...NEVER_WALKED, resume }), [operation(20), operation(18)]);
    expect(isForgotten(operation(10), walking)).toBe(false);
    expect(isForgotten(operation(18), walking)).toBe(true);
    expect(isForgotten(operation(-30), walking)).toBe(true);

    const goal = { bound: undefined, resume: walking.resume };
    const walk: WalkState = { ...startWalk(goal, LIMITS), outcome: 'complete', head: at(0), next: undefined };
    const complete = nextOf(walking, decide(walking, { walk }));

    expect(complete).toMatchObject({ watermark: at(0), resume: undefined });
    expect(isForgotten(operation(10), complete)).toBe(false);
    expect(isForgotten(operation(18), complete)).toBe(true);
  });

  test('keeps the rows between its watermark and the walk that was cut short above it', () => {
    const resume = { head: at(60), cursor: 'row-9', lowest: at(40) };
    const project = noted(aProject({ resume }), [operation(70), operation(39), operation(5)]);

    for (const minutes of [70, 60, 50, 39, 5]) expect(isForgotten(operation(minutes), project)).toBe(true);
    for (const minutes of [71, 65, 38, 10]) expect(isForgotten(operation(minutes), project)).toBe(false);
  });

  // Seed 500051520 of the wide world.
  test('keeps a row that became visible late and is older than its watermark', () => {
    const project = noted(aProject(), [operation(0), operation(-10), operation(-3 * 24 * 60)]);

    expect(isForgotten(operation(-5), project)).toBe(false);
    for (const minutes of [0, -10, -3 * 24 * 60, -8 * 24 * 60])
      expect(isForgotten(operation(minutes), project)).toBe(true);
  });

  test('takes for recorded what the table may have forgotten by now', () => {
    const nowMs = NOON_MS + 29 * DAY_MS;
    const project = nextOf(aProject(), decide(aProject(), { recorded: [], nowMs }));
    expect(project.recorded_until).toBe(earlierBy(WATERMARK, DAY_MS));
    const late = nextOf(aProject(), decide(aProject(), { recorded: [], nowMs: nowMs + 5 * DAY_MS }));

    expect(late.recorded_until).toBe(WATERMARK);
  });

  test('is not published once more when its first walk ended before anything was kept of it', () => {
    const project = noted(aProject(NEVER_WALKED), [operation(20), operation(10)]);

    expect(isForgotten(operation(20), project)).toBe(true);
    expect(isForgotten(operation(15), project)).toBe(false);
  });

  test('keeps what an earlier process has noted and the table has forgotten since', () => {
    const earlier = noted(aProject(), [operation(40)]);
    const project = noted(earlier, [operation(50)]);

    expect(project.recorded_until).toBe(earlier.recorded_until);
    expect(Object.keys(project.recorded_above ?? {})).toEqual(['op-50', 'op-40']);
    expect(decide(project, { recorded: [operation(50)] })).toEqual({});
  });
});

describe('more operations than the item can name', () => {
  const many = (from: number, count = RECORDED_ABOVE_MAX + 1) =>
    Array.from({ length: count }, (_, place) => operation(from - place));

  test('count as recorded down from the newest one that is left out', () => {
    const project = noted(aProject(), many(100));

    expect(project.recorded_until).toBe(at(100 - RECORDED_ABOVE_MAX));
    expect(Object.keys(project.recorded_above ?? {})).toHaveLength(RECORDED_ABOVE_MAX);
    const all = noted(aProject(), many(100, RECORDED_ABOVE_MAX));
    expect(all.recorded_until).toBe(earlierBy(WATERMARK, 7 * DAY_MS));
    const joined = noted(all, [operation(101)]);
    expect(joined.recorded_until).toBe(at(101 - RECORDED_ABOVE_MAX));
  });

  test('count as recorded only down to the head of a walk that was cut short', () => {
    const resume = { head: at(0), cursor: 'row-9', lowest: at(-60) };
    const project = noted(aProject({ ...NEVER_WALKED, resume }), many(100));

    expect(project.resume?.newest).toBe(at(100 - RECORDED_ABOVE_MAX));
    expect(isForgotten(operation(20, 'unread'), project)).toBe(true);
    expect(isForgotten(operation(-61, 'unread'), project)).toBe(false);
    const walked = noted(aProject({ watermark: at(-300), resume }), many(-70));
    expect(walked.resume?.newest).toBe(at(0));
    expect(walked.recorded_until).toBe(at(-70 - RECORDED_ABOVE_MAX));
  });

  test('count as recorded down to the watermark only from the head of a walk on that was cut short', () => {
    const project = aProject({
      watermark: at(-300),
      resume: { head: at(0), cursor: 'row-9', lowest: at(-60) },
    });
    const above = noted(project, many(100));
    expect([above.resume?.newest, above.recorded_until]).toEqual([
      at(100 - RECORDED_ABOVE_MAX),
      earlierBy(at(-300), 7 * DAY_MS),
    ]);

    const below = noted(project, many(RECORDED_ABOVE_MAX));
    expect([below.resume?.newest, below.recorded_until]).toEqual([at(0), at(0)]);
  });

  test('leave nothing counted as recorded that is not named, when no walk has been complete yet', () => {
    const project = aProject(NEVER_WALKED);

    expect(noteRecorded({ project, walk: failed(project), nowMs: NOON_MS }, many(100))).toEqual({});
  });

  test('never take back what was noted', () => {
    const resume = { head: at(0), cursor: 'row-9', lowest: at(-60), newest: at(50) };
    const project = aProject({ ...NEVER_WALKED, resume });
    const poll = { project, walk: failed(project), nowMs: NOON_MS };

    expect(noteRecorded(poll, [])).toEqual({});
    expect(noteRecorded(poll, many(100)).resume).toBeUndefined();
    expect(noteRecorded(poll, many(120)).resume).toEqual({ ...resume, newest: at(120 - RECORDED_ABOVE_MAX) });
  });
});

describe('the table is asked', () => {
  test('for what is newer than everything that counts as recorded, but not for history', () => {
    const walk = failed(aProject());
    const withNews = (newsSince: Timestamp) => ({ ...walk, goal: { ...walk.goal, newsSince } });
    const afterOf = (state: WalkState, project = aProject()) => wantedRecords(project, state, NOON_MS).after;

    expect(afterOf(walk)).toBe(earlierBy(WATERMARK, 7 * DAY_MS));
    expect(afterOf(withNews(at(-60)))).toBe(earlierBy(at(-60), 1_000));
    expect(afterOf(withNews(at(-60)), aProject({ recorded_until: at(-5) }))).toBe(at(-5));
    expect(afterOf(walk, aProject(NEVER_WALKED))).toBeUndefined();
    expect(afterOf(withNews(at(-60)), aProject(NEVER_WALKED))).toBe(earlierBy(at(-60), 1_000));
    expect(wantedRecords(undefined, walk, NOON_MS)).toEqual({ after: undefined, stretch: undefined });
  });

  test('for nothing of the walk that was cut short, by this poll or an earlier one', () => {
    const resume = { head: at(0), cursor: 'row-9', lowest: at(-60) };
    const project = aProject({ ...NEVER_WALKED, resume });
    const stretchOf = (walk: WalkState) => wantedRecords(project, walk, NOON_MS).stretch;

    expect(stretchOf(failed(project))).toEqual({ head: at(0), lowest: at(-60) });
    const deeper = {
      ...failed(project),
      phase: 'tail',
      head: at(0),
      lastCursor: 'row-20',
      aboveNext: at(-90),
    };
    expect(stretchOf(deeper as WalkState)).toEqual({ head: at(0), lowest: at(-90) });
    const blind = aProject({ resume: { head: at(0), cursor: 'row-9' } });
    expect(wantedRecords(blind, failed(blind), NOON_MS).stretch).toBeUndefined();
  });
});

describe('an unordered list that cannot be read', () => {
  const UNTIL = { recorded_until: at(-60), is_unordered: true } as const;
  const unordered = (project: ProjectRecord): WalkState => ({ ...failed(project), isUnordered: true });

  // Seed 500020203 of the wide world: a process crashed before it named what it had recorded.
  test('names what the table holds beside what its own polls have met', () => {
    const project = aProject({ ...NEVER_WALKED, ...UNTIL, recorded_above: { 'op-5': 1 } });
    const walk = unordered(project);
    const fields = { walk, recorded: [operation(10), operation(-61)], ended: [operation(20)] };
    const next = nextOf(project, decide(project, fields));

    expect(Object.keys(next.recorded_above ?? {})).toEqual(['op-20', 'op-10']);
    expect(next.recorded_until).toBe(at(-60));
    expect(isForgotten(operation(10), next)).toBe(true);
    expect(isForgotten(operation(11), next)).toBe(false);
  });

  test('names what only its own polls have met when the table was not asked', () => {
    const project = aProject({ ...NEVER_WALKED, ...UNTIL });
    const next = nextOf(project, decide(project, { walk: unordered(project), ended: [operation(20)] }));

    expect(Object.keys(next.recorded_above ?? {})).toEqual(['op-20']);
  });

  test('takes nothing for recorded only because a walk that was cut short has rows above and below it', () => {
    const resume = { head: at(0), cursor: 'row-9', lowest: at(-50) };
    const project = aProject({ ...NEVER_WALKED, ...UNTIL, resume });
    const wanted = wantedRecords(project, unordered(project), NOON_MS);

    expect(wanted).toEqual({ after: at(-60), stretch: undefined });
    expect(isWanted(at(-20), wanted)).toBe(true);
  });
});

describe('an operation needs a name', () => {
  const stretch = { lowest: at(20), head: at(40) };
  const wantedOf = (wanted: Parameters<typeof isWanted>[1]) =>
    [-1, 0, 1, 20, 21, 40, 41].filter((minutes) => isWanted(at(minutes), wanted));

  test('unless it counts as recorded, or was created within the walk that was cut short', () => {
    expect(wantedOf({ after: at(0), stretch })).toEqual([1, 20, 41]);
    expect(wantedOf({ after: at(0), stretch: undefined })).toEqual([1, 20, 21, 40, 41]);
    expect(wantedOf({ after: undefined, stretch })).toEqual([-1, 0, 1, 20, 41]);
    expect(wantedOf({ after: undefined, stretch: undefined })).toHaveLength(7);
  });
});

describe('what was noted', () => {
  const LONG_AGO = { swept_at_ms: NOON_MS - 40 * DAY_MS };
  const RECENTLY = { swept_at_ms: NOON_MS - DAY_MS };
  const NOTED = { recorded_until: at(-60), recorded_above: { 'op-0': 1 } };
  const walkTo = (minutes: number): WalkState => ({
    ...failed(aProject()),
    outcome: 'complete',
    head: at(minutes),
    next: undefined,
  });

  test('is dropped with the next complete walk, whether or not that has met anything new', () => {
    const dropped = { recordedUntil: null, recordedAbove: null };

    expect(decide(aProject({ ...NOTED, ...RECENTLY }), { walk: walkTo(0) })).toEqual(dropped);
    expect(decide(aProject({ ...NOTED, ...RECENTLY }), { walk: walkTo(9) })).toMatchObject(dropped);
    expect(decide(aProject(RECENTLY), { walk: walkTo(0) })).toEqual({});
    const noNote = aProject({ ...RECENTLY, resume: { head: at(3), cursor: 'row-9' } });
    expect(decide(noNote, { walk: walkTo(9) })).toEqual({ watermark: at(9), resume: null });
  });

  test('is dropped, too, with a complete walk that shows a list in order that was not', () => {
    const project = aProject({ ...NOTED, ...RECENTLY, is_unordered: true });

    expect(decide(project, { walk: walkTo(9) })).toMatchObject({ recordedUntil: null, recordedAbove: null });
  });

  test('is dropped without a sweep only within seven days of the last one', () => {
    const sweptAgo = (agoMs: number) => {
      const project = aProject({ ...NOTED, swept_at_ms: NOON_MS - agoMs });
      return decide(project, { walk: walkTo(0), nowMs: NOON_MS });
    };

    expect(sweptAgo(7 * DAY_MS - 1)).toHaveProperty('recordedUntil', null);
    expect(sweptAgo(7 * DAY_MS)).toEqual({});
  });

  test.each([
    [20, 20],
    [5, 10],
  ])(
    'of the newest operation, minute %i, stays when a walk from minute 10 on is complete: %i',
    (newest, until) => {
      const resume = { head: at(10), cursor: 'row-9', newest: at(newest) };
      const project = aProject({ ...NOTED, ...RECENTLY, resume });

      expect(decide(project, { walk: walkTo(10) })).toEqual({
        watermark: at(10),
        resume: null,
        recordedUntil: at(until),
      });
    },
  );

  test('is nothing where nothing is stored of the project', () => {
    const poll = { walk: failed(aProject(NEVER_WALKED)), recorded: [operation(1)] };

    expect(decide(aProject(), { ...poll, project: undefined })).toEqual({});
  });

  test('is kept until a sweep has looked for rows that had become visible late', () => {
    const project = aProject({ ...NOTED, ...LONG_AGO });
    const sweep = { ...failed(project), outcome: 'interrupted' } as const;
    expect(decide(project, { walk: walkTo(0) })).toEqual({});
    expect(decide(project, { walk: walkTo(9), sweep })).toEqual({ watermark: at(9), resume: null });

    const swept = decide(project, { walk: walkTo(9), sweep: { ...sweep, outcome: 'complete' } });

    expect(swept).toMatchObject({ recordedUntil: null, recordedAbove: null });
  });
});
