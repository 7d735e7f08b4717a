/** A binary heap of ids by number: the smallest comes first, ties in the order of arrival. */

export interface PriorityQueue {
  readonly size: number;
  push(id: string, priority: number, version: number): void;
  first(): QueueEntry | undefined;
  shift(): QueueEntry | undefined;
}

export interface QueueEntry {
  readonly id: string;
  readonly priority: number;
  /** Lets the owner tell an entry that it has replaced: taking one out of the middle would cost a search. */
  readonly version: number;
  readonly order: number;
}

export function createPriorityQueue(): PriorityQueue {
  const heap: QueueEntry[] = [];
  let order = 0;
  return {
    get size() {
      return heap.length;
    },
    push(id, priority, version) {
      rise(heap, { id, priority, version, order: order++ });
    },
    first: () => heap[0],
    shift() {
      const first = heap[0];
      const last = heap.pop();
      if (last !== undefined && heap.length > 0) sink(heap, last);
      return first;
    },
  };
}

function isBefore(a: QueueEntry, b: QueueEntry): boolean {
  return a.priority < b.priority || (a.priority === b.priority && a.order < b.order);
}

function rise(heap: QueueEntry[], entry: QueueEntry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex];
    if (parent === undefined || !isBefore(entry, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = entry;
}

function sink(heap: QueueEntry[], entry: QueueEntry): void {
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    const leftEntry = heap[left];
    if (leftEntry === undefined) break;
    const rightEntry = heap[left + 1];
    const useRight = rightEntry !== undefined && isBefore(rightEntry, leftEntry);
    const child = useRight ? rightEntry : leftEntry;
    if (!isBefore(child, entry)) break;
    heap[index] = child;
    index = useRight ? left + 1 : left;
  }
  heap[index] = entry;
}
