import { describe, expect, test } from 'vitest';
import { emptyAccountMemory } from '../../functions/poller/run.ts';
import { createMemoryTable } from './memory-table.ts';
import { deriveOptions, type FaultKind, faultKinds, type SimulationOptions } from './options.ts';
import { createLaggingIndex } from './ports.ts';
import { dependenciesOf, invoke, START_MS, type Stage } from './simulate.ts';
import { createUpstreamModel } from './upstream-model.ts';
import { createWorld } from './world.ts';

const MINUTE_MS = 60_000;
const BUSY_MS = 60 * MINUTE_MS;
const NO_FAULTS = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;

/** One poller with the limits of production, and nothing that goes wrong. */
const options: SimulationOptions = {
  ...deriveOptions(1),
  projectCount: 3,
  operationCount: 400,
  historyCount: 20,
  backfill: 'open',
  chaosMs: BUSY_MS,
  firstPageRows: 100,
  widePageRows: 1_000,
  pagesMax: 20,
  overlapMs: 5 * MINUTE_MS,
  watermarkStepRows: 16,
  pollIntervalMs: 5_000,
  sweepIntervalMs: 24 * 60 * MINUTE_MS,
  faults: NO_FAULTS,
};

function setUp() {
  const world = createWorld(options, START_MS);
  const chance = {
    tie: 0,
    lateVisible: 0,
    fails: 0,
    reopens: 0,
    vanishes: 0,
    brokenUpdatedAt: 0,
    unknownStatus: 0,
    burst: 0.2,
  };
  const endMs = START_MS + BUSY_MS;
  const model = createUpstreamModel({ ...options, startMs: START_MS, endMs, chance }, world.random);
  const stage: Stage = {
    world,
    model,
    table: createMemoryTable(),
    index: createLaggingIndex(world),
    delivered: [],
  };
  const deps = dependenciesOf(stage, { name: 'steady', isCrashed: false, clockSkewMs: 0 });
  const memory = emptyAccountMemory();
  const poll = async (durationMs: number) => {
    const endsAtMs = world.scheduler.now() + durationMs + 1_000;
    void invoke(deps, memory, durationMs);
    await world.scheduler.runUntil(endsAtMs);
  };
  return { ...stage, poll };
}

describe('the steady state', () => {
  test('a transition costs at most 2.1 write units on average, and an empty poll none', {
    timeout: 60_000,
  }, async () => {
    const { table, delivered, poll } = setUp();
    await poll(MINUTE_MS);
    const before = { ...table.spent, transitions: delivered.length };

    await poll(BUSY_MS);

    const transitions = delivered.length - before.transitions;
    const perTransition = (table.spent.base - before.base) / transitions;
    expect(transitions).toBeGreaterThan(400);
    expect(perTransition).toBeLessThanOrEqual(2.1);

    const quiet = { ...table.spent };
    await poll(10 * MINUTE_MS);
    expect(table.spent).toEqual(quiet);
  });

  test('the index costs two units in the life of an operation, not two per transition', {
    timeout: 60_000,
  }, async () => {
    const { table, model, poll } = setUp();

    await poll(BUSY_MS + MINUTE_MS);

    expect(table.spent.index / model.operations.length).toBeLessThanOrEqual(2);
  });
});
