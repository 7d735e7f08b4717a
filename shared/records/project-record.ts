/**
 * Decides what is recorded of one project: how far its operations are read, whether it is visible, and which rows of it
 * are history and not news. Two kinds of rows that the table does not know are no news: those that had ended before the
 * bridge first saw their project, and those that are older than what the table keeps for certain.
 */

import { append, EMPTY_JOURNAL, type Journal, withEventId } from './journal.ts';
import type { ProjectEntry, ProjectSeenEntry, UnreachableReason } from './journal-entries.ts';
import { isTerminal, type Operation } from './operation-record.ts';
import { DAY_MS, earlierBy, epochMsOf, isoTimeOf, normaliseTimestamp, type Timestamp } from './time.ts';
import type { Usage } from './usage.ts';

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

/** A walk was cut short here: every row from `head` down to `cursor` is recorded. */
export interface ResumePoint {
  /** The walk earns this head as its bound, however many polls it takes. */
  readonly head: Timestamp;
  readonly cursor: string;
}

/** The place where the next poll goes on with a sweep that is not finished. */
interface SweepPoint {
  /** The sweep reads down to this time. */
  readonly bound: Timestamp;
  readonly cursor: string;
}

export interface StoredArrivals {
  /** This many operations arrived within `observed_ms`. Older ones count for less, so it need not be a whole number. */
  readonly count: number;
  readonly observed_ms: number;
}

/** Describes one write. A field that is undefined stays as it is, and `null` removes it. */
export interface Progress {
  readonly bound?: Timestamp | undefined;
  /** The bound is lowered by a repair, and not earned by a walk. */
  readonly isLowered?: true | undefined;
  readonly since?: Timestamp | undefined;
  readonly resume?: ResumePoint | null | undefined;
  readonly sweep?: SweepPoint | null | undefined;
  readonly sweptAtMs?: number | undefined;
  readonly arrivals?: StoredArrivals | undefined;
}

/** Says where the operations of a project were recorded before. */
export interface CameFrom {
  /** The latest account stands first. */
  readonly account_ids: readonly string[];
  readonly at_ms: number;
  /** A later transfer of the project has a higher number. */
  readonly number: number;
}

export interface ProjectRecord extends Journal<ProjectEntry> {
  readonly kind: 'project';
  readonly account_id: string;
  readonly project_id: string;
  readonly is_visible: boolean;
  /**
   * It is true when the project counts as not visible because it cannot be read. The list may show it, but only a
   * reading makes it visible again.
   */
  readonly is_unread?: boolean | undefined;
  /**
   * Every operation that is older than this by more than the overlap, that the upstream shows and that is news is
   * recorded. It is undefined before the first whole walk. A lower bound is always true (PROTOCOL.md).
   */
  readonly bound?: Timestamp | undefined;
  /** It is true when the second edition has written the bound, and no walk of this one has come to its end since. */
  readonly isOfSecondEdition?: boolean | undefined;
  /** It is true when a repair has lowered the bound, and no walk has come to its end since. */
  readonly isLowered?: boolean | undefined;
  readonly resume?: ResumePoint | undefined;
  /** The last complete sweep ended at this time, by our clock. It decides when to sweep again, and never how deep. */
  readonly swept_at_ms?: number | undefined;
  /** An unfinished sweep continues here. */
  readonly sweep?: SweepPoint | undefined;
  /** What had ended before this time is history (`sinceOf`). When undefined, the account's `boot_at` decides. */
  readonly since?: Timestamp | undefined;
  /** Operations arrived this often when the bound last moved. It is kept so that a restart need not learn it again. */
  readonly arrivals?: StoredArrivals | undefined;
  /**
   * Another account lists the project since `wanted_at_ms`, and waits until this one says whether it still has it: it
   * answers at `shared_at_ms`, or closes this record with `moved_to`. All are by our clock (`transfer.ts`).
   */
  readonly wanted_by?: string | undefined;
  readonly wanted_at_ms?: number | undefined;
  readonly shared_at_ms?: number | undefined;
  /** This account has the project since. */
  readonly moved_to?: string | undefined;
  /** The transfer with this number took the project away last. Operations here may have it as their mark. */
  readonly moved_by?: number | undefined;
  readonly came_from?: CameFrom | undefined;
  /** What the project has used, as it was read when it was last written. */
  readonly usage?: Usage | undefined;
}

