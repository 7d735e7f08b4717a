import { describe, expect, test } from 'vitest';
import {
  ACTIONS_MAX,
  BIN_MAX,
  createInsightsStore,
  type DayInsights,
  insightsOf,
  NO_INSIGHTS,
  OPERATIONS_MIN,
  usualDurationOf,
  withSamples,
} from '../../shared/insights/day-insights.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { A_DAY, addTo, aSample, samplesOf } from './values.ts';

function dayOf(durationsMs: readonly number[], action = 'start_compute'): DayInsights {
  return withSamples(NO_INSIGHTS, samplesOf(durationsMs, { action })).counts;
}

describe('the insights of a day', () => {
  test('count durations and attempts by action', () => {
    const samples = [
      ...samplesOf(Array.from({ length: 20 }, () => 500)),
      ...samplesOf(
        Array.from({ length: 20 }, () => 8_000),
        { action: 'create_branch', attempts: 2 },
      ),
    ];

    const insights = insightsOf([withSamples(NO_INSIGHTS, samples).counts]);

    expect(insights).toMatchObject([
      { action: 'create_branch', durationMs: { count: 20 }, attempts: { p50: 2, p99: 2 } },
      { action: 'start_compute', durationMs: { count: 20 }, attempts: { p50: 1, p99: 1 } },
    ]);
    expect(insights[0]?.durationMs.p50).toBeGreaterThan(7_840);
    expect(insights[0]?.durationMs.p50).toBeLessThan(8_160);
  });

  test('hold a bounded number of actions, and say how many samples had no place', () => {
    const known = Array.from({ length: ACTIONS_MAX }, (_, index) => aSample({ action: `action_${index}` }));
    const full = withSamples(NO_INSIGHTS, known).counts;

    const { counts, leftOutCount } = withSamples(full, [
      aSample({ action: 'one_too_many' }),
      aSample({ action: 'action_3' }),
    ]);

    expect(counts.size).toBe(ACTIONS_MAX);
    expect(leftOutCount).toBe(1);
    expect(Object.values(counts.get('action_3')?.attempts ?? {})).toEqual([2]);
  });

  test('expire two days after they were last looked at', async () => {
    const table = createMemoryTable();

    await addTo(createInsightsStore(table, 'main').itemOf({ projectId: undefined, day: A_DAY }), [aSample()]);

    const [item] = table.sync.items();
    expect(new Date(Number(item?.['expires_at']) * 1_000).toISOString()).toBe('2026-01-24T00:00:00.000Z');
  });

  test('fit into one item of the table with every bin of every action in use', async () => {
    const bins = Object.fromEntries(Array.from({ length: BIN_MAX + 1 }, (_, bin) => [bin, 100]));
    const attempts = Object.fromEntries(Array.from({ length: 120 }, (_, bin) => [bin, 100]));
    const actions = Array.from({ length: ACTIONS_MAX }, (_, index) => `an_action_with_a_long_name_${index}`);
    const counts = new Map(actions.map((action) => [action, { durations: bins, attempts }]));
    const table = createMemoryTable();

    await createInsightsStore(table, 'main')
      .itemOf({ projectId: undefined, day: A_DAY })
      .write({ counts, revision: 1, writer: 'a-process' });

    expect(table.spent.base).toBeLessThan(400);
  });
});

describe('what an action usually takes', () => {
  const slow = dayOf(Array.from({ length: OPERATIONS_MIN }, () => 60_000));
  const quick = dayOf(Array.from({ length: OPERATIONS_MIN }, () => 600));

  test('is what the operations of its project say, when there are enough', () => {
    expect(usualDurationOf('start_compute', [slow], [quick])).toMatchObject({
      basis: 'project',
      operation_count: OPERATIONS_MIN,
    });
  });

  test('is what the account says when the project has too few operations of it', () => {
    const few = dayOf(Array.from({ length: OPERATIONS_MIN - 1 }, () => 60_000));

    const usual = usualDurationOf('start_compute', [few], [quick]);

    expect(usual?.basis).toBe('account');
    expect(usual?.p99_ms).toBeLessThan(700);
  });

  test('is not known while the account has too few operations of it, however many it has of others', () => {
    expect(usualDurationOf('create_branch', [slow], [quick])).toBeUndefined();
  });

  test('rests on all days together', () => {
    const half = dayOf(Array.from({ length: OPERATIONS_MIN / 2 }, () => 600));

    expect(usualDurationOf('start_compute', [], [half, half])).toMatchObject({
      operation_count: OPERATIONS_MIN,
    });
  });
});
