/** The projects of an account, as a warm environment knows them. */

import { emptyMemory, type ProjectMemory } from '../../project/project-memory.ts';
import type { Absence } from './absence.ts';

export interface KnownProjects {
  /** What is remembered of each project that is polled, by its id. */
  readonly memories: Map<string, ProjectMemory>;
  /** Those of them whose record this process has read or written; the others were left over by an earlier process. */
  readonly sighted: Set<string>;
  /** Projects whose operations answer 404 and that wait for evidence. */
  readonly absences: Map<string, Absence>;
  /** Fixed projects that are published as unreachable; they are polled seldom. */
  readonly unreachable: Set<string>;
}

export function noKnownProjects(): KnownProjects {
  return { memories: new Map(), sighted: new Set(), absences: new Map(), unreachable: new Set() };
}

/** What is remembered of the project; from now on it is one of those that are polled. */
export function rememberProject({ memories }: KnownProjects, projectId: string): ProjectMemory {
  const memory = memories.get(projectId) ?? emptyMemory();
  memories.set(projectId, memory);
  return memory;
}

/** Of all projects that are polled, those that are not published as unreachable. */
export function visibleIdsOf({ memories, unreachable }: KnownProjects): readonly string[] {
  return [...memories.keys()].filter((id) => !unreachable.has(id));
}
