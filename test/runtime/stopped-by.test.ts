import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { stoppedBy } from '../../shared/runtime/concurrency.ts';

test('the controller aborts together with the signal, for the same reason', () => {
  const over = new AbortController();
  const stop = stoppedBy(over.signal);
  over.abort('over');
  expect(stop.signal.reason).toBe('over');
});

test('the controller of a signal that has aborted is aborted from the start', () => {
  expect(stoppedBy(AbortSignal.abort('over')).signal.reason).toBe('over');
});

test('the controller may be aborted alone, and leaves no listener behind', () => {
  const over = new AbortController();
  const stop = stoppedBy(over.signal);
  expect(getEventListeners(over.signal, 'abort')).toHaveLength(1);
  stop.abort();
  expect(over.signal.aborted).toBe(false);
  expect(getEventListeners(over.signal, 'abort')).toHaveLength(0);
});
