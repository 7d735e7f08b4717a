/** Reads the records of the projects that a page of the list shows. */

import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import type { BridgeStore } from '../../../../shared/store/adapters/bridge-store.ts';
import { isUnreadable } from '../../../../shared/store/unreadable.ts';

/** It is undefined when the project has no record. */
export type ReadProject = ProjectRecord | 'unreadable' | undefined;

/** Up to this number, the records of projects are read side by side when they are needed, and otherwise together. */
const READ_SINGLY_MAX = 8;

/** Returns what reads the record of one of these projects. Those of many projects are read before it is called. */
export async function projectReader(
  store: BridgeStore,
  projectIds: readonly string[],
): Promise<(projectId: string) => Promise<ReadProject>> {
  if (projectIds.length <= READ_SINGLY_MAX) return (id) => readOne(store, id);
  const records = await store.readProjects(projectIds);
  return async (id) => records.get(id);
}

async function readOne(store: BridgeStore, projectId: string): Promise<ReadProject> {
  try {
    return await store.readProject(projectId);
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}
