/** Tests when the work on a request of the API is ended, and that nothing is left of it afterwards. */

import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openRequestEnd } from '../../functions/api/serving/serve-route.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a request ends when its time is over, and not before', () => {
  const { signal } = openRequestEnd(1_000);
  vi.advanceTimersByTime(999);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});

test('a request ends when its caller has gone, for the reason of the caller', () => {
  const caller = new AbortController();
  const { signal } = openRequestEnd(1_000, caller.signal);
  expect(signal.aborted).toBe(false);
  caller.abort('gone');
  expect(signal.reason).toBe('gone');
});

test('a request of a caller who has gone already has ended from the beginning', () => {
  expect(openRequestEnd(1_000, AbortSignal.abort('gone')).signal.reason).toBe('gone');
});

test('a request that is answered leaves no timer and no listener', () => {
  const caller = new AbortController();
  const end = openRequestEnd(1_000, caller.signal);
  end.release();
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
  caller.abort('gone');
  expect(end.signal.aborted).toBe(false);
});
