/** Derives what the status of the account says of its projects, of its trouble and of what is left to publish. */

import type { AccountMemory } from './account-memory.ts';
import { type KnownProjects, visibleIdsOf } from './discovery/known-projects.ts';
import type { Listings } from './discovery/listings.ts';
import type { Leftovers } from './relay/leftovers.ts';
import {
  lastCompleteWalkAtMs,
  oldestReadingMs,
  startReadingAges,
  unreadProjects,
} from './status/project-readings.ts';
import type { StatusSources } from './status/publish-status.ts';

export function statusSources(
  { projects, listings, readings }: Pick<AccountMemory, 'projects' | 'listings' | 'readings'>,
  leftovers: Leftovers,
  trouble: StatusSources['trouble'],
): StatusSources {
  return {
    summarise(nowMs) {
      const visibleIds = visibleIdsOf(projects);
      startReadingAges(readings, visibleIds, nowMs);
      return {
        project_count: projects.memories.size,
        lastCompleteWalkAtMs: lastCompleteWalkAtMs(readings, visibleIds),
        unreadSinceMs: oldestReadingMs(readings, visibleIds),
        unread: unreadProjects(readings, (id) => isStillKnown(projects, listings, id)),
      };
    },
    trouble,
    oldestLeftoverAtMs: () => leftovers.oldestAtMs,
  };
}

/** Before the projects are listed, only the report of the previous process says which projects there are. */
function isStillKnown(
  { memories, unreachable }: KnownProjects,
  { endedAtMs }: Listings,
  id: string,
): boolean {
  return (endedAtMs === undefined || memories.has(id)) && !unreachable.has(id);
}
