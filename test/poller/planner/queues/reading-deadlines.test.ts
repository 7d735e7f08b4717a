import { describe, expect, test } from 'vitest';
import { createReadingDeadlines } from '../../../../functions/poller/planner/queues/reading-deadlines.ts';
import { newTurn, type Turn } from '../../../../functions/poller/planner/queues/turn.ts';

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

  test('makes a turn late two rounds before it, and says after how long that is', () => {
    expect(deadlines().lateAfterMs()).toBe(200_000);
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

describe('where the project list shows what happens, a deadline', () => {
  /** A permit comes every second, so a round of a hundred takes 100 s. */
  const limits = { requestsPerMinute: 60, pollIntervalMsMin: 5_000 };
  const ROUND_MS = 100_000;
  const quiet = { arrivalCount: 0, observedMs: 0, activeSinceMs: [], openSinceMs: undefined };
  const aProject = (fields: Partial<Turn> = {}) => Object.assign(newTurn(0, 'a', 1), fields);
  /** It has shown every transition, the last one just now, and nothing that is urgent. */
  const aList = {
    recall: () => 1,
    shownAtMs: () => Number.POSITIVE_INFINITY,
    expectedPerMs: () => 1,
    urgentShare: () => 0,
  };
  /** Returns after how many rounds the turn is read at the latest, when it waits alone. */
  const roundsOf = (turn: Turn, recall: number, urgentShare = 0) => {
    let nowMs = 0;
    const deadlines = createReadingDeadlines(limits, () => 100, {
      ...aList,
      recall: () => recall,
      shownAtMs: () => nowMs,
      urgentShare: () => urgentShare,
    });
    deadlines.follow(turn, 0);
    while (deadlines.due(nowMs) === undefined) nowMs += 1_000;
    return (nowMs + 2_000) / ROUND_MS;
  };

  test.each([
    [0.5, 4],
    [0.99, 4],
    [0.9975, 8],
    [0.999_375, 16],
    [0.999_99, 16],
    [1, 16],
  ])('at an expected share of %d is %d rounds away', (recall, rounds) => {
    expect(roundsOf(aProject({ activity: quiet }), recall)).toBeCloseTo(rounds, 1);
  });

  test.each([
    [0, 16],
    [0.5, 28],
    [0.75, 52],
    [0.9, 52],
    [1, 52],
  ])(
    'is counted in the permits that urgent projects leave beyond four rounds: at a share of %d it is %d rounds away',
    (share, rounds) => {
      expect(roundsOf(aProject({ activity: quiet }), 1, share)).toBeCloseTo(rounds, 1);
    },
  );

  test.each([
    [0.5, 4],
    [0.99, 4],
    [0.9975, 12],
  ])(
    'at an expected share of %d is %d rounds away while urgent projects take half of the permits',
    (recall, rounds) => {
      expect(roundsOf(aProject({ activity: quiet }), recall, 0.5)).toBeCloseTo(rounds, 1);
    },
  );

  test('of a project that was not read by this process is as far away', () => {
    expect(roundsOf(aProject(), 1)).toBe(16);
  });

  test('stays four rounds away for an open operation, a page of the list, and a project that has failed', () => {
    const others = [
      aProject({ activity: { ...quiet, openSinceMs: 0 } }),
      Object.assign(newTurn(0, 'a page', 1, 0)),
      aProject({ failureCount: 1 }),
    ];

    expect(others.map((turn) => roundsOf(turn, 1))).toEqual([4, 4, 4]);
  });

  test('comes back to two rounds from now when the list has missed something', () => {
    let recall = 1;
    const deadlines = createReadingDeadlines(limits, () => 100, { ...aList, recall: () => recall });
    const project = aProject();
    deadlines.follow(project, 0);
    expect(deadlines.due(10 * ROUND_MS)).toBeUndefined();
    recall = 0.9;
    expect(deadlines.due(10 * ROUND_MS)).toBeUndefined();

    expect(deadlines.due(12 * ROUND_MS - 2_001)).toBeUndefined();
    expect(deadlines.due(12 * ROUND_MS - 2_000)).toBe(project);
  });

  test('comes back to two rounds from now when the list has shown nothing for four rounds', () => {
    const shownAtMs = 6 * ROUND_MS;
    const deadlines = createReadingDeadlines(limits, () => 100, { ...aList, shownAtMs: () => shownAtMs });
    const project = aProject();
    deadlines.follow(project, 0);
    expect([deadlines.due(10 * ROUND_MS), deadlines.due(10 * ROUND_MS + 1)]).toEqual([undefined, undefined]);

    expect(deadlines.due(12 * ROUND_MS - 2_000)).toBeUndefined();
    expect(deadlines.due(12 * ROUND_MS - 1_999)).toBe(project);
  });

  test('stays sixteen rounds away while a silence of four rounds is chance, because hardly anything happens', () => {
    const dueAtMs = (expectedPerMs: number) => {
      const list = { ...aList, shownAtMs: () => 0, expectedPerMs: () => expectedPerMs };
      const deadlines = createReadingDeadlines(limits, () => 100, list);
      deadlines.follow(aProject(), 0);
      for (let nowMs = 0; ; nowMs += 1_000) if (deadlines.due(nowMs) !== undefined) return nowMs + 2_000;
    };
    const transitionsInRounds = (count: number, rounds: number) => count / (rounds * ROUND_MS);

    expect(dueAtMs(transitionsInRounds(20, 3)) / ROUND_MS).toBeCloseTo(6, 1);
    expect(dueAtMs(transitionsInRounds(20, 8)) / ROUND_MS).toBeCloseTo(10, 1);
    expect(dueAtMs(transitionsInRounds(20, 100))).toBe(16 * ROUND_MS);
    expect(dueAtMs(0)).toBe(16 * ROUND_MS);
  });

  test('is over after its own cap, whether the turn is late yet or not', () => {
    const deadlines = createReadingDeadlines(limits, () => 100, aList);
    deadlines.follow(aProject({ polledAtMs: 0 }), 0);
    expect([4, 15.99, 16].map((rounds) => deadlines.isOverdue(rounds * ROUND_MS))).toEqual([
      false,
      false,
      true,
    ]);
    deadlines.due(15 * ROUND_MS);
    expect([15.99, 16].map((rounds) => deadlines.isOverdue(rounds * ROUND_MS))).toEqual([false, true]);

    const open = aProject({ activity: { ...quiet, openSinceMs: 0 }, slot: 1 });
    deadlines.follow(open, 12 * ROUND_MS);
    deadlines.leave(aProject());
    expect(deadlines.isOverdue(16 * ROUND_MS)).toBe(true);
  });

  test('of a turn that has left never comes', () => {
    const deadlines = createReadingDeadlines(limits, () => 100, aList);
    const project = aProject();
    deadlines.follow(project, 0);
    deadlines.leave(project);

    expect([deadlines.due(100 * ROUND_MS), deadlines.due(200 * ROUND_MS)]).toEqual([undefined, undefined]);
  });
});
