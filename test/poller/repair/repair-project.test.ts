/** Damages the table of a project that was polled, and repairs it with the production code over the in-memory table. */

import { describe, expect, test } from 'vitest';
import { stateChangedId } from '../../../shared/core/records/operation-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import { createRelayLedger } from '../../../shared/protocol/relay-ledger.ts';
import { relayRecords } from '../../../shared/protocol/relay-records.ts';
import { createBridgeStore } from '../../../shared/store/adapters/bridge-store.ts';
import { NOON_MS } from '../../builders.ts';
import { atMs, DAY_MS, PROJECT_ID } from '../project/project-under-test.ts';
import {
  aPolledProject,
  deleteEvent,
  idsOf,
  KEY,
  lasting,
  type Polled,
  putTarget,
  ROWS,
  repair,
  repairToTheEnd,
  requestRepair,
  SINCE,
  step,
  TARGET,
} from './repair-under-test.ts';

describe('a repair', () => {
  test.each([0, 1, 2])('restores event %i that was deleted, and publishes it with its id', async (index) => {
    const project = await aPolledProject();
    deleteEvent(project, index);

    const { repaired_count, unrepaired_count } = await repair(project);

    expect([repaired_count, unrepaired_count]).toEqual([1, 0]);
    expect(lasting(await project.store.readOperation(PROJECT_ID, TARGET))).toEqual(lasting(project.original));
    expect(idsOf(project.takeEvents())).toEqual(idsOf(project.published).slice(index));
  });

  test('gives a row its state back that was changed, without an event', async () => {
    const project = await aPolledProject();
    putTarget(project, { status: 'running', failures_count: 7 });

    const { repaired_count } = await repair(project);

    expect(repaired_count).toBe(1);
    expect(await project.store.readOperation(PROJECT_ID, TARGET)).toEqual(project.original);
    expect(project.takeEvents()).toEqual([]);
  });

  test('records an operation that is not recorded, under the id that its first sight gives', async () => {
    const project = await aPolledProject();
    project.table.sync.remove(KEY);

    await repair(project);

    const row = ROWS[5];
    const id = stateChangedId(project.original, {
      sequence: 1,
      previous_status: null,
      status: 'finished',
      failures_count: 0,
      operation_updated_at: row?.updated_at ?? '',
    });
    expect(project.takeEvents()).toMatchObject([
      { id, sequence: 1, status: 'finished', previous_status: null },
    ]);
  });

  test('changes nothing where everything agrees, and says how much it has compared', async () => {
    const project = await aPolledProject();

    const { compared_count, repaired_count } = await repair(project);

    expect([compared_count, repaired_count]).toEqual([12, 0]);
    expect(project.takeEvents()).toEqual([]);
  });

  test('says what it cannot restore, and leaves it as it is', async () => {
    const project = await aPolledProject();
    deleteEvent(project, 1);
    deleteEvent(project, 1);

    const { unrepaired, unrepaired_count } = await repair(project);

    expect(unrepaired_count).toBe(1);
    expect(unrepaired).toEqual([
      { operation_id: TARGET, reason: expect.stringContaining('Events 2, 3 are lost') },
    ]);
  });

  test('leaves an item alone that another version of the bridge has written', async () => {
    const project = await aPolledProject();
    putTarget(project, { status: 5 });
    const before = project.table.sync.peek(KEY);

    const { unrepaired } = await repair(project);

    expect(unrepaired).toMatchObject([
      { operation_id: TARGET, reason: expect.stringContaining('cannot read') },
    ]);
    expect(project.table.sync.peek(KEY)).toEqual(before);
  });

  test('leaves operations alone that were created before the time that it was asked for', async () => {
    const project = await aPolledProject();
    project.table.sync.remove(KEY);
    const since = normaliseTimestamp(ROWS[4]?.created_at ?? '') as Timestamp;
    await project.store.requestRepair({ projectId: PROJECT_ID, repairId: 'short', since });

    const { compared_count, repaired_count } = await repairToTheEnd(project);

    expect([compared_count, repaired_count]).toEqual([5, 0]);
  });

  test('records what the upstream has changed meanwhile after it has restored the record', async () => {
    const project = await aPolledProject();
    putTarget(project, { status: 'running' });
    project.script.rows = ROWS.map((row) =>
      row.id === TARGET ? { ...row, status: 'error', failures_count: 1, updated_at: atMs(NOON_MS) } : row,
    );

    await repair(project);

    expect(project.takeEvents()).toMatchObject([
      { sequence: 4, previous_status: 'finished', status: 'error' },
    ]);
  });

  test('ends with a reason when the upstream does not show the project', async () => {
    const project = await aPolledProject();
    project.script.fails = () => 'not_found';

    expect(await repair(project)).toMatchObject({
      failure: expect.stringContaining('does not show'),
      compared_count: 0,
    });
  });

  test('goes on where it stopped after a page that was not answered', async () => {
    const project = await aPolledProject();
    project.table.sync.remove(KEY);
    project.script.fails = ({ cursor }) => (cursor === undefined ? undefined : 'unavailable');
    await requestRepair(project);
    const first = await step(project);
    project.script.fails = () => undefined;
    project.takeCalls();

    const { ended_at } = await repairToTheEnd(project);

    expect([first.ended_at, first.cursor]).toEqual([undefined, expect.any(String)]);
    expect(project.takeCalls()[0]).toBe(`list ${first.cursor} 10`);
    expect(ended_at).toBeDefined();
    expect(await project.store.readOperation(PROJECT_ID, TARGET)).toBeDefined();
  });

  test('does not overwrite what a poll records between its reading and its write', async () => {
    const project = await aPolledProject();
    deleteEvent(project, 1);
    const { upstream } = project.deps;
    const later = { status: 'error', failures_count: 1, updated_at: atMs(NOON_MS) };
    const getOperation: typeof upstream.getOperation = async (query, options) => {
      const reading = await upstream.getOperation(query, options);
      if (reading.status === 'finished') {
        project.script.rows = ROWS.map((row) => (row.id === TARGET ? { ...row, ...later } : row));
        project.restart();
        await project.poll();
      }
      return reading;
    };
    await requestRepair(project);

    const deps = { ...project.deps, upstream: { ...upstream, getOperation } };
    await repairToTheEnd({ ...project, deps });

    const record = await project.store.readOperation(PROJECT_ID, TARGET);
    expect(record?.entries.map(({ status }) => status)).toEqual([
      'scheduling',
      'running',
      'finished',
      'error',
    ]);
    expect(record).toMatchObject({ ...later, sequence: 4, revision: 4 });
  });

  test('publishes a restored event again although this process has acknowledged it before', async () => {
    const project = await aPolledProject();
    const ledger = createRelayLedger();
    ledger.noteAcknowledged(project.original, project.original.revision);
    deleteEvent(project, 1);
    await requestRepair(project);

    await repairToTheEnd({ ...project, deps: Object.assign(project.deps, { ledger }) });

    expect(idsOf(project.takeEvents())).toEqual(idsOf(project.published).slice(1));
  });

  test('takes an old row that the table may have forgotten for history', async () => {
    const project = await aPolledProject();
    const createdMs = NOON_MS - 31 * DAY_MS;
    const old = { ...ROWS[0], id: 'old', created_at: atMs(createdMs), updated_at: atMs(createdMs) };
    project.script.rows = [...ROWS, old as (typeof ROWS)[number]];
    const since = normaliseTimestamp(atMs(createdMs - DAY_MS)) as Timestamp;
    await project.store.requestRepair({ projectId: PROJECT_ID, repairId: 'deep', since });

    const { compared_count, repaired_count } = await repairToTheEnd(project);

    expect([compared_count, repaired_count]).toEqual([13, 0]);
    expect(await project.store.readOperation(PROJECT_ID, 'old')).toBeUndefined();
  });

  test('cannot be asked for again before it has ended', async () => {
    const project = await aPolledProject();
    await requestRepair(project);
    const again = () =>
      project.store.requestRepair({ projectId: PROJECT_ID, repairId: 'another', since: SINCE });

    expect(await again()).toBe('conflict');
    await repairToTheEnd(project);
    expect(await again()).toBe('recorded');
  });
});

