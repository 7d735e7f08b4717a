/** Reads the record of a project, and writes how far the project is read. */

import type { ProjectRecord } from '../../core/records/project-record.ts';
import type { Progress } from '../../core/records/reading-progress.ts';
import { projectIdOf, projectKey } from '../keys.ts';
import type { Condition, Item, Table, Update } from '../table.ts';
import { isUnreadable, type NoteUnreadable } from '../unreadable.ts';
import { readableRecord } from './readable-records.ts';
import { type RecordResult, resultOf } from './record-result.ts';

export function createProjectRecords(
  table: Pick<Table, 'get' | 'getMany' | 'update'>,
  accountId: string,
  noteUnreadable: NoteUnreadable,
) {
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
     * Makes one write. Resolves to `conflict` when the stored watermark is at least as new as this one, or is another one
     * than the poll has read, and nothing was written.
     */
    async saveProgress(projectId: string, progress: Progress): Promise<RecordResult> {
      return resultOf(await table.update(progressUpdate(accountId, projectId, progress)));
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

function progressUpdate(accountId: string, projectId: string, progress: Progress): Update {
  const { watermark, ifWatermark, resume, sweep, sweptAtMs, sweepCount, arrivals, listEnd } = progress;
  const { isUnordered, recordedUntil, recordedAbove } = progress;
  const reach = { recorded_until: recordedUntil, recorded_above: recordedAbove };
  const removed = { resume, sweep, is_unordered: isUnordered, ...reach };
  return {
    key: projectKey(accountId, projectId),
    set: {
      kind: 'project',
      account_id: accountId,
      project_id: projectId,
      watermark,
      swept_at_ms: sweptAtMs,
      sweep_count: sweepCount,
      list_end: listEnd,
      ...(isUnordered && { is_unordered: true }),
      ...(recordedUntil && { recorded_until: recordedUntil }),
      ...(recordedAbove && { recorded_above: { ...recordedAbove } }),
      ...(resume && { resume: { ...resume } }),
      ...(sweep && { sweep: { ...sweep } }),
      ...(arrivals && { arrivals: { ...arrivals } }),
    },
    remove: REMOVABLE.filter((name) => removed[name] === null),
    ...conditionOf(watermark, ifWatermark),
  };
}

const REMOVABLE = ['resume', 'sweep', 'is_unordered', 'recorded_until', 'recorded_above'] as const;

/** A watermark only ever moves forwards, unless the poll names the stored one, because that lies in the future. */
function conditionOf(
  watermark: Progress['watermark'],
  ifWatermark: Progress['ifWatermark'],
): Pick<Update, 'condition'> {
  const isAbsent: Condition = { kind: 'absent', name: 'watermark' };
  if (ifWatermark === null) return { condition: isAbsent };
  if (ifWatermark !== undefined)
    return { condition: { kind: 'equals', name: 'watermark', value: ifWatermark } };
  if (watermark === undefined) return {};
  return {
    condition: { kind: 'any', of: [isAbsent, { kind: 'less', name: 'watermark', value: watermark }] },
  };
}
