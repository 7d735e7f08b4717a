/** Finds out which projects have a record, which says what is history in them. */

import { forEachConcurrently } from '../../../../shared/runtime/concurrency.ts';
import type { BridgeStore } from '../../../../shared/store/adapters/bridge-store.ts';
import { isUnreadable } from '../../../../shared/store/unreadable.ts';

const READS_AT_ONCE = 8;

/** A project whose record the table does not give at the moment is left out: the list brings it. */
export async function recordedProjects(
  store: BridgeStore,
  projectIds: readonly string[],
): Promise<readonly string[]> {
  const recorded = new Set<string>();
  await forEachConcurrently(projectIds, READS_AT_ONCE, async (id) => {
    if (await hasRecord(store, id)) recorded.add(id);
  });
  return projectIds.filter((id) => recorded.has(id));
}

async function hasRecord(store: BridgeStore, projectId: string): Promise<boolean> {
  return store.readProject(projectId).then((record) => record !== undefined, isUnreadable);
}
