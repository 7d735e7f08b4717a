import { expect, test } from 'vitest';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('every item is dealt with, and never more at once than allowed', async () => {
  let underWay = 0;
  let underWayMax = 0;
  const done: number[] = [];
  const isComplete = await forEachConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    underWay += 1;
    underWayMax = Math.max(underWayMax, underWay);
    await turn();
    done.push(item);
    underWay -= 1;
  });

  expect(isComplete).toBe(true);
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(underWayMax).toBe(3);
});

test('after the signal no task is started, those under way are awaited, and the result says that some are missing', async () => {
  const stop = new AbortController();
  const done: number[] = [];
  const isComplete = await forEachConcurrently(
    [1, 2, 3, 4, 5],
    2,
    async (item) => {
      if (item === 2) stop.abort();
      await turn();
      done.push(item);
    },
    stop.signal,
  );

  expect(isComplete).toBe(false);
  expect(done).toEqual([1, 2]);
});

test('a signal that comes with the last item leaves nothing out', async () => {
  const stop = new AbortController();
  const isComplete = await forEachConcurrently([1], 1, async () => stop.abort(), stop.signal);

  expect(isComplete).toBe(true);
});
