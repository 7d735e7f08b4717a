/**
 * Keeps items in a binary heap: the item with the smallest number comes first, and of equal numbers the item that was
 * put in first.
 */

export interface PriorityQueue<T> {
  readonly size: number;
  has(item: T): boolean;
  /** Puts the item in, or moves it to its new position. */
  set(item: T, priority: number): void;
  /** Takes the item out, at whatever position it is. */
  delete(item: T): void;
  first(): QueueEntry<T> | undefined;
  shift(): QueueEntry<T> | undefined;
}

interface QueueEntry<T> {
  readonly item: T;
  readonly priority: number;
}

interface HeapEntry<T> extends QueueEntry<T> {
  readonly order: number;
  /** The entry knows its position in the heap, so that taking it out needs no search. */
  index: number;
}

type Heap<T> = HeapEntry<T>[];

export function createPriorityQueue<T>(): PriorityQueue<T> {
  const heap: Heap<T> = [];
  const entries = new Map<T, HeapEntry<T>>();
  let order = 0;

  return {
    get size() {
      return heap.length;
    },
    has: (item) => entries.has(item),
    set(item, priority) {
      remove(item);
      const entry = { item, priority, order: order++, index: heap.length };
      entries.set(item, entry);
      heap.push(entry);
      rise(heap, entry);
    },
    delete: remove,
    first: () => heap[0],
    shift() {
      const [first] = heap;
      if (first !== undefined) remove(first.item);
      return first;
    },
  };

  function remove(item: T): void {
    const entry = entries.get(item);
    if (entry === undefined) return;
    entries.delete(item);
    takeOut(heap, entry);
  }
}

/** The last entry takes the free position and moves up or down from there. */
function takeOut<T>(heap: Heap<T>, entry: HeapEntry<T>): void {
  const last = heap.pop();
  if (last === undefined || last === entry) return;
  place(heap, last, entry.index);
  rise(heap, last);
  sink(heap, last);
}

function isBefore<T>(a: HeapEntry<T>, b: HeapEntry<T>): boolean {
  return a.priority < b.priority || (a.priority === b.priority && a.order < b.order);
}

function place<T>(heap: Heap<T>, entry: HeapEntry<T>, index: number): void {
  heap[index] = entry;
  entry.index = index;
}

function rise<T>(heap: Heap<T>, entry: HeapEntry<T>): void {
  while (entry.index > 0) {
    const parentIndex = (entry.index - 1) >> 1;
    const parent = heap[parentIndex];
    if (parent === undefined || !isBefore(entry, parent)) return;
    place(heap, parent, entry.index);
    place(heap, entry, parentIndex);
  }
}

function sink<T>(heap: Heap<T>, entry: HeapEntry<T>): void {
  for (;;) {
    const child = firstChild(heap, entry.index);
    if (child === undefined || !isBefore(child, entry)) return;
    const childIndex = child.index;
    place(heap, child, entry.index);
    place(heap, entry, childIndex);
  }
}

function firstChild<T>(heap: Heap<T>, index: number): HeapEntry<T> | undefined {
  const left = heap[2 * index + 1];
  const right = heap[2 * index + 2];
  return left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
}
