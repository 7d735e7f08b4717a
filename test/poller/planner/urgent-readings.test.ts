import { describe, expect, test } from 'vitest';
import { createOrderByUrgency } from '../../../functions/poller/planner/queues/order-by-urgency.ts';
import type { Turn } from '../../../functions/poller/planner/queues/turn.ts';
import { createUrgentReadings } from '../../../functions/poller/planner/urgent-readings.ts';
import { aTurn } from './queues/turns.ts';

function setUp(fields: Partial<Turn> = {}) {
  const turn = aTurn('a', { polledAtMs: 10_000, ...fields });
  const order = createOrderByUrgency();
  const readings = createUrgentReadings(new Map([['a', turn]]), order, { pollIntervalMsMin: 5_000 });
  return { turn, order, readings };
}

describe('a request for a reading', () => {
  test('of a project without a turn does nothing', () => {
    const { order, readings } = setUp();
    readings.ask('unknown', 'command');

    expect(order.size).toBe(0);
  });

  test.each(['command', 'hint'] as const)('by a %s may be followed at any time', (urgency) => {
    const { order, readings } = setUp();
    readings.ask('a', urgency);

    expect(order.firstAtMs()).toBe(0);
  });

  test('by a wish is followed once in the poll interval', () => {
    const { order, readings } = setUp();
    readings.ask('a', 'wish');

    expect(order.firstAtMs()).toBe(15_000);
  });

  test.each([
    ['is being read', { isUnderWay: true }],
    ['rests after a failure', { failureCount: 1 }],
  ])('of a project that %s is kept, for its strongest reason', (_what, fields) => {
    const { turn, order, readings } = setUp(fields);
    readings.ask('a', 'hint');
    readings.ask('a', 'wish');

    expect(order.size).toBe(0);
    expect(turn.wanted).toBe('hint');
  });

  test('that was kept is made again, once', () => {
    const { turn, order, readings } = setUp({ wanted: 'command' });
    readings.askAgain(turn);

    expect([order.has(turn), order.firstAtMs(), turn.wanted]).toEqual([true, 0, undefined]);
  });

  test('is not made again when none was kept', () => {
    const { turn, order, readings } = setUp();
    readings.askAgain(turn);

    expect(order.size).toBe(0);
  });

  test('stays as it is when none was kept', () => {
    const { turn, order, readings } = setUp();
    readings.ask('a', 'hint');
    readings.askAgain(turn);

    expect(order.has(turn)).toBe(true);
  });
});
