/** Decides what is recorded of one project: how far its operations are read, and whether it is visible. */

import { withEventId } from './event-id.ts';
import { append, EMPTY_JOURNAL, type Journal } from './journal.ts';
import type { ProjectEntry, ProjectSeenEntry, UnreachableReason } from './journal-entries.ts';
import { isoTimeOf, type Timestamp } from './time.ts';
import type { Usage } from './usage.ts';

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
  /** The transfers of the project are numbered 1, 2, 3, ... */
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

/** A project is here again that another account has taken over: its records here, which that one has marked, go on by themselves. */
function fromNowhere(recorded: ProjectRecord | undefined, nowMs: number): CameFrom {
  return { account_ids: [], at_ms: nowMs, number: (recorded?.came_from?.number ?? 0) + 2 };
}

/** Returns the record of a project that is no longer visible, or undefined when the record already says so. */
export function decideUnreachable(
  recorded: ProjectRecord,
  nowMs: number,
  reason: UnreachableReason = 'gone',
): ProjectRecord | undefined {
  if (!recorded.is_visible) return undefined;
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

function seenEntry(
  type: ProjectSeenEntry['type'],
  revision: number,
  { account_id, project_id, nowMs }: Pick<Sighting, 'account_id' | 'project_id' | 'nowMs'>,
  reason?: UnreachableReason,
): ProjectSeenEntry {
  const seen = { type, revision, observed_at: isoTimeOf(nowMs), ...(reason && { reason }) };
  return withEventId([account_id, project_id], seen);
}
