/** Tests the loop that works on repairs: its pace, its turns, and what the rest of the invocation learns from it. */

import { describe, expect, test } from 'vitest';
import type { RepairStep } from '../../../functions/poller/repair/repair-project.ts';
import { type RepairLoopDeps, repairRepeatedly } from '../../../functions/poller/repair/repair-repeatedly.ts';
import { normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { operationKey } from '../../../shared/store/keys.ts';
import { NOON_MS } from '../../builders.ts';
import { aProject, atMs, BOOT_AT, endedRows, PROJECT_ID } from '../project/project-under-test.ts';

const SINCE = normaliseTimestamp(atMs(NOON_MS - 3_600_000)) as Timestamp;
const ROWS = endedRows(3, { newestMs: NOON_MS - 60_000 });

/** A polled project of which a row is missing, and a loop that ends after `sleepCount` sleeps. */
async function setUp(sleepCount = 4) {
  const project = aProject();
  project.script.rows = [...ROWS];
  await project.poll();
  project.takeEvents();
  project.takeCalls();
  const stop = new AbortController();
  const sleeps: number[] = [];
  const busy: boolean[] = [];
  const failures: unknown[] = [];
  const steps: RepairStep[] = [];
  const repairing = {
    isBusy: false,
    onStep: (step: RepairStep) => void steps.push(step),
    survive: (task: () => Promise<void>) => task().catch((error: unknown) => void failures.push(error)),
  };
  const clock = {
    now: () => project.nowMs(),
    sleep: async (durationMs: number) => {
      project.pass(durationMs);
      sleeps.push(durationMs);
      busy.push(repairing.isBusy);
      if (sleeps.length >= sleepCount) stop.abort();
    },
  };
  const { store } = project;
  const deps: RepairLoopDeps = {
    ...project.deps,
    store,
    clock,
    limits: { requestsPerMinute: 600 },
    signal: stop.signal,
  };
  /** A bell that is not rung: with it, the loop waits for as long as it says. */
  const bell = { ring: () => {}, listen: () => (durationMs: number) => clock.sleep(durationMs) };
  return {
    ...project,
    deps,
    stop,
    sleeps,
    busy,
    failures,
    steps,
    ask: () => store.requestRepair({ projectId: PROJECT_ID, repairId: 'a-repair', since: SINCE }),
    damage: () => project.table.sync.remove(operationKey('main', PROJECT_ID, ROWS[1]?.id ?? '')),
    run: () => repairRepeatedly(deps, repairing, () => BOOT_AT),
    runWithBell: () => repairRepeatedly({ ...deps, bell }, repairing, () => BOOT_AT),
    isBusy: () => repairing.isBusy,
  };
}

describe('the loop of repairs', () => {
  test('works on a repair to its end, logs its counts, and keeps the invocation busy meanwhile', async () => {
    const world = await setUp();
    await world.ask();
    world.damage();
    await world.run();

    expect((await world.store.readRepair(PROJECT_ID))?.ended_at).toBeDefined();
    expect(world.logs.filter(({ event }) => event === 'repair.ended')).toEqual([
      {
        level: 'info',
        event: 'repair.ended',
        project_id: PROJECT_ID,
        compared_count: 3,
        repaired_count: 1,
        unrepaired_count: 0,
      },
    ]);
    expect(world.steps.at(-1)?.repair.repaired_count).toBe(1);
    expect([world.busy[0], world.isBusy()]).toEqual([true, false]);
    expect(world.failures).toEqual([]);
  });

  test('sends at most a tenth of the rate limit: one request a second of ten', async () => {
    const world = await setUp(6);
    world.script.pageRowsMax = 1;
    await world.ask();
    await world.run();

    expect(world.sleeps.slice(0, 4)).toEqual([0, 1_000, 1_000, 1_000]);
  });

  test('looks every five seconds while no repair is asked for, and is not busy', async () => {
    const world = await setUp(3);
    await world.run();

    expect(world.sleeps).toEqual([5_000, 5_000, 5_000]);
    expect([world.busy, world.steps, world.takeCalls()]).toEqual([[false, false, false], [], []]);
  });

  test('looks once a minute while no repair is asked for, when it can be nudged', async () => {
    const world = await setUp(2);
    await world.runWithBell();

    expect(world.sleeps).toEqual([60_000, 60_000]);
  });

  test('looks again at once when a repair has ended, and rests only then', async () => {
    const world = await setUp(3);
    await world.ask();
    await world.runWithBell();

    expect(world.sleeps).toEqual([0, 1_000, 60_000]);
  });

  test('takes a step that has failed again after five seconds, although it can be nudged', async () => {
    const world = await setUp(4);
    await world.ask();
    world.script.fails = () => 'unavailable';
    await world.runWithBell();

    expect(world.sleeps).toEqual([0, 5_000, 0, 5_000]);
  });

  test.each(['ended', 'gone'])(
    'takes no step of a repair that an index shows although it is %s',
    async (end) => {
      const world = await setUp(2);
      await world.ask();
      const repair = await world.store.readRepair(PROJECT_ID);
      world.deps.store.findRepairs = async () => [PROJECT_ID];
      world.deps.store.readRepair = async () =>
        end === 'gone' || repair === undefined
          ? undefined
          : { ...repair, ended_at: '2026-01-15T12:00:00.000Z' };
      await world.run();

      expect([world.steps, world.failures, world.takeCalls()]).toEqual([[], [], []]);
      expect(world.sleeps).toEqual([5_000, 5_000]);
    },
  );

  test('spaces what it reads one by one like the pages of the list', async () => {
    const world = await setUp(6);
    await world.ask();
    const key = operationKey('main', PROJECT_ID, ROWS[1]?.id ?? '');
    world.table.sync.update({ key, set: { status: 'running', failures_count: 7 } });
    await world.run();

    expect(world.takeCalls()).toContain(`get ${ROWS[1]?.id}`);
    expect(world.sleeps.slice(0, 2)).toEqual([0, 1_000]);
    expect(world.steps.at(-1)?.repair.repaired_count).toBe(1);
  });

  test('takes a step that has failed again after five seconds, and is not busy until then', async () => {
    const world = await setUp(4);
    await world.ask();
    world.script.fails = () => 'unavailable';
    await world.run();

    expect(world.sleeps).toEqual([0, 5_000, 0, 5_000]);
    expect(world.busy).toEqual([true, false, true, false]);
    expect(world.steps.map(({ hasFailed }) => hasFailed)).toEqual([true, true]);
  });

  test('goes on with the other projects when one of them cannot be dealt with', async () => {
    const world = await setUp();
    await world.ask();
    const readRepair = world.store.readRepair.bind(world.store);
    world.deps.store.findRepairs = async () => ['broken', PROJECT_ID];
    world.deps.store.readRepair = async (id) => {
      if (id === 'broken') throw new RangeError('the table is busy');
      return readRepair(id);
    };
    await world.run();

    expect(world.failures).toContainEqual(new RangeError('the table is busy'));
    expect((await readRepair(PROJECT_ID))?.ended_at).toBeDefined();
  });

  test('survives a table that cannot say which repairs there are', async () => {
    const world = await setUp(2);
    world.deps.store.findRepairs = () => Promise.reject(new RangeError('the table is busy'));
    await world.run();

    expect(world.failures).toHaveLength(2);
    expect(world.sleeps).toEqual([5_000, 5_000]);
  });

  test('begins no turn once the invocation ends', async () => {
    const world = await setUp();
    world.deps.store.findRepairs = async () => {
      world.stop.abort();
      return [PROJECT_ID];
    };
    await world.ask();
    await world.run();

    expect([world.steps, world.takeCalls()]).toEqual([[], []]);
  });
});
