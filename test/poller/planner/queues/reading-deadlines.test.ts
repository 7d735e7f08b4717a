/** Tests the theorem of reading-deadlines.ts against adversaries that are drawn by seed. */

import { describe, expect, test } from 'vitest';
import { createReadingDeadlines } from '../../../../functions/poller/planner/queues/reading-deadlines.ts';
import { newTurn } from '../../../../functions/poller/planner/queues/turn.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';
import { type Adversary, drawAdversary, runAgainst } from '../planner-adversary.ts';

const SEEDS = Array.from({ length: 150 }, (_, place) => place + 1);

/** Permits come at whole intervals, so a reading may be late by the one under way and by the one before it. */
const SLACK_PERMITS = 2;

function expectTheorem(adversary: Adversary): void {
  const { waits, permitMs } = runAgainst(adversary);
  for (const wait of waits)
    expect(wait.waitedMs, JSON.stringify(wait)).toBeLessThanOrEqual(wait.boundMs + SLACK_PERMITS * permitMs);
}

describe('whatever happens, a project is read before its bound', () => {
  test.each(SEEDS)('against the adversary of seed %i', (seed) => {
    expectTheorem(drawAdversary(seededRandom(seed), seed));
  });
});

describe('the adversaries together', () => {
  const runs = SEEDS.map((seed) => runAgainst(drawAdversary(seededRandom(seed), seed)));
  const sum = (of: (run: (typeof runs)[number]) => number) => runs.reduce((total, run) => total + of(run), 0);

  test('bring everything that is urgent, and failures, additions and removals', () => {
    const kinds = ['command', 'hint', 'wish', 'failure', 'leftover', 'added', 'removed', 'listed'] as const;
    for (const kind of kinds)
      expect(
        sum(({ counts }) => counts[kind]),
        kind,
      ).toBeGreaterThan(1_000);
  });

  test('come near the bound, so that a planner that were later would be found out', () => {
    const tightest = (isFirst: boolean) =>
      runs
        .flatMap(({ waits }) => waits.filter((wait) => wait.isFirst === isFirst))
        .reduce((most, { waitedMs, boundMs }) => Math.max(most, waitedMs / boundMs), 0);

    expect(tightest(true)).toBeGreaterThan(0.8);
    expect(tightest(false)).toBeGreaterThan(0.8);
  });
});

describe('a deadline', () => {
  /** At a permit a second, a round of a hundred takes 100 s and the cap is 400 s. */
  const limits = { requestsPerMinute: 60, pollIntervalMsMin: 5_000 };
  const turns = Array.from({ length: 100 }, (_, place) => newTurn(`p${place}`, 1));
  const [first = newTurn('none', 1)] = turns;
  const deadlines = () => createReadingDeadlines(limits, () => turns.length);

  test('disturbs no other turn while there is time for all that are late', () => {
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
});
