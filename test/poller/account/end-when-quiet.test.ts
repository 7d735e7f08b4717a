import { describe, expect, test } from 'vitest';
import { endWhenQuiet } from '../../../functions/poller/account/watch-for-work.ts';
import type { PollingNeed } from '../../../functions/poller/planner/poll-planner.ts';
import { only } from '../../builders.ts';
import { anInvocation } from './invocation-under-test.ts';

const NOTHING: PollingNeed = { hasReadAll: true, hasWork: false, expectedTransitionsPerMs: 0 };

/**
 * Runs the look of an invocation that lingers for `lingerMs`. `needAt` returns what the planner needs after `count`
 * looks.
 */
function setUp(lingerMs: number | undefined, needAt: (count: number) => PollingNeed = () => NOTHING) {
  const { clock, sleeps, stop, nowMs } = quietly();
  const asked: (readonly [number, number])[] = [];
  const planner = {
    need: (sinceMs: number, atMs: number) => {
      asked.push([sinceMs, atMs]);
      return needAt(sleeps.length);
    },
  };
  const begunAtMs = nowMs();
  const end = (isBusy: () => boolean = () => false) =>
    endWhenQuiet(only({ planner: only(planner), clock, limits: only({ lingerMs }) }), stop, isBusy);
  return { end, sleeps, stop, asked, begunAtMs };
}

function quietly() {
  const { deps, sleeps, stop, nowMs } = anInvocation();
  return { clock: deps.clock, sleeps, stop, nowMs };
}

describe('an invocation in which nothing is expected', () => {
  test('goes on to its end when it must not end early', async () => {
    const { end, sleeps, stop } = setUp(undefined);
    await end();

    expect([sleeps, stop.signal.aborted]).toEqual([[], false]);
  });

  test('ends once it was not needed for the time for which it lingers', async () => {
    const { end, sleeps, stop } = setUp(1_000);
    await end();

    expect(sleeps).toEqual([250, 250, 250, 250]);
    expect(stop.signal.reason).toEqual(new Error('Nothing is expected to happen soon'));
  });

  test('asks the planner since its own beginning', async () => {
    const { end, asked, begunAtMs } = setUp(250);
    await end();

    expect(asked).toEqual([[begunAtMs, begunAtMs + 250]]);
  });

  test('lingers from the last moment at which the planner needed it', async () => {
    const { end, sleeps } = setUp(500, (count) => ({ ...NOTHING, hasWork: count <= 5 }));
    await end();

    expect(sleeps).toHaveLength(7);
  });

  test('goes on while it has other work, and counts from the end of that', async () => {
    const { end, sleeps } = setUp(500);
    await end(() => sleeps.length < 5);

    expect(sleeps).toHaveLength(6);
  });

  test('stops looking when it is stopped', async () => {
    const { end, sleeps, stop } = setUp(1_000);
    stop.abort();
    await end();

    expect(sleeps).toEqual([]);
  });
});
