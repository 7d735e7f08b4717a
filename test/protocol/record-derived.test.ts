import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordCommand } from '../../shared/protocol/record-command.ts';
import type { Operation } from '../../shared/records/operation-record.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { branchKey, computeKey } from '../../shared/store/keys.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { anOperation, NOON_MS, only } from '../builders.ts';
import { aRelay } from './relay-under-test.ts';
import { aStore, type LostWrite, withLostWrites } from './store-under-test.ts';

const { project_id: PROJECT_ID, branch_id: BRANCH_ID = '', endpoint_id: ENDPOINT_ID = '' } = anOperation();

const CREATE = { id: 'create', action: 'create_branch', endpoint_id: undefined };
const START = { id: 'start', action: 'start_compute' };
const BRANCH = branchKey('main', PROJECT_ID, BRANCH_ID);
const COMPUTE = computeKey('main', PROJECT_ID, ENDPOINT_ID);

describe('what derives from operations', () => {
  test('is published with them: the compute is active, and the branch is ready', async () => {
    const { record, relay, published, countOf } = aRelay();
    await record([CREATE, START]);
    await relay();

    expect(countOf('Branch Ready')).toBe(0);

    await record([
      { ...CREATE, status: 'finished' },
      { ...START, status: 'finished' },
    ]);
    await relay();

    expect(countOf('Branch Ready')).toBe(1);
    expect(published.find(({ detailType }) => detailType === 'Branch Ready')?.detail).toMatchObject({
      branch_id: BRANCH_ID,
      endpoint_ids: [ENDPOINT_ID],
      operations: [{ operation_id: 'create' }, { operation_id: 'start' }],
    });
    expect(published.find(({ detailType }) => detailType === 'Compute State Changed')?.detail).toMatchObject({
      endpoint_id: ENDPOINT_ID,
      state: 'active',
      previous_state: null,
      operation_id: 'start',
    });
  });

  test('leaves nothing in the work index', async () => {
    const { store, record, relay } = aRelay();
    await record([CREATE, START]);
    await relay();
    await record([
      { ...CREATE, status: 'finished' },
      { ...START, status: 'finished' },
    ]);
    await relay();

    expect(await store.findWork()).toEqual([]);
  });

  test('is decided when the last operation ends, whichever that is', async () => {
    const { record, relay, countOf } = aRelay();
    await record([CREATE, START]);
    await relay();
    await record([{ ...START, status: 'finished' }]);
    await relay();

    expect(countOf('Branch Ready')).toBe(0);

    await record([{ ...CREATE, status: 'finished' }]);
    await relay();

    expect(countOf('Branch Ready')).toBe(1);
  });

  test('is decided when the creation is recorded after an operation that it started has failed', async () => {
    const { record, relay, countOf } = aRelay();
    await record([{ ...START, status: 'error' }]);
    await relay();
    await record([CREATE, { ...START, status: 'error' }]);
    await relay();

    expect(countOf('Branch Failed')).toBe(1);
    expect(countOf('Branch Ready')).toBe(0);
  });

  test('is nothing when the operations are history, whatever the backfill publishes', async () => {
    const { record, relay, typesOf } = aRelay();
    await record(
      [
        { ...CREATE, status: 'finished' },
        { ...START, status: 'finished' },
      ],
      {
        observed_by: 'backfill',
        history: { backfill: 'all' },
      },
    );
    await relay();

    expect(new Set(typesOf())).toEqual(new Set(['Operation State Changed']));
  });

  test('is recorded when an operation of the first sight ends later', async () => {
    const { record, relay, countOf } = aRelay();
    await record([CREATE, START], { observed_by: 'backfill', history: { backfill: 'open' } });
    await relay();
    await record([
      { ...CREATE, status: 'finished' },
      { ...START, status: 'finished' },
    ]);
    await relay();

    expect(countOf('Branch Ready')).toBe(1);
  });
});

