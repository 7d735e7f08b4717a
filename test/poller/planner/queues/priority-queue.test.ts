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
    const queue = createPriorityQueue((item: number) => item);
    const plain = createPlainQueue();
    // An expectation at each of the steps would take most of the time of this test.
    const found: unknown[] = [];
    const wanted: unknown[] = [];
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
        found.push(queue.shift());
        wanted.push(first);
        if (first !== undefined) plain.delete(first.item);
      }
      found.push(queue.first()?.item, queue.size, queue.has(item));
      wanted.push(
        plain.first()?.item,
        plain.rows().length,
        plain.rows().some((row) => row.item === item),
      );
    }

    expect(found).toEqual(wanted);
  });

  test('takes out what has at most the given number, and nothing of an empty queue', () => {
    const queue = createPriorityQueue((item: number) => item);
    queue.set(7, 10);

    expect(queue.shiftUpTo(9)).toBeUndefined();
    expect(queue.shiftUpTo(10)).toEqual({ item: 7, priority: 10 });
    expect([queue.size, queue.shiftUpTo(Number.POSITIVE_INFINITY)]).toEqual([0, undefined]);
  });

  test('keeps nothing of an item whose slot belongs to another item by now', () => {
    const queue = createPriorityQueue(({ slot }: { readonly slot: number }) => slot);
    const [gone, other] = [{ slot: 3 }, { slot: 3 }];
    queue.set(gone, 1);
    queue.delete(gone);
    queue.set(other, 2);
    queue.delete(gone);

    expect([queue.has(gone), queue.has(other), queue.first()?.item]).toEqual([false, true, other]);
  });

  test('takes an item whose slot is far beyond those that it has seen', () => {
    const queue = createPriorityQueue((item: number) => item);
    for (const item of [0, 16, 1_000]) queue.set(item, -item);

    expect([queue.has(1_000), queue.has(999), queue.has(5_000)]).toEqual([true, false, false]);
    expect([queue.shift(), queue.shift(), queue.shift()].map((entry) => entry?.item)).toEqual([1_000, 16, 0]);
  });

  test('keeps its order while it grows to thousands of items and shrinks again', () => {
    const random = seededRandom(6);
    const queue = createPriorityQueue((item: number) => item);
    const priorities = Array.from({ length: 5_000 }, () => Math.floor(random.next() * 500));
    for (const [item, priority] of priorities.entries()) queue.set(item, priority);
    for (let item = 0; item < 5_000; item += 3) queue.delete(item);
    const left = [...priorities.entries()].filter(([item]) => item % 3 !== 0);

    expect(left.map(() => queue.shift()?.item)).toEqual(
      left.toSorted(([, a], [, b]) => a - b).map(([item]) => item),
    );
    expect(queue.shift()).toBeUndefined();
  });
});
