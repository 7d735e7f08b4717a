import { describe, expect, test } from 'vitest';
import { newTurn } from '../../../../functions/poller/planner/queues/turn.ts';
import {
  createTurnQueues,
  joinByWeight,
  joinFirst,
  leaveQueues,
  wakeRested,
} from '../../../../functions/poller/planner/queues/turn-queues.ts';
import { aTurn } from './turns.ts';

/**
 * A permit comes every second and there are ten turns, so a round takes 10 s, and a turn is late 40 s after its last
 * reading.
 */
const queuesOf = () => createTurnQueues({ requestsPerMinute: 60, pollIntervalMsMin: 5_000 }, () => 10);

describe('the queues', () => {
  test('forget a turn at every place', () => {
    const queues = queuesOf();
    const turn = aTurn('a');
    queues.byWeight.join(turn);
    queues.rests.set(turn, 0);
    queues.byUrgency.ask(turn, 'wish', 0);
    queues.deadlines.welcome(turn, 0);
    leaveQueues(queues, turn);

    expect(queues.byWeight.take()).toBeUndefined();
    expect([queues.rests.size, queues.byUrgency.size]).toEqual([0, 0]);
    expect(queues.deadlines.due(1_000_000)).toBeUndefined();
  });

  test('place a turn before those whose time is still to come', () => {
    const queues = queuesOf();
    const [first, waiting] = [aTurn('first', { finish: 99 }), aTurn('waiting', { finish: 1 })];
    queues.byWeight.join(waiting);
    joinFirst(queues, first);

    expect(queues.byWeight.take()).toBe(first);
  });

  test('spread a turn over its stride the first time, and let it come a stride later from then on', () => {
    const queues = queuesOf();
    const turns = [aTurn('a', { stride: 8 }), aTurn('b', { stride: 8 })];
    for (const turn of turns) joinByWeight(queues, turn);
    expect(turns.map(({ finish }) => finish)).toEqual([0, expect.closeTo(4.94, 1)]);
    queues.byWeight.take();
    const [turn = aTurn('none')] = turns;
    joinByWeight(queues, turn);

    expect(turn.finish).toBe(8);
    expect([queues.byWeight.take(), queues.byWeight.take()]).toEqual([turns[1], turn]);
  });

  test('use the shares of urgency that the limits name', () => {
    const limits = { requestsPerMinute: 60, pollIntervalMsMin: 0 };
    const queues = createTurnQueues({ ...limits, urgencyShares: { command: 0, hint: 0, wish: 0 } }, () => 1);
    queues.byUrgency.ask(aTurn('a'), 'command', 0);

    expect(queues.byUrgency.take(0)).toBeUndefined();
  });
});

describe('a turn whose rest is over', () => {
  test('waits by its weight again, and others rest on', () => {
    const queues = queuesOf();
    const [awake, asleep] = [aTurn('awake', { finish: 4 }), aTurn('asleep')];
    queues.rests.set(awake, 1_000);
    queues.rests.set(asleep, 1_001);
    wakeRested(queues, 1_000);

    expect(queues.byWeight.take()).toBe(awake);
    expect(awake.finish).toBe(4);
    expect(queues.byWeight.take()).toBeUndefined();
    expect(queues.rests.size).toBe(1);
  });

  test('comes at its own time when it is a page that is late, before all projects that come now', () => {
    const queues = queuesOf();
    const [read, project] = [aTurn('read', { finish: 9 }), aTurn('project')];
    const page = aTurn('page', { page: 2, finish: 4 });
    queues.byWeight.join(read);
    queues.byWeight.take();
    queues.byWeight.assign(project, 0);
    queues.byWeight.join(project);
    queues.rests.set(page, 0);
    wakeRested(queues, 0);

    expect(page.finish).toBe(4);
    expect(queues.byWeight.take()).toBe(page);
  });

  test('comes first when it is a page of the project list', () => {
    const queues = queuesOf();
    const page = aTurn('page', { page: 2, finish: 99 });
    const project = aTurn('project', { finish: 1 });
    queues.byWeight.join(project);
    queues.rests.set(page, 0);
    wakeRested(queues, 0);

    expect(page.finish).toBe(0);
    expect(queues.byWeight.take()).toBe(page);
  });

  test('has two rounds for its deadline after a failure, however long ago it was read', () => {
    const queues = queuesOf();
    const turn = aTurn('a', { failureCount: 1, polledAtMs: 0 });
    queues.rests.set(turn, 1_000_000);
    wakeRested(queues, 1_000_000);

    expect(queues.deadlines.due(1_000_000)).toBeUndefined();
    expect(queues.deadlines.due(1_017_999)).toBeUndefined();
    expect(queues.deadlines.due(1_018_000)).toBe(turn);
  });

  test('keeps the deadline of its last reading when that is later', () => {
    const queues = queuesOf();
    const turn = aTurn('a', { failureCount: 1, polledAtMs: 990_000 });
    queues.rests.set(turn, 1_000_000);
    wakeRested(queues, 1_000_000);

    for (const nowMs of [1_000_000, 1_029_999, 1_030_000, 1_047_999])
      expect(queues.deadlines.due(nowMs)).toBeUndefined();
    expect(queues.deadlines.due(1_048_000)).toBe(turn);
  });

  test('gets no deadline when it had not failed, since it has kept the one that it had', () => {
    const queues = queuesOf();
    const turn = aTurn('a', { polledAtMs: 0 });
    queues.rests.set(turn, 0);
    wakeRested(queues, 0);

    expect([queues.deadlines.due(1_000_000), queues.deadlines.due(2_000_000)]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

test('a new turn comes the oftener the more is expected of it, by the square root', () => {
  expect([newTurn(0, 'a', 1).stride, newTurn(1, 'b', 16).stride]).toEqual([1, 0.25]);
  expect(newTurn(0, 'a', 1, 3)).toMatchObject({
    id: 'a',
    page: 3,
    cold: 1,
    isUnderWay: false,
    failureCount: 0,
  });
  expect(newTurn(0, 'a', 1)).toMatchObject({
    isPressing: false,
    isSpread: false,
    hasLeftovers: false,
    finish: 0,
  });
  expect(newTurn(0, 'a', 1).polledAtMs).toBe(Number.NEGATIVE_INFINITY);
});
