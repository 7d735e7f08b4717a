import { describe, expect, test } from 'vitest';
import { createOrderByUrgency } from '../../../../functions/poller/planner/queues/order-by-urgency.ts';
import { newTurn } from '../../../../functions/poller/planner/queues/turn.ts';

const turns = Array.from({ length: 400 }, (_, place) => newTurn(`p${place}`, 1));

describe('what is urgent', () => {
  test('is asked for once, for its strongest reason, and not before its time', () => {
    const [turn = newTurn('none', 1)] = turns;
    const pressing = createOrderByUrgency();
    pressing.ask(turn, 'wish', 1_000);
    pressing.ask(turn, 'wish', 2_000);
    expect(pressing.firstAtMs()).toBe(1_000);
    expect(pressing.take(999)).toBeUndefined();
    expect(pressing.takeBeyondShares(999)).toBeUndefined();
    pressing.ask(turn, 'command', 0);
    pressing.ask(turn, 'hint', 0);

    expect(pressing.size).toBe(1);
    expect(pressing.take(0)).toBe(turn);
  });

  test('has what it has not used for a hundred permits, so a page of hints is followed in a row', () => {
    const pressing = createOrderByUrgency();
    for (let permit = 0; permit < 1_000; permit++) pressing.earnPermit();
    for (const turn of turns) pressing.ask(turn, 'hint', 0);
    let inARow = 0;
    for (let turn = pressing.take(0); turn !== undefined; turn = pressing.take(0)) {
      pressing.fulfil(turn);
      inARow += 1;
    }

    expect(inARow).toBe(50);
    expect(pressing.takeBeyondShares(0)).toBeDefined();
  });
});
