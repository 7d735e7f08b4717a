import { describe, expect, test } from 'vitest';
import { connect } from '../../infra/simulator/world/compute-commands.ts';
import { parseServeOptions } from './serve-options.ts';
import { aWorld, HOUR_MS, START_MS } from './upstream-under-test.ts';

const MONTH_MS = 30 * 24 * HOUR_MS;

describe('a world without sessions', () => {
  test('stays as it is for a month: no operation, no new project, no compute that wakes', () => {
    const world = aWorld({ sessionsPerHour: 0 });
    const before = world.projects().map(({ id }) => id);

    world.advanceTo(START_MS + MONTH_MS);

    expect(world.groundTruth()).toEqual([]);
    expect(world.projects().map(({ id }) => id)).toEqual(before);
  });

  test('has only the operations that a caller causes, and the suspend that follows from them', () => {
    const world = aWorld({ sessionsPerHour: 0, trouble: 0 });
    const project = world.project(world.projects()[0]?.id ?? '');
    if (project === undefined) throw new Error('The world has no project');
    connect(project, project.main.endpoint_id, world.nowMs);

    world.advanceTo(START_MS + MONTH_MS);

    expect(world.groundTruth().map(({ action }) => action)).toEqual(['start_compute', 'suspend_compute']);
  });
});

test('a world with a story makes three branches in its first minute: one is ready, one after a failure, and one never', () => {
  const world = aWorld({ trouble: 0, hasStory: true });

  world.advanceTo(START_MS + 60_000);

  const made = world
    .groundTruth()
    .filter(({ action, created_at_ms }) => action === 'create_branch' && created_at_ms >= START_MS)
    .map(({ states }) => states.map(({ status }) => status).filter((status) => status !== 'scheduling'));
  expect(made).toContainEqual(['running', 'finished']);
  expect(made).toContainEqual(['running', 'failed', 'running', 'finished']);
  expect(made).toContainEqual(['running', 'error']);
  const bad = world
    .groundTruth()
    .filter(({ states }) => /failed|error/.test(states.map(({ status }) => status).join()));
  expect(bad).toHaveLength(2);
});

describe('the option --sessions', () => {
  test.each([
    [[], 20],
    [['--sessions', '0'], 0],
    [['--sessions', '2.5'], 2.5],
  ])('of %j is read', (args, sessionsPerHour) => {
    expect(parseServeOptions(args)?.sessionsPerHour).toBe(sessionsPerHour);
  });

  test.each(['-1', '1001', 'many', ''])('of "%s" is refused', (text) => {
    expect(() => parseServeOptions([`--sessions=${text}`])).toThrow(
      `--sessions is "${text}"; it takes a number from 0 to 1000.`,
    );
  });
});
