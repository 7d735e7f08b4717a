/** What is kept of one project: how far its operations are read, and whether it can be seen. */

import { isoTimeOf, type Timestamp } from '../time/timestamp.ts';
import { eventId } from './event-id.ts';
import { append, EMPTY_JOURNAL, type Journal } from './journal.ts';
import type { ProjectSeenEntry } from './journal-entries.ts';
import type { ResumePoint, SweepPoint } from './page-walk.ts';

export interface ProjectRecord extends Journal<ProjectSeenEntry> {
  readonly kind: 'project';
  readonly account_id: string;
  readonly project_id: string;
  readonly is_visible: boolean;
  /** It is not visible because it cannot be read, although the list may show it: only a reading makes it visible again. */
  readonly is_unread?: boolean | undefined;
  /** Head of the last complete walk; everything up to it is recorded. Undefined before the first one. */
  readonly watermark?: Timestamp | undefined;
  readonly resume?: ResumePoint | undefined;
  /** The end of the last complete sweep, our clock; it only decides when to sweep again, never how deep. */
  readonly swept_at_ms?: number | undefined;
  /** Complete sweeps. The size of a sweep's first page goes round with this number. */
  readonly sweep_count?: number | undefined;
  /** Where an unfinished sweep goes on. */
  readonly sweep?: SweepPoint | undefined;
  /** Operations that were created before are history (`historyEndOf`). Undefined: the account's first sight counts. */
  readonly history_until?: Timestamp | undefined;
  /** The cursor of the list's last row, behind which nothing can appear any more (`listEndOf`). */
  readonly list_end?: string | undefined;
  /** The list of its operations is not newest first. */
  readonly is_unordered?: boolean | undefined;
  /**
   * The newest operation whose end was recorded. Written where the watermark does not say it: for a list that is not newest
   * first, and for one that cannot be read any more. What began later is news at any age (`mayBeForgotten`).
   */
  readonly recorded_until?: Timestamp | undefined;
  /** How often something happened when the watermark last moved, so that a restart need not learn it anew. */
  readonly arrivals?: StoredArrivals | undefined;
}

export interface StoredArrivals {
  readonly count: number;
  readonly observed_ms: number;
}

export interface Sighting {
  readonly account_id: string;
  readonly project_id: string;
  readonly nowMs: number;
  /** False while the account is seen for the first time: what was there before is no news. */
  readonly isNews: boolean;
  /** Operations that were created before are history (`historyEndOf`). Undefined: the account's first sight counts. */
  readonly historyUntil?: Timestamp | undefined;
  /** Its operations were read to the end, which says more than a row of the list. */
  readonly isRead?: boolean | undefined;
}

/** Undefined when the record already says that the project can be seen. */
export function decideDiscovery(
  recorded: ProjectRecord | undefined,
  sighting: Sighting,
): ProjectRecord | undefined {
  if (recorded?.is_visible === true || (recorded?.is_unread && !sighting.isRead)) return undefined;
  const { account_id, project_id, historyUntil: history_until } = sighting;
  const isUnread = recorded?.is_unread === undefined ? {} : { is_unread: false };
  const seen = { kind: 'project', account_id, project_id, is_visible: true, ...isUnread } as const;
  if (recorded === undefined && !sighting.isNews) return { ...seen, ...EMPTY_JOURNAL };
  // A project that comes back keeps the end of its history: what happened meanwhile is news.
  const before = recorded ?? { ...EMPTY_JOURNAL, history_until };
  const journal: Journal<ProjectSeenEntry> = before;
  return {
    ...before,
    ...seen,
    ...append(journal, seenEntry('project_discovered', journal.revision + 1, sighting)),
  };
}

/** Undefined when the record already says so. */
export function decideUnreachable(
  recorded: ProjectRecord,
  nowMs: number,
  reason: 'gone' | 'not_read' = 'gone',
): ProjectRecord | undefined {
  if (!recorded.is_visible) return undefined;
  const seen = seenEntry('project_unreachable', recorded.revision + 1, { ...recorded, nowMs });
  return { ...recorded, is_visible: false, ...append(recorded, { ...seen, reason }) };
}

/** It is there and cannot be read for long. Undefined when the record already says that it is out of reach. */
export function decideUnread(recorded: ProjectRecord, nowMs: number): ProjectRecord | undefined {
  const next = decideUnreachable(recorded, nowMs, 'not_read');
  return next && { ...next, is_unread: true };
}

function seenEntry(
  type: ProjectSeenEntry['type'],
  revision: number,
  { account_id, project_id, nowMs }: Pick<Sighting, 'account_id' | 'project_id' | 'nowMs'>,
): ProjectSeenEntry {
  return {
    type,
    id: eventId([account_id, project_id, revision, type]),
    revision,
    observed_at: isoTimeOf(nowMs),
  };
}
