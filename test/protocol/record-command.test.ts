import { describe, expect, test } from 'vitest';
import type { BusEvent } from '../../shared/events/render-event.ts';
import { type RecordCommandDeps, recordCommand } from '../../shared/protocol/record-command.ts';
import type { Command } from '../../shared/records/command-record.ts';
import { commandKey, operationKey, workOf } from '../../shared/store/keys.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { anOperation, aRecord, NOON_MS, only } from '../builders.ts';
import { aStore } from './store-under-test.ts';

const { project_id: PROJECT_ID } = anOperation();
const COMMAND: Command = {
  project_id: PROJECT_ID,
  request_id: 'request-1',
  client_id: 'deployer',
  call: 'restartEndpoint',
};

function setUp() {
  const { store, clock, table } = aStore(() => NOON_MS);
  const steps: string[] = [];
  const events: Readonly<Record<string, unknown>>[] = [];
  const deps: RecordCommandDeps = {
    store: {
      ...store,
      record: async (record, expectedRevision) => {
        steps.push(`write ${record.kind}`);
        return store.record(record, expectedRevision);
      },
    },
    clock,
    settleWithinMs: 600_000,
    telemetry: { log: () => {}, measure: () => {} },
    upstream: only<UpstreamClient>({
      getOperation: async () => {
        steps.push('ask upstream');
        throw new UpstreamError({ kind: 'not_found', method: 'GET', path: '/', message: 'gone' });
      },
    }),
    bus: {
      publish: async (published: readonly BusEvent[]) => {
        steps.push('publish');
        for (const { detailType, detail } of published)
          events.push({ type: detailType, ...(JSON.parse(detail) as object) });
        return published.map(() => ({ kind: 'accepted' as const }));
      },
    },
  };
  const storedCommand = async () =>
    (await store.readCommands([commandKey('main', PROJECT_ID, COMMAND.request_id)]))[0];
  return { deps, store, table, steps, events, storedCommand };
}

describe('a command through the bridge', () => {
  test('is kept with its sender, its call, its operations and its deadline until they have ended', async () => {
    const world = setUp();

    await recordCommand(world.deps, COMMAND, [anOperation({ id: 'a' }), anOperation({ id: 'b' })]);

    expect(await world.storedCommand()).toMatchObject({
      kind: 'command',
      account_id: 'main',
      ...COMMAND,
      operation_ids: ['a', 'b'],
      sent_at: '2026-01-15T12:00:00.000Z',
      deadline_at_ms: NOON_MS + 600_000,
      is_settled: false,
      revision: 0,
    });
  });

  test('stands in the table before its operations do, so that every process that meets one knows which command started it', async () => {
    const world = setUp();

    await recordCommand(world.deps, COMMAND, [anOperation({ id: 'a' })]);

    expect(world.steps).toEqual(['write command', 'write operation', 'publish']);
  });

  test('reads its operations once, and with one read: what it has just recorded it knows', async () => {
    const world = setUp();
    const reads: (readonly string[])[] = [];
    const readOperations: RecordCommandDeps['store']['readOperations'] = (projectId, ids) => {
      reads.push(ids);
      return world.store.readOperations(projectId, ids);
    };

    await recordCommand({ ...world.deps, store: { ...world.deps.store, readOperations } }, COMMAND, [
      anOperation({ id: 'a', status: 'finished' }),
      anOperation({ id: 'b', status: 'finished' }),
    ]);

    expect(reads).toEqual([['a', 'b']]);
    expect(world.events.map(({ type }) => type)).toContain('Command Settled');
  });

  test('that restores a branch does not make it a new one, although it runs the operation that creates a branch', async () => {
    const world = setUp();

    await recordCommand(world.deps, { ...COMMAND, call: 'restoreBranch' }, [
      anOperation({ id: 'a', action: 'create_branch', status: 'finished' }),
    ]);

    expect(world.events.map(({ type }) => type)).not.toContain('Branch Ready');
  });

  test('that started nothing has come to its end, which is published once', async () => {
    const world = setUp();

    await recordCommand(world.deps, COMMAND, []);

    expect(world.events).toMatchObject([
      { type: 'Command Settled', outcome: 'succeeded', operations: [], missing: [] },
    ]);
    expect(await world.storedCommand()).toMatchObject({ is_settled: true, published: 1 });
    expect(world.steps).toEqual(['write command', 'publish']);
  });

  test('that started nothing is published by the poller when a crash follows its only write', async () => {
    const world = setUp();
    const bus = { publish: () => Promise.reject(new Error('the process died')) };
    const isLeft = () => world.table.sync.queryWork({ work: workOf('main') }).length === 1;

    await recordCommand({ ...world.deps, bus }, COMMAND, []).catch(() => {});

    expect(isLeft()).toBe(true);
    expect(await world.storedCommand()).toMatchObject({ is_settled: true, revision: 1, published: 0 });
  });

  test('looks for its operations while the command is written, and writes them after it', async () => {
    const world = setUp();
    const written = Promise.withResolvers<void>();
    const store: RecordCommandDeps['store'] = {
      ...world.deps.store,
      readOperations: (...args) => {
        world.steps.push('read');
        written.resolve();
        return world.store.readOperations(...args);
      },
      record: async (record, expectedRevision) => {
        if (record.kind === 'command') await written.promise;
        return world.deps.store.record(record, expectedRevision);
      },
    };

    await recordCommand({ ...world.deps, store }, COMMAND, [anOperation({ id: 'a' })]);

    expect(world.steps).toEqual(['read', 'write command', 'write operation', 'publish']);
  });

  test('makes each of its operations an event at once that names it', async () => {
    const world = setUp();

    await recordCommand(world.deps, COMMAND, [anOperation({ id: 'a' }), anOperation({ id: 'b' })]);

    const by = { observed_by: 'command', command: { client_id: 'deployer', request_id: 'request-1' } };
    expect(world.events).toMatchObject([
      { type: 'Operation State Changed', operation_id: 'a', status: 'running', ...by },
      { type: 'Operation State Changed', operation_id: 'b', status: 'running', ...by },
    ]);
    expect(await world.store.readOperation(PROJECT_ID, 'a')).toMatchObject({
      account_id: 'main',
      published: 1,
      command: { client_id: 'deployer', request_id: 'request-1' },
    });
  });

  test('whose operations have ended with the answer is settled and published in the same call', async () => {
    const world = setUp();

    await recordCommand(world.deps, COMMAND, [
      anOperation({ id: 'a', status: 'finished' }),
      anOperation({ id: 'b', status: 'skipped' }),
    ]);

    expect(world.events.map(({ type }) => type)).toEqual([
      'Operation State Changed',
      'Operation State Changed',
      'Command Settled',
    ]);
    expect(world.events[2]).toMatchObject({ outcome: 'succeeded', missing: [] });
    expect(await world.storedCommand()).toMatchObject({ is_settled: true, revision: 1, published: 1 });
  });
});

