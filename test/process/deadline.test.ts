import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withDeadline } from '../../infra/process/surroundings.ts';
import { systemClock } from '../../shared/runtime/clock.ts';

const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Fake timers fire a timer of more than 31 bits at once, as Node does. */
test.each([1, 596, 597, 600, 24 * 365])('a run of %i hours ends after exactly this time', async (hours) => {
  const { signal } = new AbortController();
  const until = withDeadline(signal, hours * HOUR_MS, systemClock);
  await vi.advanceTimersByTimeAsync(hours * HOUR_MS - 1);
  expect(until.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);

  expect(until.aborted).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('a run without a duration ends only with its signal, and a long one ends with its signal, too', async () => {
  const stop = new AbortController();
  const long = withDeadline(stop.signal, 600 * HOUR_MS, systemClock);
  const endless = withDeadline(stop.signal, undefined, systemClock);
  await vi.advanceTimersByTimeAsync(25 * 24 * HOUR_MS - 1);
  expect([long.aborted, endless.aborted]).toEqual([false, false]);
  stop.abort();

  expect([long.aborted, endless.aborted]).toEqual([true, true]);
});

test('a long sleep that is cancelled in its second part leaves no timer', async () => {
  const stop = new AbortController();
  const outcome = systemClock.sleep(600 * HOUR_MS, stop.signal).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(598 * HOUR_MS);
  stop.abort(new Error('enough'));

  expect(await outcome).toMatchObject({ message: 'enough' });
  expect(vi.getTimerCount()).toBe(0);
});
