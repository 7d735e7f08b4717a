/** Derives from the creation times of a page's rows whether the list is newest first, and which row is the newest. */

import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { WalkPage, WalkState } from './walk-state.ts';

/** Says whether a row is newer than one above it, or no row of the page shows a readable time. */
export function isOutOfOrder(
  state: WalkState,
  { operations }: WalkPage,
  times: readonly (Timestamp | undefined)[],
): boolean {
  const known = times.filter((time) => time !== undefined);
  if (known.length === 0) return operations.length > 0;
  // Widening a page reads the list from its head again, where new rows may have appeared since.
  const above = state.next?.cursor === undefined ? undefined : state.aboveNext;
  return known.some((time, index) => {
    const before = known[index - 1] ?? above;
    return before !== undefined && time > before;
  });
}

export function newestBefore(
  beganAt: Timestamp | undefined,
  times: readonly (Timestamp | undefined)[],
): Timestamp | undefined {
  let newest: Timestamp | undefined;
  for (const time of times) {
    const isBefore = time !== undefined && beganAt !== undefined && time < beganAt;
    if (isBefore && (newest === undefined || time > newest)) newest = time;
  }
  return newest;
}