describe('an operation of a command that the poller met first', () => {
  test('keeps what the poller recorded, and is not published again', async () => {
    const world = setUp();
    const met = { ...aRecord({ id: 'a', status: 'scheduling' }, { id: 'a' }), published: 2 };
    await world.store.record(met, undefined);

    await recordCommand(world.deps, COMMAND, [anOperation({ id: 'a', status: 'scheduling' })]);

    expect(world.events).toEqual([]);
    expect(await world.store.readOperation(PROJECT_ID, 'a')).toMatchObject({
      status: 'running',
      revision: 2,
    });
  });

  test('is published with the command while its own entries are not', async () => {
    const world = setUp();
    await world.store.record(aRecord({ id: 'a' }), undefined);

    await recordCommand(world.deps, COMMAND, [anOperation({ id: 'a' })]);

    expect(world.events).toMatchObject([{ operation_id: 'a', status: 'running' }]);
  });

  test('counts for the end of the command', async () => {
    const world = setUp();
    await world.store.record({ ...aRecord({ id: 'a', status: 'finished' }), published: 1 }, undefined);

    await recordCommand(world.deps, COMMAND, [anOperation({ id: 'a' })]);

    expect(world.events).toMatchObject([{ type: 'Command Settled', outcome: 'succeeded' }]);
  });

  test('and that this version cannot read stays as it is, and the command waits', async () => {
    const world = setUp();
    await world.store.record(aRecord({ id: 'a' }), undefined);
    const key = operationKey('main', PROJECT_ID, 'a');
    world.table.sync.update({ key, set: { status: ['of a newer version'] } });
    const before = world.table.sync.peek(key);

    await recordCommand(world.deps, COMMAND, [anOperation({ id: 'a', status: 'finished' })]);

    expect(world.table.sync.peek(key)).toEqual(before);
    expect(world.events).toEqual([]);
    expect(world.steps).toEqual(['write command']);
    expect(await world.storedCommand()).toMatchObject({ is_settled: false });
  });
});

test('an operation of a command that cannot be recorded now is left to the poller, and the command waits for it', async () => {
  const world = setUp();
  const record: RecordCommandDeps['store']['record'] = async (next, expectedRevision) =>
    next.kind === 'operation' && next.operation_id === 'a'
      ? 'conflict'
      : world.deps.store.record(next, expectedRevision);

  await recordCommand({ ...world.deps, store: { ...world.deps.store, record } }, COMMAND, [
    anOperation({ id: 'a', status: 'finished' }),
    anOperation({ id: 'b', status: 'finished' }),
  ]);

  expect(world.steps).toContain('ask upstream');
  expect(world.events).toMatchObject([{ operation_id: 'b' }]);
  expect(await world.storedCommand()).toMatchObject({ is_settled: false, operation_ids: ['a', 'b'] });
});

test('a command that cannot be kept is reported to the caller, and none of its operations is recorded', async () => {
  const world = setUp();
  const record = async () => {
    throw new Error('the table is busy');
  };

  await expect(
    recordCommand({ ...world.deps, store: { ...world.deps.store, record } }, COMMAND, [anOperation()]),
  ).rejects.toThrow('the table is busy');
  expect(world.table.sync.items()).toEqual([]);
});
