/** Tests the theorem of reading-deadlines.ts against adversaries that are drawn by seed. */

import { describe, expect, test } from 'vitest';
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
