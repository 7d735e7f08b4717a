import { describe, expect, test } from 'vitest';
import {
  createOrderByUrgency,
  strongerOf,
} from '../../../../functions/poller/planner/queues/order-by-urgency.ts';
import type { Turn, Urgency } from '../../../../functions/poller/planner/queues/turn.ts';
import { aTurn } from './turns.ts';

const turns = Array.from({ length: 400 }, (_, place) => aTurn(`p${place}`));

/** Takes every turn that may be read now. */
function takeAll(order: ReturnType<typeof createOrderByUrgency>, nowMs = 0): readonly Turn[] {
  const taken: Turn[] = [];
  for (let turn = order.take(nowMs); turn !== undefined; turn = order.take(nowMs)) {
    order.fulfil(turn);
    taken.push(turn);
  }
  return taken;
}

describe('what is urgent', () => {
  test('is asked for once, for its strongest reason, and not before its time', () => {
    const turn = aTurn('a');
    const order = createOrderByUrgency();
    order.ask(turn, 'wish', 1_000);
    order.ask(turn, 'wish', 2_000);
    expect(order.firstAtMs()).toBe(1_000);
    expect(order.take(999)).toBeUndefined();
    expect(order.takeBeyondShares(999)).toBeUndefined();
    expect(order.takeBeyondShares(1_000)).toBe(turn);
    order.ask(turn, 'command', 0);
    order.ask(turn, 'hint', 0);

    expect(order.size).toBe(1);
    expect(order.take(0)).toBe(turn);
  });

  test.each<[Urgency, number]>([
    ['command', 30],
    ['hint', 50],
    ['wish', 10],
  ])('of the kind %s has its share of a hundred permits saved at first: %i', (urgency, count) => {
    const order = createOrderByUrgency();
    for (const turn of turns) order.ask(turn, urgency, 0);

    expect(takeAll(order)).toHaveLength(count);
    expect(order.take(0)).toBeUndefined();
    expect(order.takeBeyondShares(0)).toBeDefined();
  });

  test('saves its share of at most a hundred permits, so that the projects of one page are read in a row', () => {
    const order = createOrderByUrgency();
    for (let permit = 0; permit < 1_000; permit++) order.earnPermit(0);
    for (const turn of turns) order.ask(turn, 'hint', 0);

    expect(takeAll(order)).toHaveLength(50);
  });

  test('earns its share of each permit', () => {
    const order = createOrderByUrgency({ command: 0, hint: 0.5, wish: 0 });
    for (const turn of turns) order.ask(turn, 'hint', 0);
    takeAll(order);
    order.earnPermit(0);
    expect(order.take(0)).toBeUndefined();
    order.earnPermit(0);

    expect(takeAll(order)).toHaveLength(1);
  });

  test('comes in the order command, hint, wish', () => {
    const order = createOrderByUrgency();
    const [wished, hinted, commanded] = [aTurn('wished'), aTurn('hinted'), aTurn('commanded')];
    order.ask(wished, 'wish', 0);
    order.ask(hinted, 'hint', 0);
    order.ask(commanded, 'command', 0);

    expect(order.takeBeyondShares(0)).toBe(commanded);
    expect(takeAll(order)).toEqual([commanded, hinted, wished]);
  });

  test('of a weaker kind is taken while the stronger kind waits for its time or has used its share', () => {
    const order = createOrderByUrgency({ command: 0, hint: 1, wish: 0.1 });
    const [commanded, early, wished] = [aTurn('commanded'), aTurn('early'), aTurn('wished')];
    order.ask(commanded, 'command', 0);
    order.ask(early, 'hint', 5_000);
    order.ask(wished, 'wish', 0);

    expect(order.take(0)).toBe(wished);
  });

  test('of a weaker kind is taken within its share, although commands keep asking and have saved many permits', () => {
    const order = createOrderByUrgency();
    const wishes = turns.slice(0, 3);
    for (const wished of wishes) order.ask(wished, 'wish', 0);
    const served: number[] = [];
    for (let permit = 0; permit < 30; permit++) {
      for (const commanded of turns.slice(100)) order.ask(commanded, 'command', 0);
      order.earnPermit(0);
      const turn = order.take(0);
      if (turn !== undefined) order.fulfil(turn);
      if (turn !== undefined && wishes.includes(turn)) served.push(permit);
    }

    expect(served).toHaveLength(3);
  });

  test('is no more once it is fulfilled', () => {
    const order = createOrderByUrgency();
    const turn = aTurn('a');
    order.ask(turn, 'hint', 7);
    expect([order.has(turn), order.size, order.firstAtMs()]).toEqual([true, 1, 7]);
    order.fulfil(turn);

    expect([order.has(turn), order.size, order.firstAtMs()]).toEqual([false, 0, Number.POSITIVE_INFINITY]);
  });

  test('counts turns of every kind', () => {
    const order = createOrderByUrgency();
    order.ask(aTurn('a'), 'wish', 3);
    order.ask(aTurn('b'), 'command', 9);

    expect([order.size, order.firstAtMs()]).toEqual([2, 3]);
  });

  test('that becomes stronger waits for the time of the stronger request', () => {
    const order = createOrderByUrgency();
    const turn = aTurn('a');
    order.ask(turn, 'wish', 9_000);
    order.ask(turn, 'hint', 0);

    expect(order.firstAtMs()).toBe(0);
    order.ask(turn, 'wish', 9_000);
    expect([order.size, order.firstAtMs()]).toEqual([1, 0]);
  });
});

