/** Takes single steps of a repair: how far each reads, what it notes of its way, and what it says of the upstream. */

import { describe, expect, test } from 'vitest';
import { type RepairStep, repairProject } from '../../../functions/poller/repair/repair-project.ts';
import { normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { type Repair, UNREPAIRED_LISTED_MAX } from '../../../shared/store/adapters/repairs.ts';
import { operationKey } from '../../../shared/store/keys.ts';
import type { UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../builders.ts';
import { aProject, atMs, BOOT_AT, PROJECT_ID } from '../project/project-under-test.ts';
import {
  aPolledProject,
  deleteEvent,
  KEY,
  type Polled,
  putTarget,
  ROWS,
  repairToTheEnd,
  requestRepair,
  SINCE,
  TARGET,
} from './repair-under-test.ts';

/** Takes one step, with what the test changes of the repair and of the store. */
async function takeStep(
  project: Pick<Polled, 'deps' | 'store'>,
  changes: Partial<Repair> = {},
  store: Partial<Polled['store']> = {},
): Promise<RepairStep & { readonly saved: readonly Repair[] }> {
  await project.store.requestRepair({ projectId: PROJECT_ID, repairId: 'a-repair', since: SINCE });
  const repair = await project.store.readRepair(PROJECT_ID);
  if (repair === undefined) throw new Error('no repair was asked for');
  const saved: Repair[] = [];
  const noting: Polled['store'] = {
    ...project.store,
    ...store,
    saveRepair: (next) => {
      saved.push(next);
      return project.store.saveRepair(next);
    },
  };
  const { signal } = new AbortController();
  const deps = { ...project.deps, store: noting, signal };
  return { ...(await repairProject(deps, { ...repair, ...changes }, BOOT_AT)), saved };
}

/** Gives the operation of this row a state that its last event does not have, so that it is read one by one. */
function changeRow({ table }: Polled, place: number): void {
  const key = operationKey('main', PROJECT_ID, `row-${place}`);
  table.sync.update({ key, set: { status: 'running', failures_count: 7 } });
}

/** The upstream gives no answer when this operation is read for the first time. */
function failOnce({ script }: Polled, place: number): void {
  let isDown = true;
  script.fails = ({ operationId }) => {
    if (operationId !== `row-${place}` || !isDown) return undefined;
    isDown = false;
    return 'unavailable';
  };
}

describe('a step of a repair', () => {
  test('reads at most three pages, and notes the cursor at which the next one goes on', async () => {
    const project = await aPolledProject();
    project.script.pageRowsMax = 1;
    project.takeCalls();
    const { repair, saved } = await takeStep(project);

    expect(project.takeCalls()).toHaveLength(3);
    expect(repair).toMatchObject({ cursor: 'row-2', compared_count: 3 });
    expect(repair.ended_at).toBeUndefined();
    expect(saved).toEqual([repair]);
  });

  test('adds what it has done to what the steps before it did', async () => {
    const project = await aPolledProject();
    putTarget(project, { status: 'running', failures_count: 7 });
    const before = { compared_count: 100, repaired_count: 10, unrepaired_count: 1 };
    const { repair } = await takeStep(project, before);

    expect(repair).toMatchObject({ compared_count: 112, repaired_count: 11, unrepaired_count: 1 });
    expect(repair.ended_at).toBe(new Date(NOON_MS).toISOString());
    expect(repair).not.toHaveProperty('cursor');
  });

  test.each([
    [undefined, 8],
    [3, 5],
  ])('begins with a page of another size than the last sweep, number %s', async (sweep_count, rows) => {
    const project = await aPolledProject();
    project.put({ sweep_count });
    project.takeCalls();
    await takeStep(project);

    expect(project.takeCalls()[0]).toBe(`list ${rows}`);
  });

  test('compares all rows of a list that is not ordered by time', async () => {
    const since = normaliseTimestamp(ROWS[4]?.created_at ?? '') as Timestamp;
    const project = await aPolledProject();
    project.put({ is_unordered: true });

    expect((await takeStep(project, { since })).repair).toMatchObject({ compared_count: 12 });
  });

  test('begins at the head of the list again when the upstream refuses the cursor', async () => {
    const project = await aPolledProject();
    project.takeCalls();
    project.script.fails = ({ cursor }) => (cursor === 'no-longer' ? 'rejected' : undefined);
    const { repair } = await takeStep(project, { cursor: 'no-longer' });

    expect(project.takeCalls().slice(0, 2)).toEqual(['list no-longer 10', 'list 8']);
    expect(repair).toMatchObject({ compared_count: 12, ended_at: expect.any(String) });
  });

  test('ends the repair with a reason when the upstream refuses to list the operations', async () => {
    const project = await aPolledProject();
    project.script.fails = () => 'rejected';

    expect((await takeStep(project)).repair).toMatchObject({
      failure: 'The upstream refuses to list the operations of this project.',
      ended_at: expect.any(String),
    });
  });

  test.each<[UpstreamErrorKind, boolean]>([
    ['unavailable', true],
    ['cancelled', false],
  ])(
    'that brought nothing writes nothing, and has failed unless it was ended: %s',
    async (kind, hasFailed) => {
      const project = await aPolledProject();
      project.script.fails = () => kind;

      expect(await takeStep(project, { cursor: 'row-3' })).toMatchObject({ hasFailed, saved: [] });
    },
  );

  test('gives its signal to all calls of the upstream', async () => {
    const project = await aPolledProject();
    putTarget(project, { status: 'running', failures_count: 7 });
    project.calls.splice(0);
    await takeStep(project);

    expect(project.calls.map(({ name }) => name)).toContain('get');
    expect(project.calls.map(({ options }) => options?.signal)).toEqual(
      project.calls.map(() => expect.any(AbortSignal)),
    );
  });

  test('lists the first fifty operations that it cannot repair, and counts all', async () => {
    const project = await aPolledProject();
    deleteEvent(project, 1);
    deleteEvent(project, 1);
    const unrepaired = Array.from({ length: UNREPAIRED_LISTED_MAX }, (_, place) => ({
      operation_id: `earlier-${place}`,
      reason: 'It is lost.',
    }));
    const { repair } = await takeStep(project, { unrepaired, unrepaired_count: unrepaired.length });

    expect(repair).toMatchObject({ unrepaired, unrepaired_count: 51 });
  });

  test('works on a project that was never polled', async () => {
    const project = aProject();
    project.script.rows = [...ROWS];

    expect((await takeStep(project)).repair).toMatchObject({ repaired_count: 12, compared_count: 12 });
  });
});

describe('the first event of an operation that is history', () => {
  /** The history of the project ends behind all of its rows. */
  async function aProjectWithHistory(backfill: 'open' | 'all') {
    const project = await aPolledProject();
    project.put({ history_until: normaliseTimestamp(atMs(NOON_MS)) });
    deleteEvent(project, 0);
    return { ...project, deps: { ...project.deps, options: { ...project.deps.options, backfill } } };
  }

  test('is lost when history may have been recorded silently', async () => {
    const { repair } = await takeStep(await aProjectWithHistory('open'));

    expect(repair.unrepaired).toMatchObject([
      { operation_id: TARGET, reason: expect.stringContaining('Event 1') },
    ]);
  });

  test('is restored when all history is published', async () => {
    const { repair } = await takeStep(await aProjectWithHistory('all'));

    expect(repair).toMatchObject({ repaired_count: 1, unrepaired_count: 0 });
  });
});

describe('a page on which one operation could not be read', () => {
  test('is read again, and each of its operations is counted once', async () => {
    const project = await aPolledProject();
    project.script.pageRowsMax = 4;
    deleteEvent(project, 1);
    deleteEvent(project, 1);
    changeRow(project, 4);
    changeRow(project, 6);
    failOnce(project, 6);
    await requestRepair(project);

    const { compared_count, repaired_count, unrepaired_count, unrepaired } = await repairToTheEnd(project);

    expect([compared_count, repaired_count, unrepaired_count]).toEqual([12, 2, 1]);
    expect(unrepaired).toMatchObject([{ operation_id: TARGET }]);
  });

  test('has its repaired operations counted even if it is the first one of the step', async () => {
    const project = await aPolledProject();
    changeRow(project, 0);
    changeRow(project, 1);
    failOnce(project, 1);
    await requestRepair(project);

    expect(await repairToTheEnd(project)).toMatchObject({ repaired_count: 2, compared_count: 12 });
  });

  test('does not count as compared while the table takes no write of an operation that it lacks', async () => {
    const project = await aPolledProject();
    project.table.sync.remove(KEY);
    const first = await takeStep(project, {}, { record: () => Promise.reject(new RangeError('busy')) });
    const second = await takeStep(project);

    expect(first.repair).toMatchObject({ compared_count: 0, repaired_count: 0 });
    expect(second.repair).toMatchObject({ compared_count: 12, repaired_count: 1 });
  });

  test('does not count as compared when the invocation ends in the middle of it', async () => {
    const project = await aPolledProject();
    const stop = new AbortController();
    await requestRepair(project);
    const repair = await project.store.readRepair(PROJECT_ID);
    const readOperations: Polled['store']['readOperations'] = (...args) => {
      stop.abort();
      return project.store.readOperations(...args);
    };
    const deps = { ...project.deps, store: { ...project.store, readOperations }, signal: stop.signal };

    const step = await repairProject(deps, repair as Repair, BOOT_AT);

    expect(step).toMatchObject({ hasFailed: false, repair: { compared_count: 0 } });
    expect(step.repair.ended_at).toBeUndefined();
  });
});
