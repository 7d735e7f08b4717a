/** Keeps items in order: the one with the smallest number comes first, and of equal numbers the one that was put in first. */

import { createSlotHeap } from './slot-heap.ts';

export interface PriorityQueue<T> {
  readonly size: number;
  has(item: T): boolean;
  /** Puts the item in, or moves it to its new position. */
  set(item: T, priority: number): void;
  /** Takes the item out, at whatever position it is. */
  delete(item: T): void;
  first(): QueueEntry<T> | undefined;
  /** Returns the number of the first item without looking at the item, and infinity when the queue is empty. */
  firstPriority(): number;
  shift(): QueueEntry<T> | undefined;
  /** Takes the first item out if its number is at most this one. */
  shiftUpTo(priority: number): QueueEntry<T> | undefined;
}

interface QueueEntry<T> {
  readonly item: T;
  readonly priority: number;
}

/**
 * `slotOf` returns the item's slot, a small whole number. No two items that are in the queue at the same time may have
 * the same. It stands for a map from items to their positions, whose searches would take most of the time of a decision.
 */
export function createPriorityQueue<T>(slotOf: (item: T) => number): PriorityQueue<T> {
  const heap = createSlotHeap();
  const items: (T | undefined)[] = [];

  return {
    get size() {
      return heap.size;
    },
    has,
    set(item, priority) {
      const slot = slotOf(item);
      if (heap.holds(slot)) heap.takeOut(slot);
      items[slot] = item;
      heap.put(slot, priority);
    },
    delete(item) {
      if (has(item)) takeOut(slotOf(item));
    },
    first,
    firstPriority: () => heap.firstPriority(),
    shift,
    shiftUpTo: (priority) => (heap.firstPriority() <= priority ? shift() : undefined),
  };

  /** The slot of an item that is gone may belong to another item by now. */
  function has(item: T): boolean {
    return items[slotOf(item)] === item;
  }

  function first(): QueueEntry<T> | undefined {
    if (heap.size === 0) return undefined;
    return { item: items[heap.firstSlot()] as T, priority: heap.firstPriority() };
  }

  function shift(): QueueEntry<T> | undefined {
    const entry = first();
    if (entry !== undefined) takeOut(heap.firstSlot());
    return entry;
  }

  function takeOut(slot: number): void {
    heap.takeOut(slot);
    items[slot] = undefined;
  }
}
