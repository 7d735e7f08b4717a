import { expect, test } from 'vitest';
import { emptyMemory } from '../../../functions/poller/project/memory/project-memory.ts';
import { saveProgress } from '../../../functions/poller/project/save-progress.ts';
import { startWalk } from '../../../functions/poller/walk-plan/page-walk.ts';
import type { WalkState } from '../../../functions/poller/walk-plan/walk-state.ts';
import type { Progress } from '../../../shared/core/records/reading-progress.ts';
import { RECORDED_ABOVE_MAX } from '../../../shared/core/records/recorded-above.ts';
import { earlierBy, secondOf } from '../../../shared/core/time/timestamp.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import type { UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);
const WATERMARK = secondOf(NOON_MS);
const NEWEST = secondOf(NOON_MS + 4_000);
const LIMITS = { firstPageRows: 5, widePageRows: 100, pagesMax: 4, overlapMs: 5_000 };

const project = {
  kind: 'project',
  account_id: 'main',
  project_id: 'p',
  is_visible: true,
  revision: 0,
  published: 0,
  entries: [],
  watermark: WATERMARK,
} as const;
const nothingNew = { sweep: undefined, newerRowCount: 0, recordedCount: 0, history: undefined, ended: [] };
const walking = startWalk({ bound: WATERMARK, resume: undefined }, LIMITS);

/** Sets up a store whose answer to each write a test may change. */
function setUp() {
  const memory = emptyMemory();
  const noted: Progress[] = [];
  const logs: unknown[] = [];
  const answers = { next: async (): Promise<'recorded' | 'conflict'> => 'recorded', isBoundMet: false };
  let askCount = 0;
  const deps = {
    store: {
      saveProgress: async (_projectId: string, progress: Progress) => {
        const answer = await answers.next();
        noted.push(progress);
        return answer;
      },
    },
    askForRecorded: async () => {
      askCount += 1;
      return { operations: [{ id: 'op-1', createdAt: NEWEST }], isBoundMet: answers.isBoundMet };
    },
    clock: { now: () => NOON_MS, sleep: async () => {} },
    telemetry: { ...silentTelemetry, log: (...line: readonly unknown[]) => void logs.push(line) },
    options: { watermarkStepRows: 1 },
  };
  const save = (state: WalkState, failure?: UpstreamErrorKind, fields: object = {}) =>
    saveProgress(
      deps,
      { projectId: 'p', project, walk: { state, failure }, ...nothingNew, ...fields },
      memory,
    );
  return { noted, logs, answers, save, askCount: () => askCount };
}

test('the table is asked again what it holds of a project that cannot be read when it refused to note that', async () => {
  const { noted, answers, save } = setUp();
  answers.next = () => Promise.reject(new Error('throttled'));
  await save(walking, 'unavailable');
  await expect(save(walking, 'unavailable')).rejects.toThrow('throttled');
  answers.next = async () => 'recorded';
  await save(walking, 'unavailable');
  await save(walking, 'unavailable');

  const recordedUntil = earlierBy(WATERMARK, 7 * 24 * 3_600_000);
  const recordedAbove = { 'op-1': Date.parse(NEWEST) / 1_000 };
  expect(noted).toEqual([{ recordedUntil, recordedAbove, ifWatermark: secondOf(NOON_MS) }]);
});

test('the end of an invocation is no failure, and asks the table for nothing', async () => {
  const { save, askCount } = setUp();
  await save(walking, 'unavailable');
  await save(walking, 'cancelled');
  expect(askCount()).toBe(0);
  await save(walking, 'unavailable');
  expect(askCount()).toBe(1);
  const refused = setUp();
  refused.answers.next = () => Promise.reject(new Error('throttled'));
  await refused.save(walking, 'unavailable');
  await expect(refused.save(walking, 'unavailable')).rejects.toThrow('throttled');
  await refused.save(walking, 'cancelled');

  expect(refused.askCount()).toBe(1);
});

test('the table is asked again after a poll that has recorded something and failed, because an index lags', async () => {
  const { save, askCount } = setUp();
  await save(walking, 'unavailable');
  await save(walking, 'unavailable', { recordedCount: 1 });
  await save(walking, 'unavailable');
  await save(walking, 'unavailable');
  expect(askCount()).toBe(2);
  await save(walking, 'unavailable', { recordedCount: 1 });
  await save(walking, 'unavailable');
  await save(walking, 'unavailable');

  expect(askCount()).toBe(4);
});

test('what does not depend on a watermark is written when another process has moved the watermark', async () => {
  const { noted, answers, save } = setUp();
  answers.next = async () => 'conflict';
  const sweep = {
    ...startWalk({ bound: WATERMARK, resume: undefined }, LIMITS),
    outcome: 'complete',
  } as const;
  await save({ ...walking, outcome: 'complete', head: NEWEST }, undefined, { sweep, newerRowCount: 1 });
  const alone = setUp();
  alone.answers.next = async () => 'conflict';
  await alone.save({ ...walking, outcome: 'complete', head: NEWEST }, undefined, { newerRowCount: 1 });

  expect(noted).toMatchObject([{ watermark: NEWEST, sweepCount: 1 }, { sweepCount: 1 }]);
  expect(noted[1]).not.toHaveProperty('watermark');
  expect(alone.noted.map((each) => each.watermark)).toEqual([NEWEST]);
});

test('nothing is written when nothing is worth a write, and the caller hears of it', async () => {
  const { noted, save } = setUp();

  expect(await save({ ...walking, outcome: 'complete', head: WATERMARK })).toBe(false);
  expect(await save({ ...walking, outcome: 'complete', head: NEWEST }, undefined, { newerRowCount: 1 })).toBe(
    true,
  );
  expect(noted).toHaveLength(1);
});

test('operations of an unordered list that no longer fit into its note are logged once, and fewer are not', async () => {
  const unordered = { ...walking, outcome: 'interrupted', isUnordered: true } as const;
  const endedOnes = (count: number) =>
    Array.from({ length: count }, (_, place) => ({ id: `op-${place}`, createdAt: NEWEST }));
  const [full, room] = [setUp(), setUp()];
  for (let count = 0; count < 2; count++)
    await full.save(unordered, undefined, { ended: endedOnes(RECORDED_ABOVE_MAX + 1) });
  await room.save(unordered, undefined, { ended: endedOnes(RECORDED_ABOVE_MAX - 1) });

  expect(full.logs).toMatchObject([['warn', 'rows.not_noted', { project_id: 'p' }]]);
  expect(room.logs).toEqual([]);
});

test('a project is logged once when the table holds more of it than is looked at while it cannot be read', async () => {
  const { save, logs } = setUp();
  await save(walking, 'unavailable');
  await save(walking, 'unavailable');
  expect(logs).toEqual([]);
  const met = setUp();
  met.answers.isBoundMet = true;
  await met.save(walking, 'unavailable');
  for (let count = 0; count < 2; count++) await met.save(walking, 'unavailable', { recordedCount: 1 });

  expect(met.logs).toMatchObject([['warn', 'rows.not_noted', { project_id: 'p' }]]);
});
