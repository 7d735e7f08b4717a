import { describe, expect, test } from 'vitest';
import {
  COUNTS_WAIT_MS_MAX,
  createPendingCounts,
  PENDING_CHANGES_MAX,
  writeCountsRepeatedly,
} from '../../../../functions/poller/account/insights.ts';
import { createHourCountsStore, type HourCountsStore } from '../../../../shared/insights/hour-counts.ts';
import { hourCountsKey } from '../../../../shared/store/keys.ts';
import { aClock, NOON_MS } from '../../../builders.ts';
import { createMemoryTable } from '../../../simulation/memory-table.ts';
import { aChange, LAST_HOUR, THIS_HOUR } from './a-change.ts';

/** Runs the loop until it has slept `rounds` times. A signal that ends a sleep makes it reject, as the real clock does. */
function setUp(
  change: (store: HourCountsStore, stop: AbortController) => Partial<HourCountsStore> = () => ({}),
) {
  let nowMs = NOON_MS;
  const table = createMemoryTable();
  const store = createHourCountsStore(table.as('poller'), 'main');
  const logs: unknown[] = [];
  const sleeps: number[] = [];
  const pending = createPendingCounts(aClock(() => nowMs));
  const run = async (rounds = 1) => {
    const stop = new AbortController();
    const enough = sleeps.length + rounds;
    const sleep = async (durationMs: number) => {
      nowMs += durationMs;
      if (sleeps.push(durationMs) < enough) return;
      stop.abort();
      throw stop.signal.reason;
    };
    await writeCountsRepeatedly({
      hourCounts: { pending, store: { ...store, ...change(store, stop) } },
      clock: { now: () => nowMs, sleep },
      telemetry: {
        log: (level, event, fields) => void logs.push([level, event, fields]),
        measure: () => {},
      },
      signal: stop.signal,
    });
  };
  const takeDue = (...changes: readonly Partial<ReturnType<typeof aChange>>[]) => {
    for (const fields of changes) pending.take(aChange(fields));
    nowMs += COUNTS_WAIT_MS_MAX;
  };
  const failuresOf = async (hour = LAST_HOUR) => {
    const stored = await store.readHour(hour);
    return stored === 'unreadable' ? stored : stored.counts.failed_count;
  };
  return { table, pending, run, logs, sleeps, takeDue, failuresOf };
}

const dropped = (reason: string, fields: object = { hour: LAST_HOUR }) => [
  'warn',
  'hour_counts.dropped',
  { ...fields, change_count: 1, reason },
];

describe('what waits for the counts of its hour', () => {
  test('is added at once when it is due, also by the next invocation of a warm process', async () => {
    const { run, takeDue, failuresOf, logs } = setUp();
    takeDue({}, { failedCount: 2 }, { hour: THIS_HOUR });

    await run();
    expect([await failuresOf(), await failuresOf(THIS_HOUR)]).toEqual([3, 1]);
    takeDue({});
    await run();

    expect(await failuresOf()).toBe(4);
    expect(logs).toEqual([]);
  });

  test('is looked for every ten seconds, so it is counted within 70 seconds', async () => {
    const { run, pending, failuresOf, sleeps } = setUp();
    pending.take(aChange());

    await run(6);
    expect(await failuresOf()).toBe(0);
    await run(1);

    expect(await failuresOf()).toBe(1);
    expect(new Set(sleeps)).toEqual(new Set([10_000]));
  });

  test('is added to what another poller writes at the same moment', async () => {
    let refusals = 2;
    const { run, takeDue, failuresOf, logs } = setUp((store) => ({
      async writeHour(hour, next) {
        if (refusals-- === 0) return store.writeHour(hour, next);
        const stored = await store.readHour(hour);
        if (stored === 'unreadable') return 'refused';
        const failed_count = stored.counts.failed_count + 10;
        await store.writeHour(hour, {
          counts: { ...stored.counts, failed_count },
          revision: stored.revision + 1,
        });
        return store.writeHour(hour, next);
      },
    }));
    takeDue({});

    await run();

    expect(await failuresOf()).toBe(21);
    expect(logs).toEqual([]);
  });

  test('is counted once when the SDK has repeated a write that was made, and its repetition is refused', async () => {
    const { run, takeDue, failuresOf, logs } = setUp((store) => ({
      async writeHour(hour, next) {
        await store.writeHour(hour, next);
        return store.writeHour(hour, next);
      },
    }));
    takeDue({});

    await run();

    expect(await failuresOf()).toBe(1);
    expect(logs).toEqual([]);
  });

  test('waits for another minute after three refused writes', async () => {
    let refusals = 3;
    const { run, takeDue, failuresOf } = setUp((store) => ({
      writeHour: async (hour, next) => (refusals-- > 0 ? 'refused' : store.writeHour(hour, next)),
    }));
    takeDue({});

    await run(6);
    expect(await failuresOf()).toBe(0);
    await run(1);

    expect(await failuresOf()).toBe(1);
  });

  test('waits for another minute when the hour could not be read, and then counts all of it', async () => {
    let failures = 1;
    const { run, takeDue, failuresOf, logs } = setUp((store) => ({
      readHour: (hour) => (failures-- > 0 ? Promise.reject(new Error('throttled')) : store.readHour(hour)),
    }));
    takeDue({});

    await run(7);

    expect(await failuresOf()).toBe(1);
    expect(logs).toEqual([]);
  });

  test('is dropped and reported when the item of the hour cannot be read by this version', async () => {
    const { run, takeDue, table, logs, failuresOf } = setUp();
    table.sync.update({ key: hourCountsKey('main', LAST_HOUR), set: { kind: 'hour_counts', revision: 'x' } });
    takeDue({}, { hour: THIS_HOUR });

    await run(8);

    expect(logs).toEqual([dropped('unreadable')]);
    expect(await failuresOf(THIS_HOUR)).toBe(1);
  });

  test('is not written again when the reply of a write is lost, so that nothing is counted twice', async () => {
    const { run, takeDue, logs, failuresOf } = setUp((store) => ({
      async writeHour(hour, next) {
        await store.writeHour(hour, next);
        throw new Error('socket hang up');
      },
    }));
    takeDue({});

    await run(8);

    expect(await failuresOf()).toBe(1);
    expect(logs).toEqual([dropped('write_unknown')]);
  });

  test('is kept for the next invocation when the stop signal comes between two hours', async () => {
    let isStopped = false;
    const { run, takeDue, failuresOf } = setUp((store, stop) => ({
      writeHour(hour, next) {
        if (!isStopped) stop.abort();
        isStopped = true;
        return store.writeHour(hour, next);
      },
    }));
    takeDue({}, { hour: THIS_HOUR });

    await run();
    expect([await failuresOf(), await failuresOf(THIS_HOUR)]).toEqual([1, 0]);
    await run(7);

    expect([await failuresOf(), await failuresOf(THIS_HOUR)]).toEqual([1, 1]);
  });

  test('is reported once as dropped when more waits than memory is meant for', async () => {
    const { run, pending, logs } = setUp();
    for (let index = 0; index <= PENDING_CHANGES_MAX; index++) pending.take(aChange());

    await run(3);

    expect(logs).toEqual([dropped('too_many', {})]);
  });
});
