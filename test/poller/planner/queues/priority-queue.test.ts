import { describe, expect, test } from 'vitest';
import { createPriorityQueue } from '../../../../functions/poller/planner/queues/priority-queue.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';

/** Creates the same queue as a list that is searched. */
function createPlainQueue() {
  let rows: { readonly item: number; readonly priority: number }[] = [];
  return {
    rows: () => rows,
    set(item: number, priority: number) {
      rows = [...rows.filter((row) => row.item !== item), { item, priority }];
    },
    delete(item: number) {
      rows = rows.filter((row) => row.item !== item);
    },
    /** The sort is stable, so the earlier of two equal ones comes first. */
    first: () => rows.toSorted((a, b) => a.priority - b.priority)[0],
  };
}

describe('a priority queue', () => {
  test.each([1, 2, 3, 4, 5])('does what a list that is searched does, seed %i', (seed) => {
    const random = seededRandom(seed);
    const queue = createPriorityQueue<number>();
    const plain = createPlainQueue();
    for (let step = 0; step < 2_000; step++) {
      const item = Math.floor(random.next() * 40);
      const priority = Math.floor(random.next() * 15);
      const choice = random.next();
      if (choice < 0.5) {
        queue.set(item, priority);
        plain.set(item, priority);
      } else if (choice < 0.8) {
        queue.delete(item);
        plain.delete(item);
      } else {
        const first = plain.first();
        expect(queue.shift()).toEqual(first === undefined ? undefined : expect.objectContaining(first));
        if (first !== undefined) plain.delete(first.item);
      }
      expect(queue.first()?.item).toBe(plain.first()?.item);
      expect(queue.size).toBe(plain.rows().length);
      expect(queue.has(item)).toBe(plain.rows().some((row) => row.item === item));
    }
  });
});
