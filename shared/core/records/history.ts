/**
 * Decides which rows are history and not news. Two kinds of rows that the table does not know are no news: those from
 * before the bridge first saw their project, and those that the bridge may have known once and has forgotten since.
 */

import { DAY_MS } from '../time/durations.ts';
import { earlierBy, epochMsOf, normaliseTimestamp, type Timestamp } from '../time/timestamp.ts';
import type { RecordedAbove } from './recorded-above.ts';

/** The table keeps the record of a settled operation for this long after the last event of it was acknowledged. */
export const SETTLED_KEPT_MS = 45 * DAY_MS;

/**
 * A row that was created longer ago than this may have been forgotten. The fifteen days below `SETTLED_KEPT_MS` leave
 * room for clocks that are wrong.
 */
export const FORGOTTEN_AFTER_MS = 30 * DAY_MS;

/** The watermark lags by at most this much behind the newest recorded row, since each write of it costs a write unit. */
export const WATERMARK_LAG_MS_MAX = DAY_MS;

export interface FirstSight {
  /** The account was first seen at this time, by the earlier of the upstream's clock and ours. */
  readonly bootAt: Timestamp;
  /** The project was first seen at this time, by the earlier of the upstream's clock and ours. */
  readonly seenAt: Timestamp;
  /** The upstream created the project at this time, as its list says. It is undefined when the list does not say. */
  readonly projectCreatedAt: string | undefined;
}

/**
 * Returns the time before which operations of a project are history. A project that is younger than the bridge has no
 * history: its operations are news from the first one on, although the bridge may see the project some minutes late.
 */
export function historyEndOf({ bootAt, seenAt, projectCreatedAt }: FirstSight): Timestamp {
  const createdAt = projectCreatedAt === undefined ? undefined : normaliseTimestamp(projectCreatedAt);
  const isYounger = createdAt !== undefined && createdAt >= bootAt;
  if (isYounger || seenAt < bootAt) return bootAt;
  return seenAt;
}

/** Says how far a project was recorded, as its own item shows. */
export interface RecordedReach {
  readonly watermark?: Timestamp | undefined;
  /** Everything up to this time counts as recorded, where that is known for certain. */
  readonly recorded_until?: Timestamp | undefined;
  readonly is_unordered?: boolean | undefined;
  readonly recorded_above?: RecordedAbove | undefined;
  readonly resume?: InterruptedStretch | undefined;
}

/** An interrupted walk has recorded everything down to `lowest`, and up to `newest` or a little above `head`. */
interface InterruptedStretch {
  readonly began_at?: Timestamp | undefined;
  readonly head: Timestamp;
  readonly lowest?: Timestamp | undefined;
  readonly newest?: Timestamp | undefined;
}

/** A row says this of the operation. */
export interface UnknownRow {
  readonly id: string;
  readonly createdAt: Timestamp;
}

/**
 * Says whether an operation that the table does not know may have been recorded and forgotten. Rows that are newer
 * than everything that was ever recorded are news, however old they are: the bridge may have been away for months.
 * `nowMs` is the earlier one of the upstream's clock and ours, so that one wrong clock does not make news history.
 */
export function mayBeForgotten({ id, createdAt }: UnknownRow, reach: RecordedReach, nowMs: number): boolean {
  if (nowMs - epochMsOf(createdAt) < FORGOTTEN_AFTER_MS) return false;
  if (reach.recorded_above?.[id] !== undefined) return true;
  return wasReached(createdAt, reach) || wasReachedByInterrupted(createdAt, reach, nowMs);
}

function wasReached(
  createdAt: Timestamp,
  { watermark, recorded_until, is_unordered, resume }: RecordedReach,
): boolean {
  if (recorded_until !== undefined) return createdAt <= recorded_until;
  // An earlier version has read this list without noting how far, so the age of the row alone decides.
  if (is_unordered === true) return true;
  // The table was asked while it had everything, so what is newer was never recorded.
  if (resume?.newest !== undefined && createdAt > resume.newest) return false;
  return watermark !== undefined && isAtMostADayAbove(watermark, createdAt);
}

/** An interrupted walk has recorded what it read, although it has not earned a watermark. */
function wasReachedByInterrupted(
  createdAt: Timestamp,
  { is_unordered, resume }: RecordedReach,
  nowMs: number,
): boolean {
  if (is_unordered === true || resume?.lowest === undefined || createdAt < resume.lowest) return false;
  // The table has forgotten nothing of a walk that began lately. The list may be out of order without any page having shown it.
  const { began_at } = resume;
  if (began_at !== undefined && nowMs - epochMsOf(began_at) < FORGOTTEN_AFTER_MS) return false;
  // The walk goes on below its last page, in the middle of the second of its lowest row, and the rest of that second is unread. Only the second of
  // the head is read again.
  if (createdAt === resume.lowest && createdAt !== resume.head) return false;
  return resume.newest === undefined ? isAtMostADayAbove(resume.head, createdAt) : createdAt <= resume.newest;
}

function isAtMostADayAbove(reached: Timestamp, createdAt: Timestamp): boolean {
  return earlierBy(createdAt, WATERMARK_LAG_MS_MAX) <= reached;
}
