import { describe, expect, test } from 'vitest';
import { createSlotHeap } from '../../../../functions/poller/planner/queues/slot-heap.ts';

describe('a heap of slots', () => {
  test('has no first slot, and an infinite priority, while it is empty', () => {
    const heap = createSlotHeap();
    const first = () => [heap.firstSlot(), heap.firstPriority()];

    expect(first()).toEqual([-1, Number.POSITIVE_INFINITY]);
    heap.put(3, 7);
    expect(first()).toEqual([3, 7]);
    heap.takeOut(3);
    expect(first()).toEqual([-1, Number.POSITIVE_INFINITY]);
  });

  test.each([15, 16, 17, 1_000])(
    'holds slot %i as its only one, however little room it had before',
    (slot) => {
      const heap = createSlotHeap();
      heap.put(slot, 1);

      expect([slot - 1, slot, slot + 1].map((each) => heap.holds(each))).toEqual([false, true, false]);
    },
  );
});