export interface Sighting {
  readonly account_id: string;
  readonly project_id: string;
  readonly nowMs: number;
  /** It is false while the projects of an account are listed for the first time, and then they are recorded silently. */
  readonly isNews: boolean;
  /** What had ended before this time is history (`sinceOf`). When undefined, the account's `boot_at` decides. */
  readonly since?: Timestamp | undefined;
  /**
   * It is true when its operations were read to the end. Only that makes an unread project visible again; a row of
   * the list does not.
   */
  readonly isRead?: boolean | undefined;
}

/** Returns the record of a project that is visible, or undefined when the record already says so. */
export function decideDiscovery(
  recorded: ProjectRecord | undefined,
  sighting: Sighting,
): ProjectRecord | undefined {
  if (recorded?.is_visible === true || (recorded?.is_unread && !sighting.isRead)) return undefined;
  const { account_id, project_id, since } = sighting;
  const isUnread = recorded?.is_unread === undefined ? {} : { is_unread: false };
  const seen = { kind: 'project', account_id, project_id, is_visible: true, ...isUnread } as const;
  if (recorded === undefined && !sighting.isNews) return { ...seen, ...EMPTY_JOURNAL };
  // A project that comes back keeps its `since`, because what happened meanwhile is news.
  const { moved_to, ...before } = recorded ?? { ...EMPTY_JOURNAL, since, moved_to: undefined };
  const journal: Journal<ProjectEntry> = before;
  return {
    ...before,
    ...seen,
    ...(moved_to !== undefined && { came_from: fromNowhere(recorded, sighting.nowMs) }),
    ...append<ProjectEntry>(journal, seenEntry('project_discovered', journal.revision + 1, sighting)),
  };
}

/** Since the last transfer that this account knows of, there were fewer others. */
const TRANSFERS_UNKNOWN_MAX = 1_000;

/** A project is here again that another account has taken over: its records here, which that one has marked, go on by themselves. */
function fromNowhere(recorded: ProjectRecord | undefined, nowMs: number): CameFrom {
  return { account_ids: [], at_ms: nowMs, number: transferNumberOf(recorded) + TRANSFERS_UNKNOWN_MAX };
}

/** Returns the highest number of the transfers that have brought the project to the account of this record or taken it away. */
export function transferNumberOf(recorded: ProjectRecord | undefined): number {
  return Math.max(recorded?.came_from?.number ?? 0, recorded?.moved_by ?? 0);
}

/**
 * Returns the record of a project that is no longer visible, or undefined when the record already says so. One that was
 * unread and is gone now was told to be unreachable before.
 */
export function decideUnreachable(
  recorded: ProjectRecord,
  nowMs: number,
  reason: UnreachableReason = 'gone',
): ProjectRecord | undefined {
  if (!recorded.is_visible)
    return recorded.is_unread === true && reason === 'gone' ? { ...recorded, is_unread: false } : undefined;
  const seen = seenEntry('project_unreachable', recorded.revision + 1, { ...recorded, nowMs }, reason);
  return { ...recorded, is_visible: false, ...append<ProjectEntry>(recorded, seen) };
}

/**
 * Returns the record of a project that exists and has not been readable for long, or undefined when the record says
 * that it is unreachable.
 */
export function decideUnread(recorded: ProjectRecord, nowMs: number): ProjectRecord | undefined {
  const next = decideUnreachable(recorded, nowMs, 'not_read');
  return next && { ...next, is_unread: true };
}

/** Says whether the list was read to its end. A list without any row has no bound. */
export function wasRead({ bound, swept_at_ms }: Pick<ProjectRecord, 'bound' | 'swept_at_ms'>): boolean {
  return bound !== undefined || swept_at_ms !== undefined;
}

/** Says whether the project is gone since that time or longer. One that has moved or cannot be read is not. */
export function isGoneSince(
  { is_visible, is_unread, moved_to, entries }: ProjectRecord,
  sinceMs: number,
): boolean {
  if (is_visible || is_unread === true || moved_to !== undefined) return false;
  const loss = entries.findLast(({ type }) => type === 'project_unreachable');
  return loss === undefined || Date.parse(loss.observed_at) <= sinceMs;
}

function seenEntry(
  type: ProjectSeenEntry['type'],
  revision: number,
  { account_id, project_id, nowMs }: Pick<Sighting, 'account_id' | 'project_id' | 'nowMs'>,
  reason?: UnreachableReason,
): ProjectSeenEntry {
  const seen = { type, revision, observed_at: isoTimeOf(nowMs), ...(reason && { reason }) };
  return withEventId([account_id, project_id], seen);
}
