import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  adviseLane,
  createLaneMeter,
  createProcessGauges,
  type LaneLoad,
  loadPercentOf,
} from '../../../functions/poller/lane/lane-load.ts';
import type { LogFields } from '../../../shared/runtime/telemetry.ts';

const IDLE: LaneLoad = { eventLoopDelayMs: 10, lateDecisionMs: 20, memoryMb: 100 };

describe('the load of a lane', () => {
  test.each<[string, Partial<LaneLoad>, number]>([
    ['nothing special', {}, 43],
    ['a late event loop', { eventLoopDelayMs: 300 }, 150],
    ['late decisions', { lateDecisionMs: 2_000 }, 200],
    ['little memory left', { memoryMb: 256 }, 111],
  ])('with %s is the share of the nearest bound', (_name, changes, percent) => {
    expect(loadPercentOf({ ...IDLE, ...changes }, 256)).toBe(percent);
  });

  test('is that of its processor alone where nothing limits the memory', () => {
    expect(loadPercentOf({ ...IDLE, memoryMb: 4_000 }, undefined)).toBe(5);
  });
});

describe('a lane with too much to do', () => {
  const counts = (...entries: readonly [string, number][]) => new Map(entries);

  test('is divided by one more lane', () => {
    expect(adviseLane(120, counts(['a', 10], ['b', 10], ['c', 10]))).toEqual({ kind: 'add_lane' });
  });

  test('gives an account away that does most of the polls', () => {
    const advice = adviseLane(120, counts(['a', 10], ['large', 500], ['c', 10]));

    expect(advice).toEqual({ kind: 'pin_account', accountId: 'large' });
  });

  test('needs a larger function when it has one account', () => {
    expect(adviseLane(120, counts(['large', 500]))).toEqual({ kind: 'add_memory' });
  });

  test('and one at its bound needs nothing', () => {
    expect(adviseLane(100, counts(['a', 1]))).toEqual({ kind: 'none' });
  });
});

