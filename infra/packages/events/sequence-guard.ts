/** Recognizes events that arrive after a newer event of the same operation, because EventBridge keeps no order. */

import type { OperationStateChanged } from './event-details.ts';

/** The fields of `Operation State Changed` that say which operation it is about, and its place in the operation's chain. */
export type Sequenced = Pick<
  OperationStateChanged,
  'account_id' | 'project_id' | 'operation_id' | 'sequence'
>;

/**
 * Returns a function that returns true when an event is out of date: its `sequence` is not above the highest one that the function has
 * been given for the operation. That is true of copies, too. A consumer that only needs the latest state drops these events;
 * one that needs every state must not, because an event that arrives late is still news to it. The function remembers the
 * `operationsMax` operations whose events came last, in memory.
 */
export function createSequenceGuard(operationsMax = 10_000): (detail: Sequenced) => boolean {
  const highest = new Map<string, number>();
  return ({ account_id, project_id, operation_id, sequence }) => {
    // A project that moves to another account begins a new chain there.
    const key = JSON.stringify([account_id, project_id, operation_id]);
    const known = highest.get(key) ?? 0;
    // Deleting the entry first moves it to the end, so that the first entry is the one to forget.
    highest.delete(key);
    highest.set(key, Math.max(known, sequence));
    const [oldest] = highest.keys();
    if (highest.size > operationsMax && oldest !== undefined) highest.delete(oldest);
    return sequence <= known;
  };
}