describe('hints that have proved true', () => {
  /** Half of the permits belong to commands and wishes, and none to hints: a hint gets only what it is trusted with. */
  const setUp = (hintCount: number) => {
    const order = createOrderByUrgency({ command: 0.25, hint: 0, wish: 0.25 });
    for (const turn of turns.slice(0, hintCount)) order.ask(turn, 'hint', 0);
    return order;
  };
  const earn = (order: ReturnType<typeof setUp>, hintTrust: number, permitCount: number) => {
    for (let permit = 0; permit < permitCount; permit++) order.earnPermit(hintTrust);
  };

  test('use what commands and wishes leave, as far as they are trusted', () => {
    const order = setUp(9);
    expect(order.take(0)).toBeUndefined();
    earn(order, 1, 1);
    expect(order.take(0)).toBeUndefined();
    earn(order, 1, 1);

    expect(takeAll(order)).toEqual([turns[0]]);
    earn(order, 0.5, 12);
    expect(takeAll(order)).toEqual(turns.slice(1, 4));
  });

  test('are trusted with at most a hundred permits at once', () => {
    const order = setUp(400);
    earn(order, 1, 1_000);

    expect(takeAll(order)).toHaveLength(100);
  });

  test('still wait for their time', () => {
    const order = setUp(0);
    const turn = aTurn('a');
    order.ask(turn, 'hint', 1_000);
    earn(order, 1, 2);

    expect([order.take(999), order.take(1_000)]).toEqual([undefined, turn]);
  });

  test('get no permit that a command has used, and owe none for it', () => {
    const order = setUp(1);
    const commands = turns.slice(1, 4);
    for (const commanded of commands) order.ask(commanded, 'command', 0);
    earn(order, 1, 2);

    expect(takeAll(order)).toEqual(commands);
    earn(order, 1, 2);
    expect(takeAll(order)).toEqual([turns[0]]);
  });
});

describe('the share of the permits that urgent turns used', () => {
  test('is that of the last thousand, also beyond their own shares', () => {
    const order = createOrderByUrgency();
    for (const turn of turns) order.ask(turn, 'hint', 0);
    expect(order.usedShare()).toBe(0);
    for (let permit = 0; permit < 10_000; permit++) {
      order.earnPermit(0);
      if (permit % 2 === 0) order.takeBeyondShares(0);
    }

    expect(order.usedShare()).toBeCloseTo(0.5, 2);
    for (let permit = 0; permit < 1_000; permit++) order.earnPermit(0);
    expect(order.usedShare()).toBeCloseTo(0.5 * Math.exp(-1), 2);
  });

  test('counts those that are taken within their shares', () => {
    const order = createOrderByUrgency();
    order.ask(aTurn('a'), 'command', 0);
    order.take(0);

    expect(order.usedShare()).toBe(0.001);
  });

  test('does not count a permit that nothing urgent wanted', () => {
    const order = createOrderByUrgency();
    order.earnPermit(1);
    order.take(0);
    order.takeBeyondShares(0);

    expect(order.usedShare()).toBe(0);
  });
});

test.each<[Urgency | undefined, Urgency, Urgency]>([
  [undefined, 'wish', 'wish'],
  ['wish', 'command', 'command'],
  ['command', 'wish', 'command'],
  ['command', 'hint', 'command'],
  ['hint', 'wish', 'hint'],
  ['wish', 'hint', 'hint'],
  ['hint', 'hint', 'hint'],
])('of %s and %s the stronger one is %s', (first, second, stronger) => {
  expect(strongerOf(first, second)).toBe(stronger);
});
