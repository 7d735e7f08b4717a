import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RecordDeps, recordOperation } from '../../shared/protocol/record-operation.ts';
import { PENDING_ENTRIES_MAX } from '../../shared/records/journal.ts';
import {
  decideNextRecord,
  type Operation,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { operationKey } from '../../shared/store/keys.ts';
import { UnreadableItemError } from '../../shared/store/unreadable.ts';
import { UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { aContext, anOperation, aRecord, NOON_MS, only } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { aStore, type LostWrite, withLostWrites } from './store-under-test.ts';

const { id: ID, project_id: PROJECT_ID } = anOperation();

interface Call {
  readonly name: string;
  readonly options?: unknown;
}

/** Sets up an upstream that says `now()`, and a log of the order in which the store and the upstream were asked again. */
function setUp(now: () => Operation = () => anOperation()) {
  const { store, table } = aStore(() => NOON_MS);
  const calls: Call[] = [];
  const deps: RecordDeps = {
    clock: { now: () => NOON_MS, sleep: async () => {} },
    upstream: only({
      getOperation: async (query, options) => {
        calls.push({ name: `upstream ${query.projectId} ${query.operationId}`, options });
        return now();
      },
    }),
    store: {
      ...store,
      record: async (...args) => {
        calls.push({ name: 'write' });
        return store.record(...args);
      },
      readOperation: async (...args) => {
        calls.push({ name: 'read' });
        return store.readOperation(...args);
      },
    },
    contextOf: () => aContext(),
  };
  const stored = () => store.readOperation(PROJECT_ID, ID);
  return { store, table, deps, calls, stored };
}

const notFound = () =>
  new UpstreamError({ kind: 'not_found', method: 'GET', path: '/operations', message: 'gone' });

async function thatIsStored({ store }: ReturnType<typeof setUp>, ...readings: Partial<Operation>[]) {
  const record = aRecord(...readings);
  await store.record(record, undefined);
  return record;
}

describe('an operation that was read', () => {
  test('is recorded at the first attempt when no other process writes, without another read', async () => {
    const world = setUp();

    const outcome = await recordOperation(world.deps, undefined, anOperation(), NOON_MS);

    expect(outcome).toMatchObject({ kind: 'recorded', record: { status: 'running', revision: 1 } });
    expect(world.calls.map(({ name }) => name)).toEqual(['write']);
    expect(await world.stored()).toMatchObject({ status: 'running', revision: 1 });
  });

  test('that says what is recorded is not written, and the record is handed back', async () => {
    const world = setUp();
    const recorded = await thatIsStored(world, {});

    expect(await recordOperation(world.deps, recorded, anOperation(), NOON_MS)).toEqual({
      kind: 'unchanged',
      record: recorded,
    });
    expect(world.calls).toEqual([]);
  });

  test('is recorded in the context that belongs to what was recorded and what was read', async () => {
    const world = setUp();
    const recorded = await thatIsStored(world, {});
    const reading = anOperation({ status: 'finished' });
    const asked: unknown[] = [];
    const contextOf: RecordDeps['contextOf'] = (...args) => {
      asked.push(args);
      return aContext({ observed_by: 'sweep' });
    };

    const outcome = await recordOperation({ ...world.deps, contextOf }, recorded, reading, NOON_MS);

    expect(asked).toEqual([[recorded, reading, NOON_MS]]);
    expect(outcome).toMatchObject({ record: { entries: [{}, { observed_by: 'sweep' }] } });
  });
});

describe('a write that was refused', () => {
  test('reads the store first and the upstream after it, and records the newer reading over what is stored', async () => {
    const world = setUp(() => anOperation({ status: 'finished' }));
    await thatIsStored(world, { status: 'scheduling' });

    const outcome = await recordOperation(world.deps, undefined, anOperation({ status: 'running' }), NOON_MS);

    expect(world.calls.map(({ name }) => name)).toEqual([
      'write',
      'read',
      `upstream ${PROJECT_ID} ${ID}`,
      'write',
    ]);
    expect(outcome).toMatchObject({ kind: 'recorded', record: { status: 'finished', sequence: 2 } });
    expect(await world.stored()).toMatchObject({
      status: 'finished',
      entries: [{ status: 'scheduling' }, { status: 'finished', previous_status: 'scheduling' }],
    });
  });

  test('never lets the reading from before the race win', async () => {
    const world = setUp(() => anOperation({ status: 'finished' }));
    await thatIsStored(world, { status: 'finished' });

    const outcome = await recordOperation(world.deps, undefined, anOperation({ status: 'running' }), NOON_MS);

    expect(outcome).toMatchObject({ kind: 'unchanged', record: { status: 'finished', revision: 1 } });
    expect((await world.stored())?.revision).toBe(1);
  });

  test('ends without a result when it is refused four times, and the upstream was asked again three times', async () => {
    const world = setUp();
    const refusing = { ...world.deps.store, record: async () => 'conflict' as const };

    const outcome = await recordOperation(
      { ...world.deps, store: refusing },
      undefined,
      anOperation(),
      NOON_MS,
    );

    expect(outcome).toEqual({ kind: 'unresolved' });
    expect(world.calls.map(({ name }) => name)).toEqual(
      Array.from({ length: 3 }, () => ['read', `upstream ${PROJECT_ID} ${ID}`]).flat(),
    );
  });

  test('is tried as often as that when the reading differs each time', async () => {
    let count = 0;
    const world = setUp(() => anOperation({ failures_count: ++count, status: 'failed' }));
    let writes = 0;
    const store = {
      ...world.deps.store,
      record: async () => {
        writes += 1;
        return writes < 4 ? ('conflict' as const) : ('recorded' as const);
      },
    };

    const outcome = await recordOperation({ ...world.deps, store }, undefined, anOperation(), NOON_MS);

    expect(outcome).toMatchObject({ kind: 'recorded', record: { failures_count: 3 } });
  });

  test.each(['not_found', 'unavailable', 'timeout', 'cancelled', 'rate_limited'] as const)(
    'has no result when the upstream does not say what is true now (%s)',
    async (kind) => {
      const failure = new UpstreamError({ kind, method: 'GET', path: '/operations', message: kind });
      const world = setUp(() => {
        throw failure;
      });
      await thatIsStored(world, { status: 'scheduling' });

      const outcome = await recordOperation(world.deps, undefined, anOperation(), NOON_MS);

      expect(outcome).toEqual({ kind: 'unresolved' });
      expect(await world.stored()).toMatchObject({ status: 'scheduling', revision: 1 });
    },
  );

  test('leaves a record alone that this version cannot read', async () => {
    const world = setUp();
    await thatIsStored(world, {});
    const key = operationKey('main', PROJECT_ID, ID);
    world.table.sync.update({ key, set: { status: ['of a newer version'] } });
    const before = world.table.sync.peek(key);

    const outcome = await recordOperation(
      world.deps,
      undefined,
      anOperation({ status: 'finished' }),
      NOON_MS,
    );

    expect(outcome).toEqual({ kind: 'unreadable' });
    expect(world.table.sync.peek(key)).toEqual(before);
  });

  test.each([
    ['the store', 'readOperation'],
    ['the upstream', 'getOperation'],
  ])('does not hide a mistake of %s', async (_who, name) => {
    const world = setUp();
    await thatIsStored(world, {});
    const fail = async () => {
      throw new TypeError('undefined is not a function');
    };
    const store = { ...world.deps.store, ...(name === 'readOperation' && { readOperation: fail }) };
    const upstream = { ...world.deps.upstream, ...(name === 'getOperation' && { getOperation: fail }) };

    await expect(
      recordOperation(
        { ...world.deps, store, upstream },
        undefined,
        anOperation({ status: 'finished' }),
        NOON_MS,
      ),
    ).rejects.toThrow(TypeError);
  });

  test('hands its signal to the request that follows', async () => {
    const world = setUp();
    const { signal } = new AbortController();
    await thatIsStored(world, { status: 'scheduling' });

    await recordOperation({ ...world.deps, signal }, undefined, anOperation(), NOON_MS);

    expect(world.calls.flatMap(({ options }) => options ?? [])).toEqual([{ signal }]);
  });

  test('asks without options when it has no signal', async () => {
    const world = setUp();
    await thatIsStored(world, { status: 'scheduling' });

    await recordOperation(world.deps, undefined, anOperation(), NOON_MS);

    expect(world.calls.filter(({ name }) => name.startsWith('upstream'))).toEqual([
      { name: `upstream ${PROJECT_ID} ${ID}`, options: undefined },
    ]);
  });
});

describe('a write without an answer', () => {
  test.each(['refused by the network', 'applied, and its reply is lost'] as const)(
    'that was %s leaves one event',
    async (lost) => {
      const world = setUp(() => anOperation());
      const fates: LostWrite[] = [lost];
      const store = withLostWrites(world.store, () => fates.shift());

      const outcome = await recordOperation({ ...world.deps, store }, undefined, anOperation(), NOON_MS);

      expect(outcome).toMatchObject({ kind: 'recorded', record: { sequence: 1 } });
      expect(await world.stored()).toMatchObject({ revision: 1, entries: [{ status: 'running' }] });
    },
  );

  test('has no result when nothing is recorded and the operation is gone', async () => {
    const world = setUp(() => {
      throw notFound();
    });
    const store = withLostWrites(world.store, () => 'refused by the network');

    expect(await recordOperation({ ...world.deps, store }, undefined, anOperation(), NOON_MS)).toEqual({
      kind: 'unresolved',
    });
  });

  test('and races in any order: what is reported as recorded is stored, and the chain has no gap and no double', async () => {
    const fate = fc.constantFrom(
      'answered',
      'refused by the network',
      'applied, and its reply is lost',
      'raced',
    );
    const status = fc.constantFrom('scheduling', 'running', 'failed', 'finished');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { maxLength: 6 }),
        fc.array(status, { minLength: 1 }),
        async (fates, truth) => {
          let place = 0;
          const now = () => anOperation({ status: truth[Math.min(place++, truth.length - 1)] ?? 'running' });
          const world = setUp(now);
          const rival = async () => {
            const recorded = await world.stored();
            const next = decideNextRecord(recorded, now(), aContext({ observed_by: 'command' }));
            if (next !== undefined) await world.store.record(next, recorded?.revision);
          };
          const left = [...fates];
          const lossy = withLostWrites(world.store, () => {
            const next = left.shift();
            return next === 'answered' || next === 'raced' ? undefined : next;
          });
          const store = {
            ...lossy,
            record: async (...args: Parameters<typeof lossy.record>) => {
              if (left[0] === 'raced') await rival();
              return lossy.record(...args);
            },
          };

          const outcome = await recordOperation({ ...world.deps, store }, undefined, now(), NOON_MS);

          const stored = await world.stored();
          if (outcome.kind === 'recorded' || outcome.kind === 'unchanged')
            expect(outcome.record.entries).toEqual(stored?.entries);
          const changes =
            stored?.entries.flatMap((entry) => (entry.type === 'state_changed' ? [entry] : [])) ?? [];
          expect(changes.map(({ sequence }) => sequence)).toEqual(changes.map((_, index) => index + 1));
          expect(changes.map(({ previous_status }) => previous_status)).toEqual([
            ...(changes.length > 0 ? [null] : []),
            ...changes.slice(0, -1).map(({ status: before }) => before),
          ]);
        },
      ),
    );
  });
});

