/**
 * Decides which rows are history and not news. Two kinds of rows that the table does not know are no news: those that
 * had ended before the bridge first saw their project, and those that are older than what the table keeps for certain.
 */

import { isTerminal, type Operation } from './operation.ts';
import { DAY_MS, earlierBy, epochMsOf, normaliseTimestamp, type Timestamp } from './time.ts';

/**
 * The table keeps the record of an operation for this long after the last event of it was acknowledged. It is longer
 * than the service shows an operation (about six months, public contract), so the table forgets nothing that a list
 * can still show.
 */
export const RETENTION_MS = 200 * DAY_MS;

/**
 * A row that was created longer ago than this is history when the table does not know it. The ten days below
 * `RETENTION_MS` leave room for clocks that are wrong.
 */
export const HISTORY_AFTER_MS = RETENTION_MS - 10 * DAY_MS;

/** The second edition of the bridge has kept settled operations for this long. */
const SECOND_EDITION_KEPT_MS = 45 * DAY_MS;

/** The second edition has recorded rows of at most this much time above its watermark without moving it. */
const SECOND_EDITION_LAG_MS = DAY_MS;

export interface FirstSight {
  /** The account was first seen at this time, by the earlier of the upstream's clock and ours. */
  readonly bootAt: Timestamp;
  /** The project was first seen at this time, by the earlier of the upstream's clock and ours. */
  readonly seenAt: Timestamp;
  /** The upstream created the project at this time, as its list says. It is undefined when the list does not say. */
  readonly projectCreatedAt: string | undefined;
}

/**
 * Returns the time before which what has ended is history. A project that is younger than the bridge has no history:
 * its operations are news from the first one on, although the bridge may see the project some minutes late.
 */
export function sinceOf({ bootAt, seenAt, projectCreatedAt }: FirstSight): Timestamp {
  const createdAt = projectCreatedAt === undefined ? undefined : normaliseTimestamp(projectCreatedAt);
  const isYounger = createdAt !== undefined && createdAt >= bootAt;
  if (isYounger || seenAt < bootAt) return bootAt;
  return seenAt;
}

/**
 * Returns `since` of a project whose bound is a watermark of the second edition, which has forgotten what ended more
 * than 45 days ago. What began after its watermark was never recorded and stays news, however long the bridge was
 * away.
 */
export function sinceAfterSecondEdition(
  since: Timestamp | undefined,
  watermark: Timestamp,
  now: Timestamp,
): Timestamp {
  const forgotten = earlierBy(now, SECOND_EDITION_KEPT_MS);
  const recorded = earlierBy(watermark, -SECOND_EDITION_LAG_MS);
  const known = forgotten < recorded ? forgotten : recorded;
  return since !== undefined && since > known ? since : known;
}

type Row = Pick<Operation, 'status' | 'created_at' | 'updated_at'>;

/**
 * Says whether the operation of a row had ended before `since`. Both times of the row have to say so: one that was
 * open at first sight and ended later is news.
 */
export function endedBefore(row: Row, since: Timestamp): boolean {
  return isTerminal(row.status) && isBefore(row.created_at, since) && isBefore(row.updated_at, since);
}

/** Says whether the table may have forgotten the operation of a row. `nowMs` is a time that both clocks have reached. */
export function isOlderThanTable({ created_at }: Row, nowMs: number): boolean {
  const createdAt = normaliseTimestamp(created_at);
  return createdAt !== undefined && nowMs - epochMsOf(createdAt) > HISTORY_AFTER_MS;
}

function isBefore(time: string, since: Timestamp): boolean {
  const normalised = normaliseTimestamp(time);
  return normalised !== undefined && normalised < since;
}
