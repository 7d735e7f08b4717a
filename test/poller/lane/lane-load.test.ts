import { describe, expect, test } from 'vitest';
import { adviseLane, type LaneLoad, loadPercentOf } from '../../../functions/poller/lane/lane-load.ts';
import { createLaneMeter } from '../../../functions/poller/lane/lane-meter.ts';
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
    const measured: (string | number)[][] = [];
    const meter = createLaneMeter(
      {
        takeEventLoopDelayMs: () => loopDelayMs,
        memoryMb: () => 100,
        memoryLimitMb: 256,
        takeSocketUse: () => ({ inUseMax: 400, waitedCount }),
      },
      {
        log: (_level, _event, fields = {}) => void logged.push(fields),
        measure: (name, value) => void measured.push([name, value]),
      },
    );
    return { meter, logged, measured };
  }

  test('reports how late 99 of 100 decisions were at most, and what to do', () => {
    const { meter, logged, measured } = aMeter(20);
    meter.begin();
    for (let count = 0; count < 980; count++) meter.lateness.note(5);
    for (let count = 0; count < 20; count++) meter.lateness.note(1_990);
    meter.report(
      3,
      new Map([
        ['a', 1],
        ['b', 1],
      ]),
    );

    expect(logged[0]).toMatchObject({
      lane: 3,
      account_count: 2,
      late_decision_ms: 2_000,
      advice: 'add_lane',
    });
    expect(measured).toEqual([['LaneLoadPercent', 200]]);
  });

  test('begins anew with each invocation, and writes no metric while there is little to do', () => {
    const { meter, logged, measured } = aMeter(20);
    meter.lateness.note(5_000);
    meter.begin();
    meter.report(0, new Map([['a', 1]]));

    expect(logged[0]).toMatchObject({ late_decision_ms: 0, advice: 'none', sockets_max: 400 });
    expect(measured).toEqual([]);
  });

  test('reports the bound of the sockets when requests waited for one', () => {
    const { meter, logged, measured } = aMeter(20, 7);
    meter.begin();
    meter.report(0, new Map([['a', 1]]));

    expect(logged).toMatchObject([{ socket_wait_count: 7 }, { bound: 'upstream_sockets', value: 400 }]);
    expect(measured).toEqual([['BoundMet', 1]]);
  });
});
