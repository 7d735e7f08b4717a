import { describe, expect, test } from 'vitest';
import { type DeriveDeps, recordDerived } from '../../shared/protocol/record-derived.ts';
import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { startedWith } from '../../shared/records/derivations.ts';
import { PENDING_ENTRIES_MAX } from '../../shared/records/journal.ts';
import {
  decideNextRecord,
  type Operation,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import type { BridgeStore } from '../../shared/store/bridge-store.ts';
import { branchKey, computeKey } from '../../shared/store/keys.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { aStore } from './store-under-test.ts';

const { project_id: PROJECT_ID, branch_id: BRANCH_ID = '', endpoint_id: ENDPOINT_ID = '' } = anOperation();
const CREATE = { id: 'create', action: 'create_branch', endpoint_id: undefined, status: 'finished' };
const START = { id: 'start', action: 'start_compute', status: 'finished' };

function recordsOf(...readings: readonly Partial<Operation>[]): readonly OperationRecord[] {
  const operations = readings.map(anOperation);
  return operations.map((operation) => {
    const started_with = startedWith(operation, operations);
    const record = decideNextRecord(undefined, operation, aContext({ started_with }));
    if (record === undefined) throw new Error('A first reading is always news');
    return record;
  });
}

function setUp(changes: (store: BridgeStore) => Partial<BridgeStore> = () => ({})) {
  const { store, clock } = aStore(() => NOON_MS);
  const logs: unknown[] = [];
  const deps = {
    store: { ...store, ...changes(store) },
    clock,
    telemetry: {
      ...silentTelemetry,
      log: (level: string, event: string, fields = {}) => logs.push({ level, event, ...fields }),
    },
  };
  const bus = {
    publish: async (events: readonly unknown[]) => events.map(() => ({ kind: 'accepted' as const })),
  };
  const branch = async () => (await store.readDerived([branchKey('main', PROJECT_ID, BRANCH_ID)])).records[0];
  const compute = async () =>
    (await store.readDerived([computeKey('main', PROJECT_ID, ENDPOINT_ID)])).records[0];
  return { store, deps, logs, branch, compute, relay: { ...deps, bus } };
}

/** Returns the records that must be published, and the operations that must not be acknowledged. */
async function derive(
  deps: DeriveDeps,
  operations: readonly OperationRecord[],
  around: readonly OperationRecord[] = [],
) {
  const derived = await recordDerived(deps, operations, around);
  return {
    records: derived.flatMap(({ record }) => record ?? []),
    withheld: new Set(derived.flatMap((each) => (each.isSure ? [] : each.operations))),
  };
}

const failure = () => Promise.reject(new TypeError('socket hang up'));

describe('what derives from operations', () => {
  test('costs no read when they concern neither a branch nor a compute', async () => {
    const { deps } = setUp(() => ({ readDerived: failure }));
    const operations = recordsOf({ id: 'a', branch_id: undefined, endpoint_id: undefined });

    expect(await derive(deps, operations)).toEqual({ records: [], withheld: new Set() });
  });

  test('is not known while the table cannot be read, so the operations are withheld', async () => {
    const { deps, logs } = setUp(() => ({ readDerived: failure }));
    const operations = recordsOf(CREATE, START);

    const { records, withheld } = await derive(deps, operations);

    expect([records, [...withheld]]).toEqual([[], expect.arrayContaining([...operations])]);
    expect(logs).toEqual([{ level: 'warn', event: 'derivation.unknown', reason: 'TypeError' }]);
  });

  test('is tried four times when another process is faster each time, and then withheld', async () => {
    let writes = 0;
    const { deps } = setUp(() => ({
      record: async () => {
        writes++;
        return 'conflict';
      },
    }));
    const operations = recordsOf(START);

    const { records, withheld } = await derive(deps, operations);

    expect([records, [...withheld], writes]).toEqual([[], operations, 4]);
  });

  test('is recorded by the fourth attempt', async () => {
    let writes = 0;
    const { deps } = setUp((store) => ({
      record: async (record, revision) => (++writes < 4 ? 'conflict' : store.record(record, revision)),
    }));

    const { records, withheld } = await derive(deps, recordsOf(START));

    expect(records).toMatchObject([{ kind: 'compute', state: 'active', revision: 1 }]);
    expect(withheld.size).toBe(0);
  });

  test('is found by the next attempt when the reply to its write was lost, and is handed on to be published', async () => {
    let writes = 0;
    const { deps, logs, compute } = setUp((store) => ({
      record: async (record, revision) => {
        writes++;
        await store.record(record, revision);
        return failure();
      },
    }));

    const { records, withheld } = await derive(deps, recordsOf(START));

    expect(records).toEqual([await compute()]);
    expect([withheld.size, writes]).toEqual([0, 1]);
    expect(logs).toEqual([{ level: 'warn', event: 'derivation.unknown', reason: 'TypeError' }]);
  });

  test('is handed on until it is published, and then not again', async () => {
    const { deps, relay, compute } = setUp();
    const operations = recordsOf(START);
    await derive(deps, operations);

    expect((await derive(deps, operations)).records).toEqual([await compute()]);
    await relayRecords(relay, (await derive(deps, operations)).records);
    expect(await compute()).toMatchObject({ revision: 1, published: 1 });
    expect((await derive(deps, operations)).records).toEqual([]);
  });

  test('waits while the journal of its record is full, whose entries are published first', async () => {
    const { deps, compute } = setUp((store) => ({
      readDerived: async (keys) => {
        const read = await store.readDerived(keys);
        return {
          ...read,
          records: read.records.map((each) => ({ ...each, revision: each.published + pending })),
        };
      },
    }));
    let pending = PENDING_ENTRIES_MAX;
    await derive(deps, recordsOf(START));
    const before = await compute();
    const suspend = recordsOf({
      id: 'suspend',
      action: 'suspend_compute',
      status: 'finished',
      created_at: '2026-01-15T11:59:58Z',
    });

    const { records, withheld } = await derive(deps, suspend);

    expect(records).toMatchObject([{ kind: 'compute', state: 'active', sequence: 1 }]);
    expect([...withheld]).toEqual(suspend);
    expect(await compute()).toEqual(before);
    pending = 1;
    expect((await derive(deps, suspend)).records).toMatchObject([{ state: 'idle' }]);
  });

  test('leaves an item that cannot be read as it is, and holds up neither its operations nor the other items', async () => {
    const unreadable = [branchKey('main', PROJECT_ID, BRANCH_ID)];
    const { deps } = setUp(() => ({ readDerived: async () => ({ records: [], unreadable }) }));

    const { records, withheld } = await derive(deps, recordsOf(CREATE, START));

    expect(records).toMatchObject([{ kind: 'compute', endpoint_id: ENDPOINT_ID }]);
    expect(withheld.size).toBe(0);
  });

  test.each([
    ['of another project', { project_id: 'other-pond-12345678' }],
    ['of another branch', { branch_id: 'br-other-pond-a1234567' }],
  ])('rests on no operation %s', async (_name, elsewhere) => {
    const { deps } = setUp();
    const [foreign] = recordsOf({ ...START, id: 'foreign', status: 'running', ...elsewhere });

    const { records } = await derive(deps, recordsOf(CREATE), foreign ? [foreign] : []);

    expect(records).toMatchObject([
      { kind: 'branch', branch_id: BRANCH_ID, operation_ids: ['create'], readiness: 'ready' },
    ]);
  });

  test('belongs to its own item when several are decided together, which costs one write each', async () => {
    let writes = 0;
    const { deps } = setUp((store) => ({
      record: async (record, revision) => {
        writes++;
        return store.record(record, revision);
      },
    }));
    const both = recordsOf(START, { ...START, id: 'start-2', endpoint_id: 'ep-other-pond-a1234567' });
    await derive(deps, both);
    const later = { action: 'suspend_compute', status: 'finished', created_at: '2026-01-15T11:59:58Z' };

    const { records } = await derive(
      deps,
      recordsOf({ ...later, id: 'stop' }, { ...later, id: 'stop-2', endpoint_id: 'ep-other-pond-a1234567' }),
    );

    expect(writes).toBe(4);
    expect(
      records.map((each) => each.kind === 'compute' && [each.endpoint_id, each.sequence, each.state]),
    ).toEqual(
      expect.arrayContaining([
        [ENDPOINT_ID, 2, 'idle'],
        ['ep-other-pond-a1234567', 2, 'idle'],
      ]),
    );
  });
});

describe('an id that several branches or computes have', () => {
  const STOP = {
    id: 'stop',
    action: 'suspend_compute',
    status: 'finished',
    created_at: '2026-01-15T11:59:58Z',
  };
  const elsewhere = { project_id: 'other-pond-12345678' };

  test('belongs to a compute of each of two projects, and each has its own states', async () => {
    const { deps } = setUp();
    await derive(deps, [...recordsOf(START), ...recordsOf({ ...START, ...elsewhere })]);

    const { records } = await derive(deps, [...recordsOf(STOP), ...recordsOf({ ...STOP, ...elsewhere })]);

    expect(records).toMatchObject([
      { project_id: PROJECT_ID, state: 'idle', sequence: 2 },
      { ...elsewhere, state: 'idle', sequence: 2 },
    ]);
  });

  test('belongs to a branch and a compute, and each has its own record', async () => {
    const { deps } = setUp();
    const ids = { branch_id: 'the-same', endpoint_id: 'the-same' };
    await derive(deps, recordsOf({ ...CREATE, branch_id: 'the-same' }, { ...START, ...ids }));

    const { records } = await derive(deps, recordsOf({ ...STOP, ...ids }));

    expect(records).toMatchObject([
      { kind: 'branch', readiness: 'ready' },
      { kind: 'compute', state: 'idle', sequence: 2 },
    ]);
  });

  test('holds up nothing in one project when the item of the other cannot be read', async () => {
    const unreadable = [computeKey('main', elsewhere.project_id, ENDPOINT_ID)];
    const { deps } = setUp(() => ({ readDerived: async () => ({ records: [], unreadable }) }));

    expect((await derive(deps, recordsOf(START))).records).toMatchObject([{ kind: 'compute' }]);
  });
});

describe('the reason why a compute is idle', () => {
  const STOP = { id: 'stop', action: 'suspend_compute', status: 'finished' };
  const NEAR = { id: 'near', action: 'apply_config' };
  const reasonOf = async (stop: Partial<Operation>, near: Partial<Operation>) => {
    const { deps } = setUp();
    const { records } = await derive(deps, recordsOf({ ...STOP, ...stop }), recordsOf({ ...NEAR, ...near }));
    const compute = records.find(({ kind }) => kind === 'compute');
    return compute?.kind === 'compute' ? compute.entries[0]?.reason : 'no compute';
  };
  const other = { endpoint_id: 'ep-other-pond-a1234567' };

  test('is a restart when it is started at the same time', async () => {
    expect(await reasonOf({}, { action: 'start_compute', branch_id: undefined })).toBe('restarted');
  });

  test('is not known when something else happens on its branch', async () => {
    expect(await reasonOf({}, other)).toBeUndefined();
  });

  test.each([
    ['on another branch', {}, { ...other, branch_id: 'br-other-pond-a1234567' }],
    ['on no branch', {}, { ...other, branch_id: undefined }],
    ['on a branch, when its own is not known', { branch_id: undefined }, other],
    ['on no branch, when its own is not known', { branch_id: undefined }, { ...other, branch_id: undefined }],
  ])('is inactivity when all else that happens is %s', async (_name, stop, near) => {
    expect(await reasonOf(stop, near)).toBe('inactivity');
  });
});

describe('a branch whose creation goes on', () => {
  test('is noted without an event when an operation joins it, and once', async () => {
    const { deps, branch } = setUp();
    const open = recordsOf({ ...CREATE, status: 'running' }, { ...START, status: 'running' });

    const noted = {
      kind: 'branch',
      operation_ids: ['create', 'start'],
      revision: 1,
      published: 1,
      entries: [],
    };
    expect((await derive(deps, open)).records).toEqual([]);
    expect(await branch()).toMatchObject(noted);
    expect((await derive(deps, open)).records).toEqual([]);
    expect(await branch()).toMatchObject(noted);
  });

  test('is not decided for the news of an operation that has joined no creation', async () => {
    const { deps, branch } = setUp();
    const later = recordsOf({ id: 'later', action: 'start_compute', created_at: '2026-01-15T11:59:58Z' });

    expect((await derive(deps, later, recordsOf(CREATE))).records).toEqual([]);
    expect(await branch()).toBeUndefined();
  });

  test('costs no read of its operations while none of them has ended', async () => {
    let reads = 0;
    const { deps } = setUp((store) => ({
      readOperations: async (projectId, ids) => {
        reads++;
        return store.readOperations(projectId, ids);
      },
    }));
    const open = recordsOf({ ...CREATE, status: 'running' }, { ...START, status: 'running' });
    await derive(deps, open);
    reads = 0;

    await derive(deps, open);

    expect(reads).toBe(0);
  });

  test('fails when one of its operations ends badly while another goes on', async () => {
    const { deps } = setUp();
    await derive(deps, recordsOf({ ...CREATE, status: 'running' }, { ...START, status: 'running' }));

    const { records } = await derive(
      deps,
      recordsOf({ ...CREATE, status: 'error' }, { ...START, status: 'running' }),
    );

    expect(records).toMatchObject([{ kind: 'branch', readiness: 'failed' }]);
  });

  test('reads only the operations that are not known to have ended', async () => {
    const reads: (readonly string[])[] = [];
    const { deps, store, branch } = setUp((inner) => ({
      readOperations: async (projectId, ids) => {
        reads.push(ids);
        return inner.readOperations(projectId, ids);
      },
    }));
    const [create, start] = recordsOf({ ...CREATE, status: 'running' }, START);
    if (create === undefined || start === undefined) throw new Error('Two readings make two records');
    await store.record(create, undefined);

    await derive(deps, [start], [create]);
    expect(reads).toEqual([['create']]);
    expect(await branch()).toMatchObject({ readiness: 'pending', revision: 1, published: 1 });

    const ended = recordsOf(CREATE, START);
    await derive(deps, ended);
    expect(reads).toEqual([['create']]);
  });
});
