/**
 * Keeps which operations of a list that is not newest first are recorded, although no complete walk says so. A walk
 * of such a list ends with its last page, so a row that the table has forgotten looks like one that no walk has come
 * to yet. Their ids distinguish the two.
 */

import { epochMsOf, type Timestamp } from '../time/timestamp.ts';

/** Maps the id of each operation to its creation, in seconds since the epoch. */
export type RecordedAbove = Readonly<Record<string, number>>;

/**
 * At most this many operations are kept. An entry takes about fifty bytes, and the item is written with every poll of
 * such a list.
 */
export const RECORDED_ABOVE_MAX = 64;

export interface EndedOperation {
  readonly id: string;
  readonly createdAt: Timestamp;
}

/**
 * `ended` are operations that are recorded and not open. Those up to `recordedUntil` need no id. Of the others the
 * newest are kept, because a walk comes to the older ones sooner.
 */
export function joinRecordedAbove(
  known: RecordedAbove,
  ended: readonly EndedOperation[],
  recordedUntil: Timestamp,
): RecordedAbove {
  const untilSeconds = secondsOf(recordedUntil);
  const all = {
    ...known,
    ...Object.fromEntries(ended.map(({ id, createdAt }) => [id, secondsOf(createdAt)])),
  };
  const newestFirst = Object.entries(all)
    .filter(([, seconds]) => seconds > untilSeconds)
    .toSorted(([, a], [, b]) => b - a);
  return Object.fromEntries(newestFirst.slice(0, RECORDED_ABOVE_MAX));
}

export function isSameRecordedAbove(a: RecordedAbove, b: RecordedAbove): boolean {
  const ids = Object.keys(a);
  return ids.length === Object.keys(b).length && ids.every((id) => b[id] !== undefined);
}

function secondsOf(time: Timestamp): number {
  return Math.floor(epochMsOf(time) / 1_000);
}
