/** Recognizes events that arrive after a newer one of the same chain, because EventBridge keeps no order. */

import type { BridgeEvent } from './parse-bridge-event.ts';

/**
 * Returns a function that returns true when an event is out of date: its `sequence` is not above the highest one
 * that the function has been given for the same operation, or for the same compute. That is true of copies, too.
 * Events without a `sequence` are never out of date. A consumer that only needs the latest state drops what is out of
 * date; one that needs every state must not, because an event that arrives late is still news to it. The function
 * remembers in memory, and only the `chainsMax` operations and computes whose events came last.
 */
export function createSequenceGuard(chainsMax = 10_000): (event: BridgeEvent) => boolean {
  const highest = new Map<string, number>();
  return (event) => {
    const chain = chainOf(event);
    if (chain === undefined) return false;
    const { key, sequence } = chain;
    const known = highest.get(key) ?? 0;
    // Deleting the entry first moves it to the end, so that the first entry is the one to forget.
    highest.delete(key);
    highest.set(key, Math.max(known, sequence));
    const [oldest] = highest.keys();
    if (highest.size > chainsMax && oldest !== undefined) highest.delete(oldest);
    return sequence <= known;
  };
}

/** Both kinds of events name an operation, but only those of the first kind count by it. */
function chainOf({ detailType, detail }: BridgeEvent) {
  if (detailType === 'Operation State Changed') return chainBy(detailType, detail, detail.operation_id);
  if (detailType === 'Compute State Changed') return chainBy(detailType, detail, detail.endpoint_id);
  return undefined;
}

function chainBy(
  detailType: string,
  detail: { readonly account_id: string; readonly project_id: string; readonly sequence: number },
  subject: string,
) {
  // A project that moves to another account begins new chains there.
  const key = JSON.stringify([detailType, detail.account_id, detail.project_id, subject]);
  return { key, sequence: detail.sequence };
}
