import { describe, expect, test } from 'vitest';
import {
  backoffMs,
  endReading,
  restAfterFailure,
} from '../../../../functions/poller/planner/queues/end-reading.ts';
import { createTurnQueues } from '../../../../functions/poller/planner/queues/turn-queues.ts';
import { aTurn } from './turns.ts';

const NOW_MS = 50_000;
const queuesOf = () => createTurnQueues({ requestsPerMinute: 60, pollIntervalMsMin: 5_000 }, () => 1);

describe('the end of a reading', () => {
  test('is noted in the turn: when it was, and that nothing is under way or pressing any more', () => {
    const turn = aTurn('a', { isUnderWay: true, isPressing: true, failureCount: 3 });
    endReading(queuesOf(), turn, { hasFailed: false, nowMs: NOW_MS });

    expect(turn).toMatchObject({ isUnderWay: false, isPressing: false, polledAtMs: NOW_MS, failureCount: 0 });
  });

  test('counts consecutive failures', () => {
    const turn = aTurn('a');
    endReading(queuesOf(), turn, { hasFailed: true, nowMs: NOW_MS });
    endReading(queuesOf(), turn, { hasFailed: true, nowMs: NOW_MS });

    expect(turn.failureCount).toBe(2);
  });

  test('takes a turn out that still waited by its weight or rested', () => {
    const queues = queuesOf();
    const [waiting, resting] = [aTurn('waiting'), aTurn('resting')];
    queues.byWeight.join(waiting);
    queues.rests.set(resting, NOW_MS);
    for (const turn of [waiting, resting]) endReading(queues, turn, { hasFailed: false, nowMs: NOW_MS });

    expect([queues.byWeight.take(), queues.rests.size]).toEqual([undefined, 0]);
  });
});

describe('after a failure', () => {
  test('a turn rests and asks for nothing else', () => {
    const queues = queuesOf();
    const turn = aTurn('a');
    queues.byUrgency.ask(turn, 'hint', 0);
    queues.deadlines.welcome(turn, 0);
    restAfterFailure(queues, turn, NOW_MS);

    expect(queues.rests.first()).toMatchObject({ item: turn, priority: NOW_MS });
    expect(queues.byUrgency.has(turn)).toBe(false);
    expect(queues.deadlines.due(10_000_000)).toBeUndefined();
  });

  test('a project keeps its share: it comes a stride later', () => {
    const turn = aTurn('a', { stride: 17 });
    restAfterFailure(queuesOf(), turn, NOW_MS);

    expect(turn.finish).toBe(17);
  });

  test('a page has no weight, so its place does not change', () => {
    const turn = aTurn('page', { page: 0, stride: 17, finish: 3 });
    restAfterFailure(queuesOf(), turn, NOW_MS);

    expect(turn.finish).toBe(3);
  });
});

test('a back-off begins with five seconds or the poll interval, doubles, and has an upper limit', () => {
  const limits = { pollIntervalMsMin: 1_000, failureBackoffMsMax: 60_000 };

  expect([1, 2, 3, 4, 5].map((count) => backoffMs(limits, count))).toEqual([
    5_000, 10_000, 20_000, 40_000, 60_000,
  ]);
  expect(backoffMs({ ...limits, pollIntervalMsMin: 9_000 }, 1)).toBe(9_000);
});
