/**
 * Keeps since when each project was not read to its end, and publishes an event about one that stays unread while
 * others are read.
 */

import {
  type AccountStatus,
  longestUnread,
  type UnreadProject,
} from '../../../../shared/records/account-status.ts';
import {
  decideDiscovery,
  decideUnread,
  type ProjectRecord,
} from '../../../../shared/records/project-record.ts';
import { isUnreadable } from '../../../../shared/store/unreadable.ts';
import { isUpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import type { PollReport } from '../../project/poll-project.ts';
import type { InvocationDeps } from '../account-deps.ts';
import { recordAndRelay } from '../relay-leftovers.ts';

/** A warm environment knows this of the readings of each project. */
export interface ProjectReadings {
  /** This process last read each project to its end at this time. */
  readonly completedAtMs: Map<string, number>;
  /** Each of these projects has been known since this time, and this process has not read it to its end. */
  readonly knownAtMs: Map<string, number>;
  /** The last poll of these projects did not read them to the end. */
  readonly unread: Map<string, NotRead>;
  /** One of the account's projects has not been read completely since this time: the previous process knew one, or the list was not read to its end. */
  unreadBeforeMs: number | undefined;
  /** A project of the account was last polled at this time, as far as this process knows. */
  polledAtMs: number | undefined;
}

interface NotRead {
  /** The last complete reading was at this time. When there was none, the project became known then. */
  readonly sinceMs: number;
  /** The project has failed since this time, while other requests of the account were answered. */
  readonly aloneSinceMs: number;
  readonly reason: string;
}

export function noReadings(): ProjectReadings {
  return {
    completedAtMs: new Map(),
    knownAtMs: new Map(),
    unread: new Map(),
    unreadBeforeMs: undefined,
    polledAtMs: undefined,
  };
}

/** Forgets a project that was lost, so that projects that come and go do not fill the memory of a long-lived process. */
export function forgetReadings(readings: ProjectReadings, projectId: string): void {
  readings.completedAtMs.delete(projectId);
  readings.knownAtMs.delete(projectId);
  readings.unread.delete(projectId);
}

/**
 * A project is published as unreachable after this time. The upstream often fails for some minutes, and by then six
 * attempts have failed.
 */
const UNREACHABLE_AFTER_MS = 10 * 60_000;

/**
 * These reasons are never published. A long first reading goes on; an item of the table that cannot be read cannot be
 * written either; and `lose-projects.ts` decides whether a project that answers 404 is gone.
 */
const NOT_PUBLISHED: ReadonlySet<string> = new Set(['unfinished', 'item_unreadable', 'not_found']);

/** `project` is the record as the poll has read it before. */
export async function markRead(
  deps: InvocationDeps,
  readings: ProjectReadings,
  projectId: string,
  project: ProjectRecord | undefined,
): Promise<void> {
  const nowMs = deps.clock.now();
  notePoll(readings, nowMs);
  readings.completedAtMs.set(projectId, nowMs);
  readings.unread.delete(projectId);
  if (project?.is_unread !== true) return;
  const next = decideDiscovery(project, { ...project, nowMs, isNews: true, isRead: true });
  if (next !== undefined) await recordAndRelay(deps, next, project);
}

/**
 * While nothing of the account was polled, its projects did not fail: the schedule was switched off, and the first
 * failure after that is not the end of ten minutes of failures.
 */
function notePoll(readings: ProjectReadings, nowMs: number): void {
  const { unread, polledAtMs = nowMs } = readings;
  readings.polledAtMs = nowMs;
  if (nowMs - polledAtMs < UNREACHABLE_AFTER_MS) return;
  for (const [projectId, notRead] of unread) unread.set(projectId, { ...notRead, aloneSinceMs: nowMs });
}

/** Says how a poll has failed to read its project. */
export interface FailedReading {
  readonly projectId: string;
  readonly reason: string;
  readonly others: OtherRequests;
}

/**
 * Says how the other requests of the account fare. It is `unknown` in a process that has sent none for some time, for example because
 * another one was running.
 */
export type OtherRequests = 'answered' | 'failing' | 'unknown';

export async function markUnread(
  deps: InvocationDeps,
  readings: ProjectReadings,
  { projectId, reason, others }: FailedReading,
): Promise<void> {
  const nowMs = deps.clock.now();
  notePoll(readings, nowMs);
  const known = readings.unread.get(projectId);
  const sinceMs = known?.sinceMs ?? readAtMs(readings, projectId) ?? nowMs;
  // The time counts from the first failure, because with many projects the last complete reading may lie long before
  // it.
  const isAlone = others !== 'failing' && known !== undefined && !NOT_PUBLISHED.has(known.reason);
  const aloneSinceMs = isAlone ? known.aloneSinceMs : nowMs;
  readings.unread.set(projectId, { sinceMs, aloneSinceMs, reason });
  const isTooLong = nowMs - aloneSinceMs >= UNREACHABLE_AFTER_MS;
  if (!isTooLong || others !== 'answered' || NOT_PUBLISHED.has(reason)) return;
  const record = await deps.store.readProject(projectId);
  const next = record && decideUnread(record, nowMs);
  if (next !== undefined) await recordAndRelay(deps, next, record);
}

/** Returns true when there is no other project, or none of the others has been polled yet. A project that was lost does not count. */
export function isOnlyTried(
  { completedAtMs, unread }: ProjectReadings,
  projectId: string,
  isKnown: (projectId: string) => boolean,
): boolean {
  for (const polled of [completedAtMs, unread])
    for (const id of polled.keys()) if (id !== projectId && isKnown(id)) return false;
  return true;
}

/** Returns why a poll did not read its project to the end. `report` is undefined when the poll ended with `error`. */
export function unreadReason(report: PollReport | undefined, error: unknown): string {
  if (report !== undefined) return report.failure ?? 'unfinished';
  if (isUnreadable(error)) return 'item_unreadable';
  return isUpstreamError(error) ? error.kind : 'failed';
}

/**
 * Begins to count the age of projects that this process has not read yet. `projectIds` are all that can be seen. Unless `areListed`, the list was
 * not read to its end, and there may be others.
 */
export function startReadingAges(
  readings: ProjectReadings,
  projectIds: readonly string[],
  areListed: boolean,
  nowMs: number,
): void {
  for (const id of projectIds) if (readAtMs(readings, id) === undefined) readings.knownAtMs.set(id, nowMs);
  // A project that no page has shown was not read. Nor was one that the previous process had never read, and it is unknown which that is.
  if (!areListed) readings.unreadBeforeMs ??= nowMs;
  else if (projectIds.every((id) => readings.completedAtMs.has(id))) readings.unreadBeforeMs = undefined;
}

/**
 * Returns when the project that was read longest ago was read to its end. A project that was never read to its end
 * counts from when it became known. It is undefined when no project can be seen. `projectIds` are all that can be
 * seen.
 */
export function oldestReadingMs(
  readings: ProjectReadings,
  projectIds: readonly string[],
): number | undefined {
  const times = projectIds.map((id) => readAtMs(readings, id));
  return earliestMs([...times, readings.unreadBeforeMs]);
}

/** Returns the oldest of the last complete readings, or undefined while a project has none, or may be missing in `projectIds`. */
export function lastCompleteWalkAtMs(
  { completedAtMs }: ProjectReadings,
  projectIds: readonly string[],
  areListed: boolean,
): number | undefined {
  if (!areListed || projectIds.some((id) => !completedAtMs.has(id))) return undefined;
  return earliestMs([...completedAtMs.values()]);
}

/**
 * Takes over the projects that another process could not read, so that their ages go on. A warm process may have
 * read them later than that one.
 */
export function recallReadings(readings: ProjectReadings, status: AccountStatus | undefined): void {
  const { unread_projects = [], unread_since, last_complete_walk_at, written_at = '' } = status ?? {};
  const writtenMs = Date.parse(written_at);
  if (!Number.isNaN(writtenMs)) readings.polledAtMs = Math.max(writtenMs, readings.polledAtMs ?? 0);
  if (status !== undefined && !Number.isNaN(writtenMs)) restartUnnamed(readings, status, writtenMs);
  for (const { project_id, since, reason, failing_since = written_at } of unread_projects) {
    const readMs = readings.completedAtMs.get(project_id) ?? 0;
    const sinceMs = Math.max(Date.parse(since), readMs);
    const aloneSinceMs = Math.max(Date.parse(failing_since), readMs);
    // The process that has begun to count later has seen why.
    const isOlder = (readings.unread.get(project_id)?.aloneSinceMs ?? 0) > aloneSinceMs;
    if (!Number.isNaN(sinceMs) && !isOlder)
      readings.unread.set(project_id, { sinceMs, aloneSinceMs, reason });
  }
  const isNew = readings.completedAtMs.size === 0;
  raiseReadings(readings, last_complete_walk_at);
  if (isNew && unread_since !== undefined && last_complete_walk_at === undefined)
    readings.unreadBeforeMs = Date.parse(unread_since);
}

/** The other process has read each project to its end at this time or later. */
function raiseReadings({ completedAtMs, unread, knownAtMs }: ProjectReadings, lastCompleteWalkAt = ''): void {
  const readMs = Date.parse(lastCompleteWalkAt);
  if (Number.isNaN(readMs)) return;
  for (const id of [completedAtMs, unread, knownAtMs].flatMap((projects) => [...projects.keys()]))
    completedAtMs.set(id, Math.max(completedAtMs.get(id) ?? 0, readMs));
}

/**
 * The last poll of a project that the other process does not name has not failed there. So what this process knows of its failures is
 * over, and a failure after that is the first one. When only some of many unread projects are named, the others stay as they are known.
 */
function restartUnnamed({ unread }: ProjectReadings, status: AccountStatus, writtenMs: number): void {
  const { unread_projects = [], unread_project_count = 0 } = status;
  if (unread_project_count > unread_projects.length) return;
  const named = new Set(unread_projects.map(({ project_id }) => project_id));
  for (const [projectId, notRead] of unread) {
    const aloneSinceMs = Math.max(notRead.aloneSinceMs, writtenMs);
    if (!named.has(projectId)) unread.set(projectId, { ...notRead, aloneSinceMs });
  }
}

/** Returns for the status the projects that were tried and not read to their end, the longest unread first. */
export function unreadProjects(
  { unread }: ProjectReadings,
  isKnown: (projectId: string) => boolean,
): readonly UnreadProject[] {
  return longestUnread(
    [...unread]
      .filter(([projectId]) => isKnown(projectId))
      .map(([project_id, { sinceMs, aloneSinceMs, reason }]) => ({
        project_id,
        since: new Date(sinceMs).toISOString(),
        reason,
        failing_since: new Date(aloneSinceMs).toISOString(),
      })),
  );
}

/**
 * Returns when the project was last read to its end or, when it never was, when it became known. It is undefined when
 * the project is not known yet.
 */
function readAtMs({ completedAtMs, unread, knownAtMs }: ProjectReadings, id: string): number | undefined {
  return completedAtMs.get(id) ?? unread.get(id)?.sinceMs ?? knownAtMs.get(id);
}

/** A spread into `Math.min` would almost fill the stack with 100,000 arguments. */
function earliestMs(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce<number | undefined>(
    (earliest, time) => (time === undefined ? earliest : Math.min(time, earliest ?? time)),
    undefined,
  );
}
