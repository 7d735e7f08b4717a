import { describe, expect, test } from 'vitest';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { ACCOUNT_WAIT_MS_MAX } from '../../functions/poller/account/insights.ts';
import { createNudgeBell } from '../../functions/poller/nudges.ts';
import { dependenciesOf, invoke } from './by-hand.ts';
import { deriveOptions, NO_FAULTS, type SimulationOptions } from './options.ts';
import { setTheStage } from './simulate.ts';
import { NOTHING_ODD } from './upstream-model.ts';

const MINUTE_MS = 60_000;
const BUSY_MS = 60 * MINUTE_MS;

/** Sets up one poller with the limits of production and without faults. */
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
  boundStepRows: 24,
  pollIntervalMs: 5_000,
  sweepIntervalMs: 24 * 60 * MINUTE_MS,
  faults: NO_FAULTS,
};

function setUp({ isWhole = true } = {}) {
  const stage = setTheStage(options, { ...NOTHING_ODD, burst: 0.2 });
  const { scheduler } = stage.world;
  const owner = { name: 'steady', isCrashed: false, clockSkewMs: 0 };
  const wired = dependenciesOf(stage, owner);
  // The status costs a write a minute, whatever happens.
  const status = { ...wired.status, write: async () => {} };
  const { insights, names } = wired;
  const without = {
    insights: { ...insights, takeChange: () => {} },
    names: { ...names, write: async () => {} },
  };
  const bell = createNudgeBell(scheduler.clockOf(owner));
  const deps = { ...wired, bell, status, ...(isWhole ? {} : without) };
  const memory = emptyAccountMemory();
  const poll = async (durationMs: number) => {
    const endsAtMs = scheduler.now() + durationMs + 1_000;
    void invoke(deps, memory, durationMs);
    await scheduler.runUntil(endsAtMs);
  };
  return { ...stage, poll };
}

describe('the steady state', () => {
  test.each([
    { most: 2.1, isWhole: false },
    { most: 2.15, isWhole: true },
  ])(
    'a transition costs at most $most write units (with names and counts of hours: $isWhole), and an empty poll none',
    {
      timeout: 60_000,
    },
    async ({ most, isWhole }) => {
      const { table, delivered, poll } = setUp({ isWhole });
      await poll(MINUTE_MS);
      const before = { ...table.spent, transitions: delivered.length };

      await poll(BUSY_MS);

      const transitions = delivered.length - before.transitions;
      const perTransition = (table.spent.base - before.base) / transitions;
      expect(transitions).toBeGreaterThan(400);
      expect(perTransition).toBeLessThanOrEqual(most);
      // The insights are part of what was spent.
      const days = table.sync.items().filter((item) => item['kind'] === 'insights');
      expect(days.map(({ pk }) => pk)).toContain('INSIGHTS#main');

      // What operations took is written within this time after their ends.
      await poll(ACCOUNT_WAIT_MS_MAX);
      const quiet = { ...table.spent };
      await poll(10 * MINUTE_MS);
      expect(table.spent).toEqual(quiet);
    },
  );

  test('the index costs at most two write units in the whole life of an operation', {
    timeout: 60_000,
  }, async () => {
    const { table, model, poll } = setUp();

    await poll(BUSY_MS + MINUTE_MS);

    expect(table.spent.index / model.operations.length).toBeLessThanOrEqual(2);
  });
});
