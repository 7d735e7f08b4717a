/** Tests the poller's own part of a limit that others spend, too. */

import { describe, expect, test } from 'vitest';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { NOON_MS } from '../builders.ts';
import { fastClock } from './scripted-upstream.ts';

/**
 * Makes a budget whose whole limit others use up all the time: requests leave only out of the own part of ten a
 * minute.
 */
function crowdedOut() {
  const { clock } = fastClock();
  const budget = createRequestBudget({ clock, requestsPerMinute: 60, ownRequestsPerMinute: 10, burst: 1 });
  const take = async () => {
    budget.charge(1_000);
    await budget.take();
    return clock.now() - NOON_MS;
  };
  return { budget, clock, take };
}

describe('the own part of a limit that others have used up', () => {
  test('lets requests leave at its own rate', async () => {
    const { take } = crowdedOut();
    const times = [await take(), await take(), await take()];

    expect(times).toEqual([0, 6_667, 13_334]);
  });

  test('gets a permit back that nothing was sent with', async () => {
    const { budget, take } = crowdedOut();
    await take();
    expect(await take()).toBe(6_667);
    budget.giveBack();

    expect(await take()).toBe(6_667);
  });

  test('sends nothing for as long as the upstream has asked for', async () => {
    const { budget, take } = crowdedOut();
    await take();
    budget.pauseFor(60_000);

    expect(await take()).toBeGreaterThanOrEqual(60_000);
  });

  test('is handed over to the next process, which goes on from there', async () => {
    const { budget, clock, take } = crowdedOut();
    await take();
    const spending = budget.spending();
    const next = createRequestBudget({
      clock,
      requestsPerMinute: 60,
      ownRequestsPerMinute: 10,
      burst: 1,
      startsEmpty: true,
    });
    next.takeOver(spending);
    next.charge(1_000);
    await next.take();

    expect(clock.now() - NOON_MS).toBe(6_667);
  });

  test('is assumed to be used up when the process before has not handed it over', async () => {
    const { clock } = fastClock();
    const options = { requestsPerMinute: 60, ownRequestsPerMinute: 10, burst: 1 };
    const next = createRequestBudget({ clock, ...options });
    next.takeOver(undefined);
    next.charge(1_000);
    await next.take();

    expect(clock.now() - NOON_MS).toBeGreaterThan(50_000);
  });
});
