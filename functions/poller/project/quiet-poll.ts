/**
 * Polls a quiet project without reading the table: nothing of it is unpublished or unfinished, and nothing is open but
 * operations that have failed and wait for their retry.
 */

import { isOpen, isSettled, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { ProjectMemory } from './memory/project-memory.ts';
import { type QuietMemory, type QuietProject, rememberQuiet, takeQuiet } from './memory/quiet-project.ts';
import type { PollRequest } from './poll-deps.ts';
import { readStored, type StoredProject, type StoredReader } from './read-stored.ts';
import type { PagesResult } from './walking/follow-pages.ts';

export interface PollStart {
  readonly stored: StoredProject;
  /** The poll goes by this memory. It is undefined when the poll has read the table. */
  readonly quiet: QuietProject | undefined;
  /** The poll began at this time, by our clock. */
  readonly beganMs: number;
}

/** Resolves to what is stored of the project: from memory while the project is quiet, and otherwise from the table. */
export async function startPoll(
  store: StoredReader,
  request: Pick<PollRequest, 'projectId' | 'bootAt'>,
  memory: Pick<ProjectMemory, 'nextEntries'> & QuietMemory,
  beganMs: number,
): Promise<PollStart> {
  const taken = takeQuiet(memory, beganMs);
  // Without both of these a poll must not go on, which is decided where the table is read.
  const hasHistoryEnd = request.bootAt !== undefined || taken?.project.watermark !== undefined;
  const quiet = hasHistoryEnd ? taken : undefined;
  const stored =
    quiet === undefined
      ? await readStored(store, request, memory)
      : { project: quiet.project, commands: [], operations: quiet.operations, hasWork: false };
  return { stored, quiet, beganMs };
}

/** Says how a poll has ended, as far as it decides whether the project is quiet. */
interface PollEnd {
  readonly walk: Pick<PagesResult, 'state' | 'failure'>;
  /** The poll has written a transition or its progress, or has swept. */
  readonly hasWritten: boolean;
  /** These operations were met and are stored. */
  readonly records: readonly OperationRecord[];
  /** This many items have unpublished entries or are commands that have not ended. */
  readonly unfinishedCount: number;
}

/** Remembers the project for the next poll if this one has found it quiet. */
export function endPoll(memory: QuietMemory, { stored, quiet, beganMs }: PollStart, end: PollEnd): void {
  const { project, hasWork } = stored;
  if (project === undefined || hasWork || !hasFoundNothing(end)) return;
  // Where the list is empty there is nothing to set a watermark to.
  const isWalked = project.watermark !== undefined || end.walk.state.head === undefined;
  if (!isWalked || !isAtRest(project)) return;
  const open = end.records.filter(isOpen).map((record) => [record.operation_id, record] as const);
  rememberQuiet(memory, { project, operations: new Map(open) }, quiet, beganMs);
}

function hasFoundNothing({ walk, hasWritten, unfinishedCount, records }: PollEnd): boolean {
  const isRead = walk.failure === undefined && walk.state.outcome === 'complete' && !walk.state.isUnordered;
  return isRead && !hasWritten && unfinishedCount === 0 && records.every(isResting);
}

/** A failed operation waits for minutes until it is retried. Others that are open end within seconds. */
function isResting(record: OperationRecord): boolean {
  const isWaiting = record.status === 'failed' && record.published >= record.revision;
  return isSettled(record) || isWaiting;
}

/** Nothing of the project waits for a later poll: no unfinished walk, no event, no note that a poll has to correct. */
function isAtRest(project: ProjectRecord): boolean {
  const { resume, sweep, recorded_until, is_unordered, is_unread } = project;
  const isWhole = resume === undefined && sweep === undefined;
  const isPlain = recorded_until === undefined && is_unordered !== true && is_unread !== true;
  return isWhole && isPlain && project.published >= project.revision;
}
