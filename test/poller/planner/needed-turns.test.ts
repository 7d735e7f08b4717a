import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createNeededTurns } from '../../../functions/poller/planner/needed-turns.ts';
import type { Turn } from '../../../functions/poller/planner/queues/turn.ts';
import { aTurn } from './queues/turns.ts';

/** Every open operation adds one transition, and every running compute another one. */
const intensityOf = ({ activity }: Turn) =>
  (activity?.openSinceMs === undefined ? 0 : 1) + (activity?.activeSinceMs.length ?? 0);

/** Derives the need by a look at every turn. */
function lookedUp(turns: readonly Turn[], sinceMs: number) {
  return {
    hasReadAll: turns.every((turn) => turn.polledAtMs >= sinceMs || turn.failureCount > 0),
    hasWork: turns.some((turn) => turn.isPressing || turn.hasLeftovers),
    expectedTransitionsPerMs: turns.reduce((sum, turn) => sum + intensityOf(turn), 0),
  };
}

const activity = fc.option(
  fc.record({
    openSinceMs: fc.option(fc.constant(1), { nil: undefined }),
    activeSinceMs: fc.array(fc.constant(2), { maxLength: 2 }),
    arrivalCount: fc.constant(0),
    observedMs: fc.constant(1),
  }),
  { nil: undefined },
);
const state = fc.record({
  polledAtMs: fc.integer({ min: 0, max: 5 }),
  failureCount: fc.integer({ min: 0, max: 1 }),
  isPressing: fc.boolean(),
  hasLeftovers: fc.boolean(),
  activity,
});
const step = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  next: fc.option(state, { nil: undefined }),
  sinceMs: fc.integer({ min: 0, max: 5 }),
});

test('the need is that of all turns, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const turns = new Map<string, Turn>();
      const needed = createNeededTurns(turns, intensityOf);
      for (const { id, next, sinceMs } of steps) {
        const turn = turns.get(id) ?? aTurn(id);
        if (next === undefined) {
          turns.delete(id);
          needed.forget(turn);
        } else {
          turns.set(id, Object.assign(turn, next));
          needed.follow(turn);
        }

        expect({ hasReadAll: needed.haveBeenRead(sinceMs), ...needed.work(0) }).toEqual(
          lookedUp([...turns.values()], sinceMs),
        );
      }
    }),
    { numRuns: 300 },
  );
});

const quiet = { openSinceMs: undefined, activeSinceMs: [], arrivalCount: 0, observedMs: 1 };

test('only turns where something is open, runs or waits to be published are looked at, and only for as long', () => {
  const busy = [
    aTurn('open', { activity: { ...quiet, openSinceMs: 1 } }),
    aTurn('running', { activity: { ...quiet, activeSinceMs: [1] } }),
    aTurn('with leftovers', { hasLeftovers: true }),
    aTurn('pressing', { isPressing: true }),
  ];
  const looked: string[] = [];
  const needed = createNeededTurns(new Map(), (turn) => {
    looked.push(turn.id);
    return 0;
  });
  for (const turn of [aTurn('never read'), aTurn('quiet', { activity: quiet }), ...busy]) needed.follow(turn);
  needed.work(0);
  expect(looked).toEqual(['open', 'running', 'with leftovers', 'pressing']);

  for (const turn of busy)
    needed.follow(Object.assign(turn, { activity: quiet, hasLeftovers: false, isPressing: false }));
  needed.work(1);
  expect(looked).toHaveLength(4);
});

test('only the first question for an invocation looks at all turns', () => {
  let lookCount = 0;
  const turns = new (class extends Map<string, Turn> {
    override values() {
      lookCount += 1;
      return super.values();
    }
  })();
  const needed = createNeededTurns(turns, () => 0);
  for (const sinceMs of [5, 5, 5, 6, 6]) needed.haveBeenRead(sinceMs);

  expect(lookCount).toBe(2);
});
