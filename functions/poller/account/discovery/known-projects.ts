/** Keeps the projects of an account, as a warm environment knows them. */

import { emptyMemory, type ProjectMemory } from '../../project/project-memory.ts';
import type { Absence } from './absence.ts';

export interface KnownProjects {
  /** Maps the id of each project that is polled to what is remembered of it. */
  readonly memories: Map<string, ProjectMemory>;
  /** This process has read or written the records of these projects. An earlier process has left the others. */
  readonly sighted: Set<string>;
  /** The operations of these projects answer 404, and evidence of their absence is being collected. */
  readonly absences: Map<string, Absence>;
  /** These fixed projects are published as unreachable, and are polled seldom. */
  readonly unreachable: Set<string>;
}

export function noKnownProjects(): KnownProjects {
  return {
    memories: new Map(),
    sighted: new Set(),
    absences: new Map(),
    unreachable: new Set(),
  };
}

/** Returns what is remembered of the project, which is one of those that are polled from now on. */
export function rememberProject({ memories }: KnownProjects, projectId: string): ProjectMemory {
  const memory = memories.get(projectId) ?? emptyMemory();
  memories.set(projectId, memory);
  return memory;
}

/** Returns all polled projects that are not published as unreachable. */
export function visibleIdsOf({ memories, unreachable }: KnownProjects): readonly string[] {
  return [...memories.keys()].filter((id) => !unreachable.has(id));
}
