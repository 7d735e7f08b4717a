import { describe, expect, test } from 'vitest';
import { settleCommands } from '../../shared/protocol/record-derived.ts';
import type { OperationRecord } from '../../shared/records/operation-record.ts';
import { commandKey, operationKey } from '../../shared/store/keys.ts';
import { anOperation, aRecord, commandRecord, NOON_MS } from '../builders.ts';
import { aStore } from './store-under-test.ts';

const { project_id: PROJECT_ID } = anOperation();

async function setUp(
  commands: Readonly<Record<string, readonly string[]>>,
  operations: OperationRecord[] = [],
) {
  let nowMs = NOON_MS;
  const { store, clock, table } = aStore(() => nowMs);
  const reads: (readonly string[])[] = [];
  const deps = {
    clock,
    store: {
      ...store,
      readOperations: async (projectId: string, ids: readonly string[]) => {
        reads.push(ids);
        return store.readOperations(projectId, ids);
      },
    },
  };
  const records = Object.entries(commands).map(([request_id, operation_ids]) => ({
    ...commandRecord(PROJECT_ID, request_id),
    operation_ids,
  }));
  for (const record of [...records, ...operations]) await store.record(record, undefined);
  const storedOf = async (request_id: string) =>
    (await store.readCommands([commandKey('main', PROJECT_ID, request_id)]))[0];
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { deps, store, table, records, reads, storedOf, pass };
}

const ended = (id: string, status = 'finished') => aRecord({ id, status });

describe('a command whose operations have ended', () => {
  test('is settled in the table, and handed back as it is stored', async () => {
    const world = await setUp({ first: ['a', 'b'] }, [ended('a'), ended('b', 'error')]);

    const settled = await settleCommands(world.deps, world.records);

    expect(settled).toMatchObject([
      {
        request_id: 'first',
        is_settled: true,
        revision: 1,
        entries: [
          {
            type: 'command_settled',
            outcome: 'failed',
            missing: [],
            operations: [
              { operation_id: 'a', status: 'finished' },
              { operation_id: 'b', status: 'error' },
            ],
          },
        ],
      },
    ]);
    expect(await world.storedOf('first')).toMatchObject({ is_settled: true, entries: settled[0]?.entries });
  });

  test('needs no read when the caller has all of them at hand', async () => {
    const world = await setUp({ first: ['a'] });

    const settled = await settleCommands(world.deps, world.records, new Map([['a', ended('a')]]));

    expect(settled).toMatchObject([{ is_settled: true }]);
    expect(world.reads).toEqual([]);
  });

  test('needs a read of those only that the caller does not have', async () => {
    const world = await setUp({ first: ['a', 'b'] }, [ended('b')]);

    const settled = await settleCommands(world.deps, world.records, new Map([['a', ended('a')]]));

    expect(world.reads).toEqual([['b']]);
    expect(settled).toMatchObject([
      { entries: [{ operations: [{ operation_id: 'a' }, { operation_id: 'b' }] }] },
    ]);
  });

  test('is settled by one of two that try: the loser does not hand it back for publishing', async () => {
    const world = await setUp({ first: ['a'] }, [ended('a')]);

    const winner = await settleCommands(world.deps, world.records);
    world.pass(60_000);
    const loser = await settleCommands(world.deps, world.records);

    expect(winner).toHaveLength(1);
    expect(loser).toEqual([]);
    expect(await world.storedOf('first')).toMatchObject({ revision: 1, entries: winner[0]?.entries });
  });
});

describe('a command that waits', () => {
  test('is left as it is while an operation of it is open', async () => {
    const world = await setUp({ first: ['a', 'b'] }, [ended('a'), aRecord({ id: 'b' })]);

    expect(await settleCommands(world.deps, world.records)).toEqual([]);
    expect(await world.storedOf('first')).toMatchObject({ is_settled: false, revision: 0 });
  });

  test('is settled as incomplete at its deadline, by the clock of the bridge', async () => {
    const world = await setUp({ first: ['a', 'b'] }, [ended('a'), aRecord({ id: 'b' })]);
    world.pass(900_000);

    const settled = await settleCommands(world.deps, world.records);

    expect(settled).toMatchObject([{ entries: [{ outcome: 'incomplete', missing: ['b'] }] }]);
  });

  test('does not take an operation for ended that cannot be read', async () => {
    const world = await setUp({ first: ['a'] }, [ended('a')]);
    world.table.sync.update({ key: operationKey('main', PROJECT_ID, 'a'), set: { status: 17 } });

    expect(await settleCommands(world.deps, world.records)).toEqual([]);
    world.pass(900_000);
    expect(await settleCommands(world.deps, world.records)).toMatchObject([
      { entries: [{ outcome: 'incomplete', missing: ['a'], operations: [] }] },
    ]);
  });
});

describe('many commands', () => {
  test('that are settled already cost nothing', async () => {
    const world = await setUp({ first: ['a'] }, [ended('a')]);
    const settled = world.records.map((record) => ({ ...record, is_settled: true }));

    expect(await settleCommands(world.deps, settled)).toEqual([]);
    expect(world.reads).toEqual([]);
  });

  test('are settled one by one: one that waits holds up no other', async () => {
    const world = await setUp({ first: ['a'], second: ['b'], third: ['c'] }, [ended('a'), ended('c')]);

    const settled = await settleCommands(world.deps, world.records);

    expect(settled.map(({ request_id }) => request_id).toSorted()).toEqual(['first', 'third']);
  });

  test('are looked at eight at a time', async () => {
    const names = Array.from({ length: 20 }, (_, place) => `command-${place}`);
    const world = await setUp(Object.fromEntries(names.map((name) => [name, ['a']])), [ended('a')]);
    let [underWay, most] = [0, 0];
    const readOperations = async (projectId: string, ids: readonly string[]) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return world.store.readOperations(projectId, ids);
    };
    const deps = { ...world.deps, store: { ...world.deps.store, readOperations } };

    expect(await settleCommands(deps, world.records)).toHaveLength(20);
    expect(most).toBe(8);
  });

  test('are left to the next invocation once this one is to stop', async () => {
    const world = await setUp({ first: ['a'] }, [ended('a')]);

    expect(await settleCommands(world.deps, world.records, new Map(), AbortSignal.abort())).toEqual([]);
    expect(world.reads).toEqual([]);
    expect(await settleCommands(world.deps, world.records)).toHaveLength(1);
  });
});
