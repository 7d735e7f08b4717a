/** Keeps the projects that the planner polls, and chooses which of them a decision looks at. */

import type { Expectations } from './expected-transitions.ts';
import type { Project } from './next-reading.ts';
import type { ArrivalHistory } from './project-activity.ts';
import { UNLISTED } from './project-list.ts';

/** In an account with more projects, a decision looks at this many of those in which nothing is open or runs, and at the next ones with the next decision. */
const LOOKED_AT_MAX = 5_000;

const UNREAD = {
  isBusy: false,
  polledMs: Number.NEGATIVE_INFINITY,
  failureCount: 0,
  restMs: 0,
  foretoldCount: 0,
  hasLeftovers: false,
  listWorthMs: Number.POSITIVE_INFINITY,
  computesRestMs: 0,
  unseenCount: 0,
  unseenPerMs: 0,
  countedMs: 0,
  recountMs: Number.NEGATIVE_INFINITY,
};

export function createPlannedProjects(expected: Expectations) {
  const byId = new Map<string, Project>();
  /** Holds the same projects, to be looked at by place. It is emptied whenever they change. */
  let inOrder: Project[] = [];
  let place = 0;
  /** In these projects something is open or runs, or their events did not reach the bus. */
  const hot = new Set<Project>();
  return {
    byId,
    hot,
    /** Adds the projects that are not known yet, and returns them. */
    add(ids: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): readonly Project[] {
      inOrder = [];
      return ids.flatMap((id) => {
        if (byId.has(id)) return [];
        const project = { ...expected.welcome(histories?.get(id)), ...UNLISTED, ...UNREAD, id };
        byId.set(id, project);
        return [project];
      });
    },
    /** Forgets the projects, and returns those that were known. */
    remove(ids: readonly string[]): readonly Project[] {
      inOrder = [];
      return ids.flatMap((id) => {
        const project = byId.get(id);
        if (project === undefined) return [];
        byId.delete(id);
        hot.delete(project);
        expected.forget(project);
        return [project];
      });
    },
    /** Notes whether something may happen soon in the project. */
    follow(project: Project): void {
      const { openSinceMs, running, hasMoved, hasLeftovers, foretoldCount } = project;
      if (openSinceMs !== undefined || running.length > 0 || hasMoved || hasLeftovers || foretoldCount > 0)
        hot.add(project);
      else hot.delete(project);
    },
    /** Returns the projects that this decision looks at. */
    lookedAt(): Iterable<Project> {
      if (inOrder.length !== byId.size) inOrder = [...byId.values()];
      if (inOrder.length <= LOOKED_AT_MAX) return inOrder;
      place = (place + LOOKED_AT_MAX) % inOrder.length;
      const part = inOrder.slice(place, place + LOOKED_AT_MAX);
      return [...hot, ...part, ...inOrder.slice(0, LOOKED_AT_MAX - part.length)];
    },
  };
}
