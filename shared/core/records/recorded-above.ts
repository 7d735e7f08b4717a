/**
 * Keeps which operations of a project are recorded although no walk says so: of a list that is not newest first, and of
 * a list that cannot be read any more. Once the table has forgotten them, their rows look like rows that no walk has
 * come to yet. Their ids distinguish the two.
 */

import { epochMsOf, secondOf, type Timestamp } from '../time/timestamp.ts';

/** Maps the id of each operation to its creation, in seconds since the epoch. */
export type RecordedAbove = Readonly<Record<string, number>>;

/**
 * At most this many operations are kept. An entry takes about fifty bytes, and the item of an unordered list is written
 * with every poll.
 */
export const RECORDED_ABOVE_MAX = 64;

export interface RecordedOperation {
  readonly id: string;
  readonly createdAt: Timestamp;
}

/** `met` are recorded, too. Of all of them above `until` the newest are kept. */
export function joinRecordedAbove(
  known: RecordedAbove,
  met: readonly RecordedOperation[],
  until: Timestamp,
): RecordedAbove {
  return Object.fromEntries(newestFirst(known, met, until).slice(0, RECORDED_ABOVE_MAX));
}

/** Returns the creation time of the newest operation that does not fit, to the second, or undefined when all of them fit. */
export function newestLeftOut(
  known: RecordedAbove,
  met: readonly RecordedOperation[],
  until: Timestamp,
): Timestamp | undefined {
  const leftOut = newestFirst(known, met, until)[RECORDED_ABOVE_MAX];
  return leftOut && secondOf(leftOut[1] * 1_000);
}

function newestFirst(
  known: RecordedAbove,
  met: readonly RecordedOperation[],
  until: Timestamp,
): readonly (readonly [id: string, seconds: number])[] {
  const untilSeconds = secondsOf(until);
  const all = { ...known, ...Object.fromEntries(met.map(({ id, createdAt }) => [id, secondsOf(createdAt)])) };
  return Object.entries(all)
    .filter(([, seconds]) => seconds > untilSeconds)
    .toSorted(([, a], [, b]) => b - a);
}

export function isSameRecordedAbove(a: RecordedAbove, b: RecordedAbove): boolean {
  const ids = Object.keys(a);
  return ids.length === Object.keys(b).length && ids.every((id) => b[id] !== undefined);
}

function secondsOf(time: Timestamp): number {
  return Math.floor(epochMsOf(time) / 1_000);
}