describe('an operation', () => {
  const ended = [
    { ...CREATE, status: 'finished' },
    { ...START, status: 'finished' },
  ];

  test('is published at once, and keeps its place in the index while what derives from it may not be recorded', async () => {
    const { store, record, relay, typesOf, countOf } = aRelay();
    await record(ended);
    const report = await relay(withLostWrites(store, () => 'refused by the network'));

    expect(report).toMatchObject({ publishedCount: 2, unpublishedCount: 0, underivedCount: 2 });
    expect(typesOf()).toEqual(['Operation State Changed', 'Operation State Changed']);
    expect(await store.findWork()).toHaveLength(2);

    await relay();

    expect(countOf('Branch Ready')).toBe(1);
    expect(countOf('Operation State Changed')).toBe(2);
  });

  test('is published, and what derives from it waits for the next invocation, once this one must stop', async () => {
    const { record, relay, typesOf, countOf } = aRelay();
    await record(ended);
    await relay(undefined, AbortSignal.abort());

    expect(typesOf()).toEqual(['Operation State Changed', 'Operation State Changed']);

    await relay();

    expect(countOf('Branch Ready')).toBe(1);
    expect(countOf('Operation State Changed')).toBe(2);
  });

  test('is not held up by an item that this version cannot read, and the item stays as it is', async () => {
    const { store, table, record, relay, typesOf } = aRelay();
    await table.update({ key: BRANCH, set: { kind: 'branch', revision: 'of tomorrow' } });
    await table.update({ key: COMPUTE, set: { kind: 'compute', revision: 'of tomorrow' } });
    await record(ended);
    await relay();

    expect(typesOf()).toEqual(['Operation State Changed', 'Operation State Changed']);
    expect(await store.findWork()).toEqual([]);
    expect(table.sync.peek(BRANCH)).toMatchObject({ revision: 'of tomorrow' });
  });
});

test('two processes that record the two last ends at once publish that the branch is ready, and only once', async () => {
  const { store, record, relay, countOf } = aRelay();
  await record([CREATE, START]);
  await relay();
  const both = async (reading: Partial<Operation>) => {
    await record([{ ...reading, status: 'finished' }]);
    await relay();
  };
  await Promise.all([both(CREATE), both(START)]);
  await relay();

  expect(countOf('Branch Ready')).toBe(1);
  expect(await store.findWork()).toEqual([]);
});

test('wherever writes are lost, a branch becomes ready once, and the compute has every state once', async () => {
  const fate = fc.constantFrom<(LostWrite | undefined)[]>(
    undefined,
    'refused by the network',
    'applied, and its reply is lost',
  );
  const rounds = fc.array(fc.array(fate, { maxLength: 8 }), { minLength: 4, maxLength: 4 });
  const steps: readonly (readonly Partial<Operation>[])[] = [
    [CREATE, START],
    [{ ...CREATE, status: 'finished' }],
    [{ ...START, status: 'finished' }],
    [
      {
        ...START,
        id: 'suspend',
        action: 'suspend_compute',
        status: 'finished',
        created_at: '2026-01-15T12:05:00Z',
      },
    ],
  ];
  await fc.assert(
    fc.asyncProperty(rounds, async (fates) => {
      const { store, record, relay, countOf } = aRelay();
      for (const [place, readings] of steps.entries()) {
        await record(readings);
        const left = [...(fates[place] ?? [])];
        await relay(withLostWrites(store, () => left.shift()));
      }
      await relay();
      await relay();

      expect(countOf('Branch Ready')).toBe(1);
      expect(countOf('Branch Failed')).toBe(0);
      expect(countOf('Compute State Changed')).toBe(2);
      expect(await store.findWork()).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

test.each(['api', 'commands'] as const)(
  'the role of the %s may record what derives from a command',
  async (role) => {
    const { table, clock } = aStore(() => NOON_MS);
    const store = createBridgeStore(table.as(role), 'main', clock);
    const published: string[] = [];
    const bus = {
      publish: async (events: readonly { readonly detailType: string }[]) => {
        published.push(...events.map(({ detailType }) => detailType));
        return events.map(() => ({ kind: 'accepted' as const }));
      },
    };
    const upstream = only<UpstreamClient>({ getOperation: async () => anOperation() });
    const deps = {
      store,
      bus,
      clock,
      upstream,
      telemetry: silentTelemetry,
      settleWithinMs: 1e6,
    };
    const command = {
      project_id: PROJECT_ID,
      request_id: 'a-request',
      client_id: 'an-app',
      call: 'createProjectBranch',
    };
    await recordCommand(deps, command, [
      anOperation({ ...CREATE, status: 'finished' }),
      anOperation({ ...START, status: 'finished' }),
    ]);

    expect(published).toContain('Branch Ready');
    expect(published).toContain('Compute State Changed');
    expect(table.sync.peek(BRANCH)).toMatchObject({ readiness: 'ready', command: { client_id: 'an-app' } });
  },
);
