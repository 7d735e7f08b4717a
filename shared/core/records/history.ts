/**
 * Which rows are history and not news. Two kinds of rows that the table does not know are no news: those from before the
 * bridge first saw their project, and those that the bridge may have known once and has forgotten since.
 */

import { earlierBy, epochMsOf, normaliseTimestamp, type Timestamp } from './timestamp.ts';

const DAY_MS = 24 * 3_600_000;

/** The table keeps the record of a settled operation for this long after the last event of it was acknowledged. */
export const SETTLED_KEPT_MS = 45 * DAY_MS;

/**
 * A row that was created longer ago than this may have been forgotten. The fifteen days below `SETTLED_KEPT_MS` are room
 * for clocks that are wrong.
 */
export const FORGOTTEN_AFTER_MS = 30 * DAY_MS;

/** The watermark lags by at most this much behind the newest recorded row, since each write of it costs a write unit. */
export const WATERMARK_LAG_MS_MAX = DAY_MS;

export interface FirstSight {
  /** When the account was first seen, by the upstream's clock. */
  readonly bootAt: Timestamp;
  /** When the project was first seen, by the upstream's clock. */
  readonly seenAt: Timestamp;
  /** When the upstream created the project, as its list says; undefined when it does not say. */
  readonly projectCreatedAt: string | undefined;
}

/**
 * Operations of a project that were created before this time are history. A project that is younger than the bridge has
 * none: its operations are news from the first one on, although the bridge may see the project some minutes late.
 */
export function historyEndOf({ bootAt, seenAt, projectCreatedAt }: FirstSight): Timestamp {
  const createdAt = projectCreatedAt === undefined ? undefined : normaliseTimestamp(projectCreatedAt);
  const isYounger = createdAt !== undefined && createdAt >= bootAt;
  if (isYounger || seenAt < bootAt) return bootAt;
  return seenAt;
}

/**
 * Whether an operation that the table does not know may have been recorded and forgotten. Rows that are newer than
 * everything that was ever recorded are news, however old they are: the bridge may have been away for months.
 * An unordered list earns no watermark, so its age alone decides. `nowMs`: the earlier one of the upstream's clock and ours, so
 * that one wrong clock does not make news history.
 */
export function mayBeForgotten(
  createdAt: Timestamp,
  { watermark, isUnordered }: { readonly watermark: Timestamp | undefined; readonly isUnordered: boolean },
  nowMs: number,
): boolean {
  if (nowMs - epochMsOf(createdAt) < FORGOTTEN_AFTER_MS) return false;
  if (isUnordered) return true;
  return watermark !== undefined && earlierBy(createdAt, WATERMARK_LAG_MS_MAX) <= watermark;
}
