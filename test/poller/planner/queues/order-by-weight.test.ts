import { describe, expect, test } from 'vitest';
import { createOrderByWeight } from '../../../../functions/poller/planner/queues/order-by-weight.ts';
import { aTurn } from './turns.ts';

describe('the order by weight', () => {
  test('is empty until a turn joins', () => {
    const order = createOrderByWeight();
    order.assign(aTurn('a'), 1);

    expect(order.take()).toBeUndefined();
  });

  test('gives out the turn with the smallest virtual finish first, and each once', () => {
    const order = createOrderByWeight();
    const [near, far] = [aTurn('near'), aTurn('far')];
    order.assign(far, 5);
    order.assign(near, 2);
    order.join(far);
    order.join(near);

    expect([order.take(), order.take(), order.take()]).toEqual([near, far, undefined]);
  });

  test('counts a delay from the virtual time of the turn that was taken last', () => {
    const order = createOrderByWeight();
    const [first, waiting, next] = [aTurn('first'), aTurn('waiting'), aTurn('next')];
    order.assign(first, 10);
    order.join(first);
    order.take();
    order.assign(waiting, 3);
    order.assign(next, 0);

    expect([waiting.finish, next.finish]).toEqual([13, 10]);
    expect(order.virtualTime()).toBe(10);
  });

  test('never counts virtual time back, when a turn is taken that is behind it', () => {
    const order = createOrderByWeight();
    const [ahead, behind, next] = [aTurn('ahead'), aTurn('behind', { finish: 2 }), aTurn('next')];
    order.assign(ahead, 10);
    order.join(ahead);
    order.take();
    order.join(behind);
    order.take();
    order.assign(next, 0);

    expect(next.finish).toBe(10);
  });

  test('spreads turns that begin together over their stride, and marks them', () => {
    const order = createOrderByWeight();
    const turns = Array.from({ length: 100 }, (_, place) => aTurn(`p${place}`, { stride: 50 }));
    for (const turn of turns) order.spread(turn);
    const finishes = turns.map(({ finish }) => finish).toSorted((a, b) => a - b);
    const gaps = finishes.slice(1).map((finish, place) => finish - (finishes[place] ?? 0));

    expect(turns.every(({ isSpread }) => isSpread)).toBe(true);
    expect(turns[0]?.finish).toBe(0);
    expect(turns[1]?.finish).toBeCloseTo(30.9, 1);
    expect(finishes.at(-1)).toBeLessThan(50);
    expect(Math.min(...gaps)).toBeGreaterThan(0.1);
    expect(Math.max(...gaps)).toBeLessThan(1);
  });

  test('lets a turn come again one stride after its reading began, however long the reading took', () => {
    const order = createOrderByWeight();
    const [page, other] = [aTurn('page', { stride: 8 }), aTurn('other', { finish: 5 })];
    order.begin(page);
    order.join(other);
    order.take();
    order.comeAgain(page);
    expect(page.finish).toBe(8);
    order.begin(page);
    order.comeAgain(page);

    expect(page.finish).toBe(13);
  });

  test('lets a turn that is late come before all that come now', () => {
    const order = createOrderByWeight();
    const [first, now, late] = [aTurn('first', { finish: 9 }), aTurn('now'), aTurn('late', { stride: 3 })];
    order.begin(late);
    order.join(first);
    order.take();
    order.assign(now, 0);
    order.join(now);
    order.comeAgain(late);
    order.join(late);

    expect([order.take(), order.take()]).toEqual([late, now]);
    expect(order.virtualTime()).toBe(9);
  });

  test('scales the wait that is left', () => {
    const order = createOrderByWeight();
    const [first, waiting] = [aTurn('first'), aTurn('waiting')];
    order.assign(first, 10);
    order.assign(waiting, 30);
    order.join(first);
    order.join(waiting);
    order.take();
    order.scale(waiting, 0.25);

    expect(waiting.finish).toBe(15);
    const between = aTurn('between', { finish: 16 });
    order.join(between);
    expect(order.take()).toBe(waiting);
  });

  test('scales the wait of a turn that is overdue to nothing, and not to less', () => {
    const order = createOrderByWeight();
    const [first, overdue] = [aTurn('first'), aTurn('overdue', { finish: 4 })];
    order.assign(first, 10);
    order.join(first);
    order.take();
    order.join(overdue);
    order.scale(overdue, 0.5);

    expect(overdue.finish).toBe(10);
  });

  test('leaves a turn alone that does not wait here', () => {
    const order = createOrderByWeight();
    const elsewhere = aTurn('elsewhere', { finish: 8 });
    order.scale(elsewhere, 0.5);

    expect(elsewhere.finish).toBe(8);
    expect(order.take()).toBeUndefined();
  });

  test('forgets a turn that leaves', () => {
    const order = createOrderByWeight();
    const turn = aTurn('a');
    order.join(turn);
    order.leave(turn);

    expect(order.take()).toBeUndefined();
  });
});

test('the first turn that waits is known before it is taken', () => {
  const order = createOrderByWeight();
  expect(order.first()).toBeUndefined();
  const turn = aTurn('a', { finish: 3 });
  order.join(turn);

  expect([order.first(), order.take(), order.first()]).toEqual([turn, turn, undefined]);
});

test('a turn comes before those that are being read if its time is not after one stride from their beginnings', () => {
  const order = createOrderByWeight();
  order.join(aTurn('earlier', { finish: 5 }));
  order.take();
  const read = aTurn('read', { stride: 2 });
  order.begin(read);
  const areAhead = () => [6, 7, 8].map((finish) => order.isAheadOfReadings(aTurn('waiting', { finish })));

  expect(areAhead()).toEqual([true, true, false]);
  order.leave(read);
  expect(areAhead()).toEqual([true, true, true]);
});