describe('an operation whose journal is full', () => {
  function full(last: Partial<Operation>): OperationRecord {
    const failures = Array.from({ length: PENDING_ENTRIES_MAX - 1 }, (_, index) => ({
      status: 'failed',
      failures_count: index + 1,
    }));
    return aRecord(...failures, last);
  }

  test('waits until the bus has taken entries, and stays watched meanwhile', async () => {
    const world = setUp();
    const recorded = full({ status: 'running', failures_count: 63 });

    const outcome = await recordOperation(
      world.deps,
      recorded,
      anOperation({ status: 'finished', failures_count: 63 }),
      NOON_MS,
    );

    expect(outcome).toEqual({ kind: 'deferred', record: recorded });
    expect(world.calls).toEqual([]);
  });

  test('has no result when it had ended and moves again, since no poll watches it', async () => {
    const world = setUp();
    const recorded = full({ status: 'finished', failures_count: 63 });

    const outcome = await recordOperation(world.deps, recorded, anOperation({ failures_count: 63 }), NOON_MS);

    expect(outcome).toEqual({ kind: 'unresolved' });
    expect(world.calls).toEqual([]);
  });
});

test('the store that recording relies on rejects an item that cannot be read', async () => {
  const table = createMemoryTable();
  const store = createBridgeStore(table, 'main', { now: () => NOON_MS, sleep: async () => {} });
  table.sync.update({ key: operationKey('main', PROJECT_ID, ID), set: { kind: 'operation' } });

  await expect(store.readOperation(PROJECT_ID, ID)).rejects.toThrow(UnreadableItemError);
});
