import { describe, expect, test } from 'vitest';
import { createReadingDeadlines } from '../../../../functions/poller/planner/queues/reading-deadlines.ts';
import { newTurn } from '../../../../functions/poller/planner/queues/turn.ts';

describe('a deadline', () => {
  /** A permit comes every second, so a round of a hundred takes 100 s and the cap is 400 s. */
  const limits = { requestsPerMinute: 60, pollIntervalMsMin: 5_000 };
  const turns = Array.from({ length: 100 }, (_, place) => newTurn(place, `p${place}`, 1));
  const [first = newTurn(0, 'none', 1)] = turns;
  const deadlines = () => createReadingDeadlines(limits, () => turns.length);

  test('names no turn while there is time for all late turns', () => {
    const one = deadlines();
    one.follow(first, 0);
    for (let nowMs = 200_000; nowMs < 398_000; nowMs += 1_000) expect(one.due(nowMs)).toBeUndefined();
    expect(one.due(398_000)).toBe(first);

    const all = deadlines();
    for (const turn of turns) all.follow(turn, 0);
    expect(all.due(199_999)).toBeUndefined();
    expect(all.due(200_000)).toBe(first);
  });

  test('is over once its turn is read, rests or is gone', () => {
    const one = deadlines();
    const read = { ...first, polledAtMs: 0 };
    one.follow(read, 0);
    expect(one.isOverdue(399_999)).toBe(false);
    expect(one.isOverdue(400_000)).toBe(true);
    one.due(399_999);
    expect(one.isOverdue(399_999)).toBe(false);
    expect(one.isOverdue(400_000)).toBe(true);
    one.leave(read);

    expect(one.due(1_000_000)).toBeUndefined();
    expect(one.isOverdue(1_000_000)).toBe(false);
  });

  test('of a newcomer is two rounds away, and an invocation does not end before it was read', () => {
    const one = deadlines();
    one.welcome(first, 0);

    expect(one.due(197_999)).toBeUndefined();
    expect(one.due(198_000)).toBe(first);
    expect(one.isOverdue(0)).toBe(true);
  });

  test('is never nearer than the poll interval', () => {
    const slow = createReadingDeadlines({ ...limits, pollIntervalMsMin: 300_000 }, () => 10);
    slow.follow(first, 0);

    for (let nowMs = 1_000; nowMs < 318_000; nowMs += 1_000) expect(slow.due(nowMs)).toBeUndefined();
    expect(slow.due(318_000)).toBe(first);
  });

  test('of a turn that is read again counts from that reading', () => {
    const one = deadlines();
    one.welcome(first, 0);
    one.follow(first, 100_000);

    expect([one.due(198_000), one.due(299_999)]).toEqual([undefined, undefined]);
  });

  test('of a newcomer that was followed before counts from its welcome', () => {
    const one = deadlines();
    one.follow(first, 0);
    one.welcome(first, 100_000);

    expect([one.due(200_000), one.due(297_999)]).toEqual([undefined, undefined]);
    expect(one.due(298_000)).toBe(first);
  });

  test('of a turn that has left never comes', () => {
    const one = deadlines();
    one.follow(first, 0);
    one.leave(first);

    expect([one.due(1_000_000), one.due(2_000_000)]).toEqual([undefined, undefined]);
  });
});