describe('the meter of a lane', () => {
  function aMeter(loopDelayMs: number, waitedCount = 0) {
    const logged: LogFields[] = [];
    const lines: (readonly [level: string, event: string])[] = [];
    const measured: (string | number)[][] = [];
    const taken: string[] = [];
    const meter = createLaneMeter(
      {
        takeEventLoopDelayMs: () => {
          taken.push('event loop');
          return loopDelayMs;
        },
        memoryMb: () => 100,
        memoryLimitMb: 256,
        takeSocketUse: () => {
          taken.push('sockets');
          return { inUseMax: 400, waitedCount };
        },
      },
      {
        log: (level, event, fields = {}) => {
          lines.push([level, event]);
          logged.push(fields);
        },
        measure: (name, value) => void measured.push([name, value]),
      },
    );
    return { meter, logged, lines, measured, taken };
  }

  const ONE_ACCOUNT = new Map([['a', 1]]);

  /** Returns how late 99 of 100 decisions were at most, in milliseconds. */
  function lateDecisionMsOf(...notes: readonly (readonly [count: number, lateMs: number])[]) {
    const { meter } = aMeter(20);
    meter.begin();
    for (const [count, lateMs] of notes) for (let note = 0; note < count; note++) meter.lateness.note(lateMs);
    return meter.report(0, ONE_ACCOUNT).load.lateDecisionMs;
  }

  const TWO_ACCOUNTS = new Map([
    ['a', 1],
    ['b', 1],
  ]);

  test('reports how late 99 of 100 decisions were at most', () => {
    const { meter, logged, measured } = aMeter(20);
    meter.begin();
    for (let count = 0; count < 980; count++) meter.lateness.note(5);
    for (let count = 0; count < 20; count++) meter.lateness.note(1_990);
    meter.report(3, TWO_ACCOUNTS);

    expect(logged[0]).toMatchObject({ lane: 3, account_count: 2, late_decision_ms: 2_000 });
    expect(measured).toEqual([['LaneLoadPercent', 200]]);
  });

  test('says what to do in the second busy minute in a row, and not for the one in which the process has started', () => {
    const { meter, logged } = aMeter(20);
    const minutes = [2_000, 2_000, 20, 2_000, 2_000, 2_000];
    for (const lateMs of minutes) {
      meter.begin();
      meter.lateness.note(lateMs);
      meter.report(0, TWO_ACCOUNTS);
    }

    expect(logged.map(({ advice }) => advice)).toEqual([
      'none',
      'add_lane',
      'none',
      'none',
      'add_lane',
      'add_lane',
    ]);
  });

  test.each([
    ['one decision of a hundred', [990, 5], [10, 1_990], 20],
    ['more than one of a hundred', [989, 5], [11, 1_990], 2_000],
    ['an hour', [1, 3_600_000], [1, 0], 10_000],
    ['less than nothing, by a clock that was set back', [1, -50], [1, -1], 20],
  ] as const)('says of decisions that were late by %s', (_name, first, second, expected) => {
    expect(lateDecisionMsOf(first, second)).toBe(expected);
  });

  test('returns what it writes, and a lane that is well is a line of information', () => {
    const { meter, logged, lines } = aMeter(19.6);
    meter.begin();
    const load = { eventLoopDelayMs: 19.6, lateDecisionMs: 0, memoryMb: 100 };

    expect(meter.report(2, ONE_ACCOUNT)).toEqual({
      lane: 2,
      accountCount: 1,
      load,
      loadPercent: 43,
      sockets: { inUseMax: 400, waitedCount: 0 },
      advice: { kind: 'none' },
    });
    expect(lines).toEqual([['info', 'lane.load']]);
    expect(logged[0]).toMatchObject({ event_loop_delay_ms: 20, memory_mb: 100, load_percent: 43 });
    expect(Object.keys(logged[0] ?? {})).not.toContain('account_id');
  });

  test('names the account that should have a lane of its own', () => {
    const { meter, logged, lines } = aMeter(300);
    meter.begin();
    for (let minute = 0; minute < 2; minute++) meter.report(0, new Map([...ONE_ACCOUNT, ['large', 500]]));

    expect(lines.at(-1)).toEqual(['warn', 'lane.load']);
    expect(logged[1]).toMatchObject({ advice: 'pin_account', account_id: 'large' });
  });

  test('names no account when the lane needs another lane', () => {
    const { meter, logged } = aMeter(300);
    meter.begin();
    for (let minute = 0; minute < 2; minute++) meter.report(0, new Map([...ONE_ACCOUNT, ['b', 1]]));

    expect(logged[1]).toMatchObject({ advice: 'add_lane' });
    expect(Object.keys(logged[1] ?? {})).not.toContain('account_id');
  });

  test.each([
    [98, []],
    [100, [['LaneLoadPercent', 50]]],
  ])('writes the metric from half of the load on: a delay of %i ms', (loopDelayMs, expected) => {
    const { meter, measured } = aMeter(loopDelayMs);
    meter.begin();
    meter.report(0, ONE_ACCOUNT);

    expect(measured).toEqual(expected);
  });

  test('begins anew with each invocation, and writes no metric while there is little to do', () => {
    const { meter, logged, measured, taken } = aMeter(20);
    meter.lateness.note(5_000);
    meter.begin();
    expect(taken).toEqual(['event loop', 'sockets']);
    meter.report(0, ONE_ACCOUNT);

    expect(logged[0]).toMatchObject({ late_decision_ms: 0, advice: 'none', sockets_max: 400 });
    expect(measured).toEqual([]);
  });

  test('reports the bound of the sockets when requests waited for one', () => {
    const { meter, logged, measured } = aMeter(20, 7);
    meter.begin();
    meter.report(0, ONE_ACCOUNT);

    expect(logged).toMatchObject([{ socket_wait_count: 7 }, { bound: 'upstream_sockets', value: 400 }]);
    expect(measured).toEqual([['BoundMet', 1]]);
  });
});

describe('the gauges of a process', () => {
  test('say how long the event loop was held up since the previous call', async () => {
    const gauges = createProcessGauges(256);
    let waitMs = 20;
    const delayAfterWork = async () => {
      await setTimeout(waitMs);
      const untilMs = performance.now() + 150;
      while (performance.now() < untilMs);
      await setTimeout(waitMs);
      // A timer measures the delay, and on a busy machine it may come later than that.
      waitMs *= 3;
      return gauges.takeEventLoopDelayMs();
    };

    await expect.poll(delayAfterWork, { timeout: 20_000 }).toBeGreaterThan(50);
    gauges.takeEventLoopDelayMs();
    expect(gauges.takeEventLoopDelayMs()).toBe(0);
  });

  test('say how much memory the process has, in megabytes, and how much it may have', () => {
    const gauges = createProcessGauges(256);
    const expected = process.memoryUsage.rss() / 2 ** 20;

    expect(gauges.memoryMb() / expected).toBeGreaterThan(0.5);
    expect(gauges.memoryMb() / expected).toBeLessThan(2);
    expect(gauges.memoryLimitMb).toBe(256);
  });
});
