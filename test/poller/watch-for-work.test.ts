import { describe, expect, test } from 'vitest';
import type { InvocationDeps } from '../../functions/poller/account/account-deps.ts';
import { watchForWork } from '../../functions/poller/account/watch-for-work.ts';
import { createNudgeBell } from '../../functions/poller/nudges.ts';
import type { PollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { aRecord, aTelemetry, commandRecord, only } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

async function watch(steps: readonly (() => Promise<unknown>)[]) {
  const stop = new AbortController();
  const hot: string[] = [];
  const wished: string[] = [];
  const measured: string[] = [];
  const left = [...steps];
  const clock = {
    now: () => 0,
    async sleep() {
      const step = left.shift();
      if (step === undefined) stop.abort();
      else await step();
    },
  };
  const deps = {
    clock,
    store,
    planner: only<PollPlanner>({
      askAtOnce: (id) => void hot.push(id),
      wish: (id) => void wished.push(id),
      waitingCount: () => wished.length,
    }),
    limits: only<InvocationDeps['limits']>({ workIntervalMs: 1_000 }),
    bell: createNudgeBell(clock),
    telemetry: aTelemetry({ measure: (name, value) => void measured.push(`${name} ${value}`) }),
    signal: stop.signal,
  };
  await watchForWork(only(deps), async () => {});
  return { hot, wished, measured };
}

let isBusy = false;
const table = createMemoryTable();
const queryWorkPage: typeof table.queryWorkPage = (query) =>
  isBusy ? Promise.reject(new Error('busy')) : table.queryWorkPage(query);
const clock = { now: () => 0, sleep: async () => {} };
const store = createBridgeStore({ ...table.as('poller'), queryWorkPage }, 'main', clock);
const api = createBridgeStore(table.as('api'), 'main', clock);

describe('commands of others', () => {
  test('make their projects hot once, when they appear', async () => {
    await api.record(commandRecord('before-1', 'request-0'), undefined);

    const { hot } = await watch([
      () => api.record(commandRecord('a-1', 'request-1'), undefined),
      async () => {},
      () => api.record(commandRecord('b-1', 'request-2'), undefined),
    ]);

    expect(hot).toEqual(['a-1', 'b-1']);
  });

  test('and wishes for a fresh reading are passed on once, as wishes and not as commands', async () => {
    const { hot, wished, measured } = await watch([
      () => api.wishForReading('d-1', 0),
      () => api.wishForReading('d-1', 0),
      async () => {},
    ]);

    expect(wished).toEqual(['d-1', 'd-1']);
    expect(hot).toEqual([]);
    expect(measured).toEqual(['ReadingsWaiting 1', 'ReadingsWaiting 2', 'ReadingsWaiting 2']);
    expect(await store.takeWishes()).toEqual([]);
  });

  test('are looked for again after the table was busy', async () => {
    const { hot } = await watch([
      async () => {
        isBusy = true;
      },
      async () => {
        isBusy = false;
        await api.record(commandRecord('c-1', 'request-3'), undefined);
      },
    ]);

    expect(hot).toEqual(['c-1']);
  });

  test('are found behind a thousand unpublished operations, a page at a time', async () => {
    for (let place = 0; place < 1_200; place++) {
      await api.record({ ...aRecord(), project_id: 'many-1', operation_id: `many-${place}` }, undefined);
    }
    const nothing = async () => {};
    const add = () => api.record(commandRecord('behind-1', 'request-9'), undefined);

    const { hot } = await watch([nothing, nothing, add, nothing, nothing, nothing]);

    expect(hot).toEqual(['behind-1']);
  });
});

test('a wish is left to the next invocation when this one must stop before it can take it', async () => {
  const stop = new AbortController();
  const findWorkPage: typeof store.findWorkPage = async (request) => {
    stop.abort();
    return store.findWorkPage(request);
  };
  await api.wishForReading('e-1', 0);
  const deps = only<InvocationDeps>({
    clock,
    store: { ...store, findWorkPage },
    planner: only({ askAtOnce: () => {}, wish: () => {}, waitingCount: () => 0 }),
    limits: only({ workIntervalMs: 1_000 }),
    bell: createNudgeBell(clock),
    telemetry: aTelemetry({}),
    signal: stop.signal,
  });
  await watchForWork(deps, async () => {});

  expect(await store.takeWishes()).toEqual(['e-1']);
});
