/** Says what became of a conditional write of a record. */

/** `conflict` says that the item has changed since it was read, and nothing was written. */
export type RecordResult = 'recorded' | 'conflict';

export function resultOf(outcome: 'applied' | 'refused'): RecordResult {
  return outcome === 'applied' ? 'recorded' : 'conflict';
}
