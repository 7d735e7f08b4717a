/** Tests the planner's promise: whatever is urgent, no project waits for more than four rounds (ADR 6). */

import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { busy, MINUTE_MS, quiet, runPlanner } from './planner-under-load.ts';

const SEEDS = [1, 2, 3, 4, 5];
const projects = (count: number) => Array.from({ length: count }, (_, place) => `p${place}`);
const oneInFive = (id: string) => Number(id.slice(1)) % 5 === 0;

const oneInThree = (id: string) => Number(id.slice(1)) % 3 === 0;

/** Returns histories as an earlier process has left them. */
const historiesOf = (projectIds: readonly string[]) =>
  new Map(projectIds.map((id) => [id, { arrivalCount: 8, observedMs: 24 * 60 * MINUTE_MS }]));

describe.each(SEEDS)('with seed %i, no project waits for more than four rounds', (seed) => {
  test.each([true, false])('when a fifth of 500 projects is always active (known before: %s)', (isKnown) => {
    const projectIds = projects(500);
    const histories = isKnown ? historiesOf(projectIds) : new Map();
    const settings = { requestsPerMinute: 700, pollIntervalMsMin: 500, seed };
    const run = runPlanner({ projectIds, histories, ...settings });
    run.pass(10 * MINUTE_MS, { activityOf: (id, nowMs) => (oneInFive(id) ? busy(nowMs) : quiet) });

    expect(run.unreadCount()).toBe(0);
    expect(run.longestWaitRounds()).toBeLessThanOrEqual(4);
  });

  test('when the list truly says every second that a fifth of 500 projects has changed', () => {
    const projectIds = projects(500);
    const listing = { usualIntervalMs: MINUTE_MS, hintIntervalMsMin: 1_000 };
    const settings = { requestsPerMinute: 700, listing, seed };
    const run = runPlanner({ projectIds, histories: historiesOf(projectIds), ...settings });
    const rowsAt = (nowMs: number) =>
      projectIds.map((id) => ({ id, updated_at: oneInFive(id) ? nowMs : 'never' }));
    run.pass(10 * MINUTE_MS, {
      activityOf: (id, nowMs) => (oneInFive(id) ? busy(nowMs) : quiet),
      resultOf: (id) => ({ foundTransition: oneInFive(id) }),
      everyMs: 1_000,
      happens: (plan, nowMs) => {
        const whole = { unavailableProjectIds: [], malformedRowCount: 0, cursor: undefined };
        plan.reportPage(0, { ...whole, rows: rowsAt(nowMs) }, nowMs);
      },
    });

    expect(run.unreadCount()).toBe(0);
    expect(run.longestWaitRounds()).toBeLessThanOrEqual(4);
  });

  test('when a caller wishes for six readings a second', () => {
    const random = seededRandom(seed);
    const run = runPlanner({ projectIds: projects(300), requestsPerMinute: 350, seed });
    run.pass(10 * MINUTE_MS, {
      everyMs: 1_000 / 6,
      happens: (plan) => plan.wish(`p${Math.floor(random.next() * 6)}`),
    });

    expect(run.unreadCount()).toBe(0);
    expect(run.longestWaitRounds()).toBeLessThanOrEqual(4);
  });

  test('when a command is sent in every tenth of a second', () => {
    const random = seededRandom(seed);
    const run = runPlanner({ projectIds: projects(300), requestsPerMinute: 350, seed });
    run.pass(10 * MINUTE_MS, {
      everyMs: 100,
      happens: (plan) => plan.askAtOnce(`p${Math.floor(random.next() * 60)}`),
    });

    expect(run.unreadCount()).toBe(0);
    expect(run.longestWaitRounds()).toBeLessThanOrEqual(4);
  });

  test('when the clock of the machine is set back by an hour', () => {
    const run = runPlanner({ projectIds: projects(500), requestsPerMinute: 700, seed });
    const load = { activityOf: (id: string, nowMs: number) => (oneInFive(id) ? busy(nowMs) : quiet) };
    run.pass(5 * MINUTE_MS, load);
    run.setClockBack(60 * MINUTE_MS);
    run.pass(5 * MINUTE_MS, load);

    expect(run.longestWaitRounds()).toBeLessThanOrEqual(4);
  });

  test('when the projects are known from an earlier process: all of them are read within two rounds', () => {
    const projectIds = projects(60);
    const histories = historiesOf(projectIds);
    const settings = { requestsPerMinute: 350, pollIntervalMsMin: 1_000, seed };
    const run = runPlanner({ projectIds, histories, ...settings });
    run.pass((2 * 60 * MINUTE_MS) / 350, {
      activityOf: (id, nowMs) => (oneInThree(id) ? busy(nowMs) : quiet),
    });

    expect(run.unreadCount()).toBe(0);
  });
});

test('processes that end before a round is over do not leave out the same projects each time', () => {
  const projectIds = projects(1_000);
  const busierAndBusier = new Map(
    projectIds.map((id, place) => [id, { arrivalCount: 1 + place, observedMs: 24 * 60 * MINUTE_MS }]),
  );
  const unread = new Set(projectIds);
  for (let seed = 1; seed <= 50; seed++) {
    const run = runPlanner({ projectIds, histories: busierAndBusier, requestsPerMinute: 350, seed });
    run.pass(MINUTE_MS);
    for (const id of unread) if (run.readCount(id) > 0) unread.delete(id);
  }

  expect([...unread]).toEqual([]);
});

test('five sixths of the projects that fail have no more than their share of the requests', () => {
  const projectIds = projects(300);
  const fails = (id: string) => Number(id.slice(1)) % 6 !== 0;
  const minutes = 40;
  const run = runPlanner({ projectIds, requestsPerMinute: 60, seed: 1 });
  run.pass(minutes * MINUTE_MS, { resultOf: (id) => ({ hasFailed: fails(id) }) });
  const readings = projectIds.filter((id) => !fails(id)).reduce((sum, id) => sum + run.readCount(id), 0);

  expect(readings / (minutes * 60)).toBeGreaterThan(0.9 / 6);
});
