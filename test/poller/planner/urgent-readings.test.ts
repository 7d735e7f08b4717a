import { describe, expect, test } from 'vitest';
import { createOrderByUrgency } from '../../../functions/poller/planner/queues/order-by-urgency.ts';
import type { Turn } from '../../../functions/poller/planner/queues/turn.ts';
import { createUrgentReadings } from '../../../functions/poller/planner/urgent-readings.ts';
import { aTurn } from './queues/turns.ts';

function setUp(fields: Partial<Turn> = {}) {
  const turn = aTurn('a', { polledAtMs: 10_000, ...fields });
  const order = createOrderByUrgency();
  const turns = new Map([['a', turn]]);
  const readings = createUrgentReadings(turns, order, { pollIntervalMsMin: 5_000 });
  return { turn, turns, order, readings };
}

describe('a request for a reading', () => {
  test.each(['command', 'wish'] as const)('by a %s waits until the project has a turn', (urgency) => {
    const { turns, order, readings } = setUp();
    const late = aTurn('late');
    readings.ask('late', urgency);
    expect(order.size).toBe(0);

    turns.set('late', late);
    readings.welcome(['another', 'late']);
    expect([order.size, order.has(late)]).toEqual([1, true]);

    order.fulfil(late);
    readings.welcome(['late']);
    expect(order.size).toBe(0);
  });

  test('stays as it is when its project is welcomed again together with others that were waited for', () => {
    const { turn, turns, order, readings } = setUp();
    readings.ask('a', 'command');
    readings.ask('late', 'command');
    turns.set('late', aTurn('late'));
    readings.welcome(['a', 'late']);

    expect([order.size, order.has(turn)]).toEqual([2, true]);
  });

  test('by a command goes before a wish, also when both have waited for the turn', () => {
    const { turns, order, readings } = setUp();
    readings.ask('late', 'command');
    readings.ask('late', 'wish');
    turns.set('late', aTurn('late', { polledAtMs: 10_000 }));
    readings.welcome(['late']);

    expect(order.firstAtMs()).toBe(0);
  });

  test('by a hint does not wait, because the list shows the project again', () => {
    const { turns, order, readings } = setUp();
    readings.ask('late', 'hint');
    turns.set('late', aTurn('late'));
    readings.welcome(['late']);

    expect(order.size).toBe(0);
  });

  test('of a project without a turn is kept for a thousand projects', () => {
    const { turns, order, readings } = setUp();
    const ids = Array.from({ length: 1_001 }, (_, place) => `p${place}`);
    for (const id of ids) readings.ask(id, 'wish');
    for (const id of ids) turns.set(id, aTurn(id));
    readings.welcome(ids);

    expect(order.size).toBe(1_000);
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
