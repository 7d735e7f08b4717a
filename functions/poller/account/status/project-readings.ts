/** Since when each project was not read to its end, and the event about one that stays unread while others are read. */

import {
  type AccountStatus,
  longestUnread,
  type UnreadProject,
} from '../../../../shared/core/records/account-status.ts';
import {
  decideDiscovery,
  decideUnread,
  type ProjectRecord,
} from '../../../../shared/core/records/project-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { isUnreadable } from '../../../../shared/store/unreadable.ts';
import { isUpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import type { PollReport } from '../../project/poll-project.ts';
import type { ProjectReader } from '../../project/read-stored.ts';
import { type RecordAndRelayDeps, recordAndRelay } from '../relay/record-and-relay.ts';

/** What a warm environment knows of the readings of each project. */
export interface ProjectReadings {
  /** When each project was last read to its end by this process. */
  readonly completedAtMs: Map<string, number>;
  /** Since when a project is known that this process has not read to its end. */
  readonly knownAtMs: Map<string, number>;
  /** Projects whose last poll did not read them to the end. */
  readonly unread: Map<string, NotRead>;
  /** The process before this one knew a project since then that was never read completely. */
  unreadBeforeMs: number | undefined;
}

interface NotRead {
  /** Its last complete reading or, when there was none, since when it is known. */
  readonly sinceMs: number;
  /** Since then it has failed while other requests of the account were answered. */
  readonly aloneSinceMs: number;
  readonly reason: string;
}

export function noReadings(): ProjectReadings {
  return { completedAtMs: new Map(), knownAtMs: new Map(), unread: new Map(), unreadBeforeMs: undefined };
}

export interface ReadingDeps extends RecordAndRelayDeps {
  readonly store: RecordAndRelayDeps['store'] & Pick<ProjectReader, 'readProject'>;
  readonly clock: Clock;
}

/** A failure of some minutes is the upstream's usual trouble; by then six attempts have failed. */
const UNREACHABLE_AFTER_MS = 10 * 60_000;

/**
 * Reasons that are never published. A long first reading goes on; an item of the table that cannot be read cannot be written
 * either; and whether a project that answers 404 is gone is decided by `lose-projects.ts`.
 */
const NOT_PUBLISHED: ReadonlySet<string> = new Set(['unfinished', 'item_unreadable', 'not_found']);

/** `project`: its record as the poll has read it before. */
export async function markRead(
  deps: ReadingDeps,
  readings: ProjectReadings,
  projectId: string,
  project: ProjectRecord | undefined,
): Promise<void> {
  const nowMs = deps.clock.now();
  readings.completedAtMs.set(projectId, nowMs);
  readings.unread.delete(projectId);
  if (project?.is_unread !== true) return;
  const next = decideDiscovery(project, { ...project, nowMs, isNews: true, isRead: true });
  if (next !== undefined) await recordAndRelay(deps, next, project);
}

/** How a poll has failed to read its project. */
export interface FailedReading {
  readonly projectId: string;
  readonly reason: string;
  /** Other requests of the account are answered. */
  readonly areOthersAnswered: boolean;
}

export async function markUnread(
  deps: ReadingDeps,
  readings: ProjectReadings,
  { projectId, reason, areOthersAnswered }: FailedReading,
): Promise<void> {
  const nowMs = deps.clock.now();
  const known = readings.unread.get(projectId);
  const sinceMs = known?.sinceMs ?? readAtMs(readings, projectId) ?? nowMs;
  // From the first failure: with many projects the last complete reading may lie long before it.
  const isAlone = areOthersAnswered && known !== undefined && !NOT_PUBLISHED.has(known.reason);
  const aloneSinceMs = isAlone ? known.aloneSinceMs : nowMs;
  readings.unread.set(projectId, { sinceMs, aloneSinceMs, reason });
  const isTooLong = nowMs - aloneSinceMs >= UNREACHABLE_AFTER_MS;
  if (!isTooLong || NOT_PUBLISHED.has(reason)) return;
  const record = await deps.store.readProject(projectId);
  const next = record && decideUnread(record, nowMs);
  if (next !== undefined) await recordAndRelay(deps, next, record);
}

/** Why a poll did not read its project to the end. `report` undefined: it ended with `error`. */
export function unreadReason(report: PollReport | undefined, error: unknown): string {
  if (report !== undefined) return report.failure ?? 'unfinished';
  if (isUnreadable(error)) return 'item_unreadable';
  return isUpstreamError(error) ? error.kind : 'failed';
}

/** Begins to count the age of projects that this process has not read yet. `projectIds`: all that can be seen. */
export function startReadingAges(
  readings: ProjectReadings,
  projectIds: readonly string[],
  nowMs: number,
): void {
  for (const id of projectIds) if (readAtMs(readings, id) === undefined) readings.knownAtMs.set(id, nowMs);
  // One of the projects without a reading is the one that the process before had never read; it is not known which.
  if (projectIds.every((id) => readings.completedAtMs.has(id))) readings.unreadBeforeMs = undefined;
}

/**
 * When the project that was read longest ago was read to its end; of a project that was never read to its end, since when it
 * is known. Undefined: no project can be seen. `projectIds`: all that can be seen.
 */
export function oldestReadingMs(
  readings: ProjectReadings,
  projectIds: readonly string[],
): number | undefined {
  const times = projectIds.map((id) => readAtMs(readings, id));
  return earliestMs([...times, readings.unreadBeforeMs]);
}

/** The oldest of the last complete readings; undefined while a project has none. `projectIds`: all that can be seen. */
export function lastCompleteWalkAtMs(
  { completedAtMs }: ProjectReadings,
  projectIds: readonly string[],
): number | undefined {
  if (completedAtMs.size === 0 || projectIds.some((id) => !completedAtMs.has(id))) return undefined;
  return earliestMs([...completedAtMs.values()]);
}

/** The projects that another process could not read, so that their ages go on. A warm process may have read them later than that one. */
export function recallReadings(readings: ProjectReadings, status: AccountStatus | undefined): void {
  const { unread_projects = [], unread_since, last_complete_walk_at } = status ?? {};
  for (const { project_id, since, reason } of unread_projects) {
    const sinceMs = Math.max(Date.parse(since), readings.completedAtMs.get(project_id) ?? 0);
    if (!Number.isNaN(sinceMs)) readings.unread.set(project_id, { sinceMs, aloneSinceMs: sinceMs, reason });
  }
  const isNew = readings.completedAtMs.size === 0;
  if (isNew && unread_since !== undefined && last_complete_walk_at === undefined)
    readings.unreadBeforeMs = Date.parse(unread_since);
}

/** For the status: the projects that were tried and not read to their end, the longest first. */
export function unreadProjects(
  { unread }: ProjectReadings,
  isKnown: (projectId: string) => boolean,
): readonly UnreadProject[] {
  return longestUnread(
    [...unread]
      .filter(([projectId]) => isKnown(projectId))
      .map(([project_id, { sinceMs, reason }]) => ({
        project_id,
        since: new Date(sinceMs).toISOString(),
        reason,
      })),
  );
}

/** When the project was last read to its end or, when it never was, since when it is known; undefined: it is not known yet. */
function readAtMs({ completedAtMs, unread, knownAtMs }: ProjectReadings, id: string): number | undefined {
  return completedAtMs.get(id) ?? unread.get(id)?.sinceMs ?? knownAtMs.get(id);
}

/** No spread into `Math.min`: 100,000 arguments almost fill the stack. */
function earliestMs(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce<number | undefined>(
    (earliest, time) => (time === undefined ? earliest : Math.min(time, earliest ?? time)),
    undefined,
  );
}
