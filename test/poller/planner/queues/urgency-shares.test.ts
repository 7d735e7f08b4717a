/** Tests the shares of the kinds of urgency over ten thousand permits. */

import { describe, expect, test } from 'vitest';
import { createOrderByUrgency } from '../../../../functions/poller/planner/queues/order-by-urgency.ts';
import { newTurn, type Urgency } from '../../../../functions/poller/planner/queues/turn.ts';

const PERMITS = 10_000;
const turns = Array.from({ length: 400 }, (_, place) => newTurn(place, `p${place}`, 1));

/** Counts how many of the permits each kind of urgency gets when projects of that kind are always waiting. */
function permitsOf(kinds: readonly Urgency[], shares?: Readonly<Record<Urgency, number>>, hintTrust = 0) {
  const pressing = createOrderByUrgency(shares);
  const counts = { command: 0, hint: 0, wish: 0, none: 0 };
  const kindOf = new Map(turns.map((turn, place) => [turn, kinds[place % kinds.length]]));
  for (let permit = 0; permit < PERMITS; permit++) {
    for (const [turn, kind] of kindOf) if (kind !== undefined) pressing.ask(turn, kind, 0);
    pressing.earnPermit(hintTrust);
    const turn = pressing.take(permit);
    counts[(turn && kindOf.get(turn)) ?? 'none'] += 1;
    if (turn !== undefined) pressing.fulfil(turn);
  }
  return counts;
}

describe('what is urgent', () => {
  test.each<[Urgency, number]>([
    ['command', 0.3],
    ['hint', 0.5],
    ['wish', 0.1],
  ])(
    'of the kind %s has at most its share of the permits, and a hundredth more that it had saved',
    (kind, share) => {
      const counts = permitsOf([kind]);

      expect(counts[kind] / PERMITS).toBeGreaterThan(share - 0.001);
      expect(counts[kind] / PERMITS).toBeLessThanOrEqual(share * 1.01 + 0.001);
    },
  );

  test('leaves a tenth to weights when every kind has more than it can use', () => {
    const counts = permitsOf(['command', 'hint', 'wish']);

    expect(counts.none / PERMITS).toBeGreaterThan(0.09);
    expect(counts.wish / PERMITS).toBeGreaterThan(0.09);
  });

  test('leaves to trusted hints what commands and wishes do not use, and a tenth to weights all the same', () => {
    const counts = permitsOf(['hint'], undefined, 1);

    expect(counts.hint / PERMITS).toBeGreaterThan(0.89);
    expect(counts.none / PERMITS).toBeGreaterThan(0.08);
  });

  test('takes no permit from commands and wishes for trusted hints', () => {
    const [usual, trusted] = [0, 1].map((trust) => permitsOf(['command', 'hint', 'wish'], undefined, trust));

    expect(trusted?.command).toBeGreaterThanOrEqual(0.999 * (usual?.command ?? 0));
    expect(trusted?.wish).toBeGreaterThanOrEqual(0.999 * (usual?.wish ?? 0));
    expect((trusted?.none ?? 0) / PERMITS).toBeGreaterThan(0.08);
  });

  test.each([0.2, 0.5])('gives hints of which the share %d is true no more than their own share', (trust) => {
    expect(permitsOf(['hint'], undefined, trust).hint / PERMITS).toBeLessThan(0.51);
  });

  test('can be given other shares', () => {
    const counts = permitsOf(['command', 'hint', 'wish'], { command: 0, hint: 0, wish: 0.02 });

    expect(counts).toMatchObject({ command: 0, hint: 0 });
    expect(counts.wish / PERMITS).toBeLessThan(0.025);
  });
});
