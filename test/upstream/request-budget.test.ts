import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createRequestBudget, takenPermit } from '../../shared/upstream/request-budget.ts';
import { NOON_MS } from '../builders.ts';
import { fastClock } from './scripted-upstream.ts';

/** Allows 9 requests a minute after a burst of one, which is a permit every 6,667 ms. */
function aBudget() {
  const { clock } = fastClock();
  return { clock, budget: createRequestBudget({ clock, requestsPerMinute: 10, burst: 1 }) };
}

describe('a permit', () => {
  test('that is waited for can be given up from the middle of the queue, at once', async () => {
    const { budget, clock } = aBudget();
    const stop = new AbortController();
    const takenAtMs: number[] = [];
    const take = () => budget.take().then(() => takenAtMs.push(clock.now() - NOON_MS));
    const before = [take(), take()];
    const givenUp = budget.take(stop.signal).catch((reason: unknown) => [reason, clock.now()]);
    const after = take();
    stop.abort('enough');

    expect(await givenUp).toEqual(['enough', NOON_MS]);
    await Promise.all([...before, after]);
    expect(takenAtMs).toEqual([0, 6_667, 13_334]);
  });

  test('leaves nothing behind on the signal of its caller', async () => {
    const { budget } = aBudget();
    const { signal } = new AbortController();
    await budget.take(signal);

    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('is refused to a caller that has given up already', async () => {
    const { budget, clock } = aBudget();

    await expect(budget.take(AbortSignal.abort('gone'))).rejects.toBe('gone');
    await budget.take();
    expect(clock.now()).toBe(NOON_MS);
  });
});

describe('a limit that falls', () => {
  test('lets requests leave at the lower rate, and no more in any minute than it says', async () => {
    const { clock } = fastClock();
    const budget = createRequestBudget({ clock, requestsPerMinute: 600, burst: 6 });
    for (let count = 0; count < 300; count++) await budget.take();
    const fallenAtMs = clock.now();
    budget.limitTo({ requestsPerMinute: 60, burst: 1, most: budget.sent().countMax });
    for (let count = 0; count < 60; count++) await budget.take();

    // Nothing leaves until the first of the 300 requests, which took half a minute, is a minute old.
    expect(clock.now() - fallenAtMs).toBeGreaterThan(80_000);
    expect(budget.sent().count).toBeLessThanOrEqual(62);
  });
});

test('a permit that was taken before its request was known lets one request leave', () => {
  const permit = takenPermit();

  expect([permit.use(), permit.use(), permit.use()]).toEqual([true, false, false]);
});

test('a permit that nothing was sent with is there for the next request', async () => {
  const { budget, clock } = aBudget();
  for (let count = 0; count < 5; count++) {
    await budget.take();
    budget.giveBack();
  }
  await budget.take();
  expect(clock.now()).toBe(NOON_MS);
  await budget.take();
  expect(clock.now()).toBe(NOON_MS + 6_667);
});

test('a process that does not know what the one before it sent has no burst', async () => {
  const { clock } = fastClock();
  const budget = createRequestBudget({ clock, requestsPerMinute: 600, burst: 40, startsEmpty: true });
  const takenAtMs: number[] = [];
  for (let count = 0; count < 3; count++) {
    await budget.take();
    takenAtMs.push(clock.now() - NOON_MS);
  }

  expect(takenAtMs).toEqual([108, 215, 322]);
});

test('what refusals have taught outlives the process', async () => {
  const before = createRequestBudget({ clock: fastClock().clock, requestsPerMinute: 600, burst: 1 });
  before.pauseFor(5_000);
  const { clock } = fastClock();
  const after = createRequestBudget({ clock, requestsPerMinute: 600, burst: 1 });
  after.restore(before.learned());
  await after.take();
  const firstAtMs = clock.now() - NOON_MS;
  await after.take();

  expect(firstAtMs).toBe(5_000);
  // A permit takes a tenth of a second at the whole share, and longer at four fifths of it.
  expect(clock.now() - NOON_MS - firstAtMs).toBeGreaterThan(110);
});

test('a pause holds back also the one that is already waiting, and is never shortened', async () => {
  const { budget, clock } = aBudget();
  await budget.take();
  const waiting = budget.take();
  budget.pauseFor(60_000);
  budget.pauseFor(1_000);
  await waiting;

  expect(clock.now()).toBe(NOON_MS + 60_000);
});

describe('a pause that is longer than is honoured', () => {
  const aFastBudget = (clock = fastClock().clock) => ({
    clock,
    budget: createRequestBudget({ clock, requestsPerMinute: 600, burst: 6 }),
  });
  const takeTimes = async ({ clock, budget }: ReturnType<typeof aFastBudget>, count: number) => {
    const times: number[] = [];
    for (let taken = 0; taken < count; taken++) {
      await budget.take();
      times.push(clock.now() - NOON_MS);
    }
    return times;
  };

  test('ends after five minutes, and then one request at a time asks until one is accepted', async () => {
    const under = aFastBudget();
    under.budget.pauseFor(24 * 3_600_000);

    expect(await takeTimes(under, 3)).toEqual([300_000, 315_000, 330_000]);
    under.budget.noteAccepted?.();
    const [next = 0] = await takeTimes(under, 1);
    expect(next).toBeLessThan(331_000);
  });

  test('begins again when the request that asked is refused', async () => {
    const under = aFastBudget();
    under.budget.pauseFor(24 * 3_600_000);
    await under.budget.take();
    under.budget.pauseFor(24 * 3_600_000);

    expect(await takeTimes(under, 2)).toEqual([600_000, 615_000]);
  });

  test('goes on in the next process, and is never longer there either', async () => {
    const before = aFastBudget();
    before.budget.pauseFor(24 * 3_600_000);
    const after = aFastBudget();
    after.budget.restore({ ...before.budget.learned(), pausedUntilMs: NOON_MS + 24 * 3_600_000 });

    expect(await takeTimes(after, 2)).toEqual([300_000, 315_000]);
  });

  test('does not count a permit with which nothing was sent as the request that asks', async () => {
    const under = aFastBudget();
    under.budget.pauseFor(24 * 3_600_000);
    await under.budget.take();
    under.budget.giveBack();

    expect(await takeTimes(under, 1)).toEqual([300_000]);
  });
});
