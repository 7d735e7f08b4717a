/** What an invocation knows of events that were recorded and are not published yet. */

export interface Leftovers {
  /** Something unpublished was seen since the last pass over the index began. */
  areExpected: boolean;
  /** The last page made progress and the pass goes on: the invocation is needed. */
  areDraining: boolean;
  /** When the oldest entry that the last page held was recorded; undefined: nothing is known to be unpublished. */
  oldestAtMs: number | undefined;
}

export function noLeftovers(): Leftovers {
  return { areExpected: true, areDraining: false, oldestAtMs: undefined };
}
