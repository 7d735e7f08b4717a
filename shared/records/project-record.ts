/**
 * Decides what is recorded of one project: how far its operations are read, whether it is visible, and which rows of it
 * are history and not news. Two kinds of rows that the table does not know are no news: those that had ended before the
 * bridge first saw their project, and those that are older than what the table keeps for certain.
 */

import * as z from 'zod';
import { append, EMPTY_JOURNAL, type Journal, withEventId } from './journal.ts';
import type {
  Fields,
  ProjectEntry,
  ProjectSeenEntry,
  Unchangeable,
  UnreachableReason,
} from './journal-entries.ts';
import { isTerminal, type Operation } from './operation-record.ts';
import {
  DAY_MS,
  earlierBy,
  epochMsOf,
  isoTimeOf,
  normaliseTimestamp,
  type Timestamp,
  timestamp,
} from './time.ts';
import { usageSchema } from './usage.ts';

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
const resumePoint = z.object({
  /** The walk earns this head as its bound, however many polls it takes. */
  head: timestamp,
  cursor: z.string(),
});

export type ResumePoint = Unchangeable<z.output<typeof resumePoint>>;

/** The place where the next poll goes on with a sweep that is not finished, which reads down to `bound`. */
const sweepPoint = z.object({ bound: timestamp, cursor: z.string() });

const storedArrivals = z.object({
  /** This many operations arrived within `observed_ms`. Older ones count for less, so it need not be a whole number. */
  count: z.number().nonnegative(),
  observed_ms: z.number().positive(),
});

export type StoredArrivals = Unchangeable<z.output<typeof storedArrivals>>;

/** Describes one write. A field that is undefined stays as it is, and `null` removes it. */
export interface Progress {
  readonly bound?: Timestamp | undefined;
  /** The bound is lowered by a repair, and not earned by a walk. */
  readonly isLowered?: true | undefined;
  readonly since?: Timestamp | undefined;
  readonly resume?: ResumePoint | null | undefined;
  readonly sweep?: Unchangeable<z.output<typeof sweepPoint>> | null | undefined;
  readonly sweptAtMs?: number | undefined;
  readonly arrivals?: StoredArrivals | undefined;
}

/** Says where the operations of a project were recorded before. */
const cameFrom = z.object({
  /** The latest account stands first. */
  account_ids: z.array(z.string()),
  at_ms: z.number(),
  /** A later transfer of the project has a higher number. */
  number: z.number().int().positive(),
});

export type CameFrom = Unchangeable<z.output<typeof cameFrom>>;

export const projectFields = {
  kind: z.literal('project'),
  account_id: z.string(),
  project_id: z.string(),
  is_visible: z.boolean().default(true),
  /**
   * It is true when the project counts as not visible because it cannot be read. The list may show it, but only a
   * reading makes it visible again.
   */
  is_unread: z.boolean().optional(),
  resume: resumePoint.optional(),
  /** The last complete sweep ended at this time, by our clock. It decides when to sweep again, and never how deep. */
  swept_at_ms: z.number().optional(),
  /** An unfinished sweep continues here. */
  sweep: sweepPoint.optional(),
  /** Operations arrived this often when the bound last moved. It is kept so that a restart need not learn it again. */
  arrivals: storedArrivals.optional().catch(undefined),
  /** What the project has used, as it was read when it was last written. */
  usage: usageSchema.optional().catch(undefined),
  /**
   * Another account lists the project since `wanted_at_ms`, and waits until this one says whether it still has it: it
   * answers at `shared_at_ms`, or closes this record with `moved_to`. All are by our clock (`transfer.ts`).
   */
  wanted_by: z.string().optional(),
  wanted_at_ms: z.number().optional(),
  shared_at_ms: z.number().optional(),
  /** This account has the project since. */
  moved_to: z.string().optional(),
  /** The transfer with this number took the project away last. Operations here may have it as their mark. */
  moved_by: z.number().int().positive().optional(),
  came_from: cameFrom.optional(),
};

/** The item spells these fields otherwise, as the second edition reads them (`projectFieldsOf`). */
interface ReadSoFar {
  /**
   * Every operation that is older than this by more than the overlap, that the upstream shows and that is news is
   * recorded. It is undefined before the first whole walk. A lower bound is always true (PROTOCOL.md).
   */
  readonly bound?: Timestamp | undefined;
  /** It is true when the second edition has written the bound, and no walk of this one has come to its end since. */
  readonly isOfSecondEdition?: boolean | undefined;
  /** It is true when a repair has lowered the bound, and no walk has come to its end since. */
  readonly isLowered?: boolean | undefined;
  /** What had ended before this time is history (`sinceOf`). When undefined, the account's `boot_at` decides. */
  readonly since?: Timestamp | undefined;
}

export interface ProjectRecord extends Fields<typeof projectFields>, ReadSoFar, Journal<ProjectEntry> {}

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
