import { describe, expect, test } from 'vitest';
import {
  backoffMs,
  endReading,
  restAfterFailure,
  resumeWaiting,
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

describe('a reading that was cut short before anything was read', () => {
  test('leaves its turn as it was: nothing is under way, and neither a reading nor a success is noted', () => {
    const turn = aTurn('a', { isUnderWay: true, isPressing: true, polledAtMs: 7, failureCount: 3 });
    resumeWaiting(queuesOf(), turn);

    expect(turn).toMatchObject({ isUnderWay: false, isPressing: false, polledAtMs: 7, failureCount: 3 });
  });

  test('puts its turn before all that wait by their weight', () => {
    const queues = queuesOf();
    const [cut, other] = [aTurn('cut', { stride: 900 }), aTurn('other', { stride: 1 })];
    queues.byWeight.assign(other, other.stride);
    queues.byWeight.join(other);
    resumeWaiting(queues, cut);

    expect(queues.byWeight.take()).toBe(cut);
  });

  test.each([
    ['was never read is late at once', Number.NEGATIVE_INFINITY, 0, true],
    ['was read before is late once its cap since then has passed', 0, 58_000, true],
    ['was read lately has its whole cap', 0, 57_999, false],
  ])('keeps its deadline: a turn that %s', (_name, polledAtMs, nowMs, isLate) => {
    const queues = queuesOf();
    const turn = aTurn('a', { polledAtMs });
    resumeWaiting(queues, turn);

    expect(queues.deadlines.due(nowMs)).toBe(isLate ? turn : undefined);
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