/** Each of these damages one thing. The repair of all of them needs several writes. */
const DAMAGES: Readonly<Record<string, (project: Polled) => void>> = {
  'a deleted event': (project) => deleteEvent(project, 1),
  'a last event that is deleted': (project) => deleteEvent(project, 2),
  'a changed row': (project) => putTarget(project, { status: 'running', failures_count: 7 }),
  'an operation that is not recorded': ({ table }) => table.sync.remove(KEY),
};

/** Publishes what a crash has left in the work index, as the next invocation does. */
async function relayAll({ deps, store }: Polled): Promise<void> {
  const records = await store.readRecords((await store.findWork()).map(({ key }) => key));
  await relayRecords(deps, records);
}

async function expectRepaired(project: Polled, name: string): Promise<void> {
  const record = await project.store.readOperation(PROJECT_ID, TARGET);
  const isAnew = name === 'an operation that is not recorded';
  if (!isAnew) expect(lasting(record)).toEqual(lasting(project.original));
  expect(record).toMatchObject({ status: 'finished', sequence: isAnew ? 1 : 3 });
  expect(record?.published).toBe(record?.revision);
  expect(await project.store.findWork()).toEqual([]);
  const events = project.takeEvents().filter(({ operation_id }) => operation_id === TARGET);
  const known = new Set((record?.entries ?? []).map(({ id }) => id));
  expect(events.filter(({ id }) => !known.has(String(id)))).toEqual([]);
  const lost = { 'a deleted event': 2, 'a last event that is deleted': 3 }[name] ?? (isAnew ? 1 : undefined);
  if (lost !== undefined) expect(events.map(({ sequence }) => sequence)).toContain(lost);
}

describe.each(Object.entries(DAMAGES))('after %s, a repair', (name, damage) => {
  /** The n-th write is the last that happens; its own reply is lost when `isApplied`. */
  const crashingStore = ({ table, deps }: Polled, writes: number, isApplied: boolean) => {
    let left = writes;
    const update: typeof table.update = async (request) => {
      left -= 1;
      if (left > 0 || (left === 0 && isApplied)) {
        const outcome = await table.update(request);
        if (left > 0) return outcome;
      }
      throw new Error('the process is gone');
    };
    return createBridgeStore({ ...table, update }, 'main', deps.clock);
  };

  test.each([1, 2, 3, 4, 5].flatMap((writes) => [[writes, true] as const, [writes, false] as const]))(
    'that crashes at write %i (applied: %s) is completed by the next one',
    async (writes, isApplied) => {
      const project = await aPolledProject();
      damage(project);
      await requestRepair(project);

      await step(project, crashingStore(project, writes, isApplied)).catch(() => {});
      await repairToTheEnd(project);
      await relayAll(project);

      await expectRepaired(project, name);
    },
  );

  test('beside another one of the same project repairs it once and for all', async () => {
    const project = await aPolledProject();
    damage(project);
    await requestRepair(project);

    await Promise.all([repairToTheEnd(project), repairToTheEnd(project), project.poll()]);
    await relayAll(project);

    await expectRepaired(project, name);
    expect((await step(project)).ended_at).toBeDefined();
  });
});
