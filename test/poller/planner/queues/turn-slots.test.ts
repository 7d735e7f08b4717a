import { expect, test } from 'vitest';
import { createTurnSlots } from '../../../../functions/poller/planner/queues/turn-slots.ts';

test('numbers of turns that are gone are given to new turns, and no two turns have one at the same time', () => {
  const slots = createTurnSlots();
  const first = [slots.take(), slots.take(), slots.take()];
  slots.free(1);

  expect(first).toEqual([0, 1, 2]);
  expect([slots.take(), slots.take()]).toEqual([1, 3]);
});
