/** Remembers since when each project was not read to its end, and says so of one that stays like that while others are read. */

import { longestUnread, type UnreadProject } from '../../../shared/core/records/account-status.ts';
import {
  decideDiscovery,
  decideUnread,
  type ProjectRecord,
} from '../../../shared/core/records/project-record.ts';
import { relayRecords } from '../../../shared/protocol/relay-records.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { PollReport } from '../project/poll-project.ts';
import type { AccountMemory, Run } from './run.ts';

/** A failure of some minutes is the upstream's usual trouble; by then six attempts have failed. */
export const UNREACHABLE_AFTER_MS = 10 * 60_000;

/** The project list is read every minute, and every five at the latest: an upstream that works has answered by then. */
const ANSWER_AGE_MS_MAX = 5 * 60_000;

/**
 * A long first reading goes on; an item of the table that cannot be read cannot be written either; and whether a project that
 * answers 404 is gone is decided by `lose-projects.ts`.
 */
const NOT_ANNOUNCED: ReadonlySet<string> = new Set(['unfinished', 'item_unreadable', 'not_found']);

/** The upstream has answered a request as it should: whatever fails now is not the account as a whole. */
export function noteAnswer({ deps, memory }: Run): void {
  memory.answeredAtMs = deps.clock.now();
}

/** `project`: as the poll has read it before. */
export async function noteRead(
  run: Run,
  projectId: string,
  project: ProjectRecord | undefined,
): Promise<void> {
  const { deps, memory } = run;
  memory.completedAtMs.set(projectId, deps.clock.now());
  memory.unread.delete(projectId);
  if (project?.is_unread !== true) return;
  const sighting = { ...project, nowMs: deps.clock.now(), isNews: true, isRead: true };
  await announce(run, decideDiscovery(project, sighting), project);
}

/** `report` undefined: the poll ended with `error`. */
export async function noteNotRead(
  run: Run,
  projectId: string,
  { report, error }: { readonly report?: PollReport | undefined; readonly error?: unknown },
): Promise<void> {
  const { deps, memory } = run;
  const reason = reasonOf(report, error);
  if (reason === 'cancelled' || !memory.projects.has(projectId)) return;
  const nowMs = deps.clock.now();
  const known = memory.unread.get(projectId);
  const sinceMs = known?.sinceMs ?? readAtMs(memory, projectId, nowMs);
  // From the first failure: with many projects the last complete reading may lie long before it.
  const isAlone = isAnswering(run, nowMs) && known !== undefined && !NOT_ANNOUNCED.has(known.reason);
  const aloneSinceMs = isAlone ? known.aloneSinceMs : nowMs;
  memory.unread.set(projectId, { sinceMs, aloneSinceMs, reason });
  const isTooLong = nowMs - aloneSinceMs >= UNREACHABLE_AFTER_MS;
  if (!isTooLong || NOT_ANNOUNCED.has(reason)) return;
  const record = await deps.store.readProject(projectId);
  await announce(run, record && decideUnread(record, nowMs), record);
}

/** The oldest of the latest complete readings; of a project that was never read completely, since when it is known. */
export function oldestReadingMs(memory: AccountMemory, nowMs: number): number | undefined {
  let oldestMs: number | undefined;
  let isOneUnread = false;
  for (const projectId of memory.projects.keys()) {
    if (memory.unreachable.has(projectId)) continue;
    oldestMs = Math.min(oldestMs ?? Number.POSITIVE_INFINITY, readAtMs(memory, projectId, nowMs));
    isOneUnread ||= !memory.completedAtMs.has(projectId);
  }
  // One of them is the project that the process before this one had never read: nobody knows which.
  if (!isOneUnread) memory.unreadBeforeMs = undefined;
  if (memory.unreadBeforeMs === undefined) return oldestMs;
  return Math.min(memory.unreadBeforeMs, oldestMs ?? Number.POSITIVE_INFINITY);
}

/** For the status: those that were tried and not read to their end, the longest first. */
export function unreadProjects(memory: AccountMemory): readonly UnreadProject[] {
  // Before the projects are listed, what the process before has said is all that is known.
  const isKnown = (id: string) =>
    (memory.discoveredAtMs === undefined || memory.projects.has(id)) && !memory.unreachable.has(id);
  return longestUnread(
    [...memory.unread]
      .filter(([projectId]) => isKnown(projectId))
      .map(([project_id, { sinceMs, reason }]) => ({
        project_id,
        since: new Date(sinceMs).toISOString(),
        reason,
      })),
  );
}

/** In a new process: what the one before it could not read, so that its age goes on. */
export function recallUnread({ memory }: Pick<Run, 'memory'>): void {
  const { unread_projects = [], unread_since, last_complete_walk_at } = memory.status ?? {};
  for (const { project_id, since, reason } of unread_projects) {
    const sinceMs = Date.parse(since);
    if (!Number.isNaN(sinceMs)) memory.unread.set(project_id, { sinceMs, aloneSinceMs: sinceMs, reason });
  }
  if (unread_since !== undefined && last_complete_walk_at === undefined)
    memory.unreadBeforeMs = Date.parse(unread_since);
}

function readAtMs(memory: AccountMemory, projectId: string, nowMs: number): number {
  const readMs = memory.completedAtMs.get(projectId) ?? memory.unread.get(projectId)?.sinceMs;
  if (readMs !== undefined) return readMs;
  const knownMs = memory.knownAtMs.get(projectId) ?? nowMs;
  memory.knownAtMs.set(projectId, knownMs);
  return knownMs;
}

/** Other requests of the account are answered. With no other project, the project list is the evidence. */
function isAnswering({ deps, memory }: Run, nowMs: number): boolean {
  const isAnswered = memory.answeredAtMs !== undefined && nowMs - memory.answeredAtMs <= ANSWER_AGE_MS_MAX;
  const failingMs = memory.failingSinceMs === undefined ? 0 : nowMs - memory.failingSinceMs;
  return isAnswered && (memory.projects.size === 1 || failingMs < deps.limits.failingMsMax);
}

function reasonOf(report: PollReport | undefined, error: unknown): string {
  if (report !== undefined) return report.failure ?? 'unfinished';
  if (isUnreadable(error)) return 'item_unreadable';
  return isUpstreamError(error) ? error.kind : 'failed';
}

async function announce(
  { deps }: Run,
  next: ProjectRecord | undefined,
  recorded: ProjectRecord | undefined,
): Promise<void> {
  if (next === undefined) return;
  if ((await deps.store.record(next, recorded?.revision)) === 'recorded') await relayRecords(deps, [next]);
}
