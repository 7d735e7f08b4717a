/** Reads the record of a project, and writes how far the project is read. */

import type { Progress, ProjectRecord } from '../records/project-record.ts';
import type { Timestamp } from '../records/time.ts';
import { LOWERED } from './items.ts';
import { projectIdOf, projectKey } from './keys.ts';
import { type RecordResult, readableRecord, resultOf } from './records.ts';
import type { Condition, Item, Table, Update } from './table.ts';
import { isUnreadable, type NoteUnreadable } from './unreadable.ts';

export function createProjectRecords(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    /**
     * Resolves to undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be
     * read.
     */
    async readProject(projectId: string): Promise<ProjectRecord | undefined> {
      const item = await table.get(projectKey(accountId, projectId));
      return item && readableRecord('project', item, noteUnreadable);
    },

    /** Resolves to the records of those of the projects that have one, with one call for a hundred of them. */
    async readProjects(
      projectIds: readonly string[],
    ): Promise<ReadonlyMap<string, ProjectRecord | 'unreadable'>> {
      const items = await table.getMany(projectIds.map((id) => projectKey(accountId, id)));
      return new Map(
        items.map((item) => [projectIdOf(item, accountId) ?? '', recordOf(item, noteUnreadable)] as const),
      );
    },

    /**
     * Makes one write. A bound or a resume point is written only beside `boundRead`, the bound that the poll has read, or
     * null when there was none: so a poll that began before a repair has lowered the bound cannot raise it again. Resolves
     * to `conflict` when another bound is stored, and nothing was written.
     */
    async saveProgress(
      projectId: string,
      progress: Progress,
      boundRead: Timestamp | null,
    ): Promise<RecordResult> {
      return resultOf(await table.update(progressUpdate(accountId, projectId, progress, boundRead)));
    },
  };
}

function recordOf(item: Item, noteUnreadable: NoteUnreadable): ProjectRecord | 'unreadable' {
  try {
    return readableRecord('project', item, noteUnreadable);
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}

function progressUpdate(
  accountId: string,
  projectId: string,
  { bound, isLowered, since, resume, sweep, sweptAtMs, arrivals }: Progress,
  boundRead: Timestamp | null,
): Update {
  const isReach = bound !== undefined || resume !== undefined;
  const unchanged: Condition =
    boundRead === null
      ? { kind: 'absent', name: 'watermark' }
      : { kind: 'equals', name: 'watermark', value: boundRead };
  return {
    key: projectKey(accountId, projectId),
    set: {
      kind: 'project',
      account_id: accountId,
      project_id: projectId,
      watermark: bound,
      bound: isLowered ? LOWERED : bound,
      history_until: since,
      swept_at_ms: sweptAtMs,
      ...(resume && { resume: { ...resume } }),
      ...(sweep && { sweep: { ...sweep } }),
      ...(arrivals && { arrivals: { ...arrivals } }),
    },
    remove: [...(resume === null ? ['resume'] : []), ...(sweep === null ? ['sweep'] : [])],
    ...(isReach && { condition: unchanged }),
  };
}
