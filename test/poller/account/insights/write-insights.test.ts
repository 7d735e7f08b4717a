import { describe, expect, test } from 'vitest';
import {
  createPendingSamples,
  PENDING_SAMPLES_MAX,
  WAITING_SAMPLES_MAX,
  writeInsightsRepeatedly,
} from '../../../../functions/poller/account/insights.ts';
import {
  ACTIONS_MAX,
  createInsightsStore,
  type InsightsStore,
} from '../../../../shared/insights/day-insights.ts';
import { aClock, NOON_MS } from '../../../builders.ts';
import { aSample } from '../../../insights/a-sample.ts';
import { createMemoryTable } from '../../../simulation/memory-table.ts';

/** Runs the loop for `rounds` looks at what is due, ten seconds apart. */
function setUp(change: (store: InsightsStore, stop: AbortController) => Partial<InsightsStore> = () => ({})) {
  let nowMs = NOON_MS;
  const table = createMemoryTable().as('poller');
  const store = createInsightsStore(table, 'main');
  const logs: (readonly [event: string, reason: unknown])[] = [];
  const telemetry = {
    log: (_level: string, event: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void logs.push([event, fields['reason']]),
    measure: () => {},
  };
  const pending = createPendingSamples(aClock(() => nowMs));
  const run = async (rounds: number) => {
    const stop = new AbortController();
    let left = rounds;
    const sleep = async (durationMs: number) => {
      nowMs += durationMs;
      left -= 1;
      if (left === 0) stop.abort();
    };
    await writeInsightsRepeatedly({
      insights: { pending, store: { ...store, ...change(store, stop) }, writer: 'a' },
      clock: { now: () => nowMs, sleep },
      telemetry,
      signal: stop.signal,
    });
  };
  const writtenKeys = () => table.sync.items().map(({ pk }) => pk);
  const takeMany = (
    count: number,
    fieldsOf: (index: number) => Parameters<typeof aSample>[0] = () => ({}),
  ) => {
    for (let index = 0; index < count; index++) pending.take(aSample(fieldsOf(index)));
  };
  return { pending, run, logs, writtenKeys, takeMany };
}

const ACCOUNT = 'INSIGHTS#main';
const PROJECT = `INSIGHTS#main#P#${aSample().projectId}`;

describe('an invocation', () => {
  test('writes at once what is due, which may be of the previous invocation', async () => {
    const { run, writtenKeys, takeMany, logs } = setUp();
    takeMany(WAITING_SAMPLES_MAX);

    await run(1);

    expect(writtenKeys().toSorted()).toEqual([ACCOUNT, PROJECT]);
    expect(logs).toEqual([]);
  });

  test('tries again ten seconds later when the table did not take a write, and says so', async () => {
    let failures = 1;
    const { run, writtenKeys, takeMany, logs } = setUp((store) => ({
      writeDay: (day, next) => {
        failures -= 1;
        return failures < 0 ? store.writeDay(day, next) : Promise.reject(new Error('throttled'));
      },
    }));
    takeMany(WAITING_SAMPLES_MAX);

    await run(1);
    expect(logs).toEqual([['insights.not_written', undefined]]);
    await run(1);

    expect(writtenKeys().toSorted()).toEqual([ACCOUNT, PROJECT]);
  });

  test('keeps what is left for the next one when the stop signal comes between two writes', async () => {
    const { run, writtenKeys, takeMany } = setUp((store, stop) => ({
      writeDay: (day, next) => {
        stop.abort();
        return store.writeDay(day, next);
      },
    }));
    takeMany(WAITING_SAMPLES_MAX);

    await run(1);
    expect(writtenKeys()).toEqual([ACCOUNT]);
    await run(1);

    expect(writtenKeys().toSorted()).toEqual([ACCOUNT, PROJECT]);
  });

  test('reports once how many samples were dropped because too many waited', async () => {
    const { run, takeMany, logs } = setUp();
    takeMany(PENDING_SAMPLES_MAX / 2 + 1);

    await run(2);

    expect(logs).toEqual([['insights.samples_dropped', 'too_many']]);
  });

  test('says why samples will never be counted', async () => {
    const { run, takeMany, logs } = setUp((store) => ({
      readDay: async (day) => (day.projectId === undefined ? 'unreadable' : store.readDay(day)),
    }));
    takeMany(ACTIONS_MAX + 1, (index) => ({ action: `action_${index}` }));

    await run(1);

    expect(logs).toEqual([
      ['insights.samples_dropped', 'write_unknown'],
      ['insights.samples_dropped', 'too_many_actions'],
    ]);
  });
});
