/**
 * Keeps the projects that the planner polls, chooses which of them a decision looks at, and keeps for which of them news or the wish
 * of a caller asks for a reading. Both use at most their shares of the permits while others need these, so that no caller can take
 * the readings of all others.
 */

import type { Expectations } from './expected-transitions.ts';
import { UNLISTED } from './list-hints.ts';
import type { Project } from './next-reading.ts';
import type { ArrivalHistory } from './project-activity.ts';

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
  /** Something may happen soon in these projects (`follow`). */
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
    setBack(byMs: number): void {
      for (const project of byId.values()) {
        project.polledMs -= byMs;
        project.restMs -= byMs;
        project.recountMs = Number.NEGATIVE_INFINITY;
      }
    },
    /** Notes whether something may happen soon in the project. */
    follow(project: Project): void {
      const { openSinceMs, running, hasMoved, hasLeftovers, foretoldCount } = project;
      if (openSinceMs !== undefined || running.length > 0 || hasMoved || hasLeftovers || foretoldCount > 0)
        hot.add(project);
      else hot.delete(project);
    },
    /** Returns the projects that this decision looks at. */
    lookedAt(nowMs: number): Iterable<Project> {
      if (inOrder.length !== byId.size) inOrder = fromAnyPlace([...byId.values()], nowMs);
      if (inOrder.length <= LOOKED_AT_MAX) return inOrder;
      place = (place + LOOKED_AT_MAX) % inOrder.length;
      const part = inOrder.slice(place, place + LOOKED_AT_MAX);
      return [...hot, ...part, ...inOrder.slice(0, LOOKED_AT_MAX - part.length)];
    },
  };
}

/**
 * Lets the order of the projects begin with another one whenever it is made. So processes that end before they have read all projects
 * leave out others each time. The golden ratio makes a few milliseconds enough of a difference.
 */
function fromAnyPlace(projects: readonly Project[], nowMs: number): Project[] {
  const place = Math.floor(((nowMs * GOLDEN_RATIO) % 1) * projects.length);
  return [...projects.slice(place), ...projects.slice(0, place)];
}

const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

type Urgency = 'news' | 'wish';

const SHARES: Readonly<Record<Urgency, number>> = { news: 0.5, wish: 0.1 };

/** The share of so many permits can be saved up, so that what is asked for now and then is served at once. */
const SAVED_PERMITS_MAX = 100;

/** Requests for projects that are not known yet are kept for at most this many. Any other one is read soon after it is met, like every newcomer. */
const EARLY_REQUESTS_MAX = 1_000;

export function createAskedReadings() {
  const urgent = new Map<Project, Urgency>();
  const early = new Map<string, Urgency>();
  /** These projects are being read now, because a reading was asked for or the list has shown a change in them. */
  const pressing = new Set<Project>();
  const saved: Record<Urgency, number> = {
    news: SHARES.news * SAVED_PERMITS_MAX,
    wish: SHARES.wish * SAVED_PERMITS_MAX,
  };
  return {
    /** A process that has just started takes news and wishes before it has read the list. `project` is undefined then. */
    ask(id: string, project: Project | undefined, urgency: Urgency): void {
      if (project !== undefined) {
        if (urgent.get(project) !== 'news') urgent.set(project, urgency);
      } else if (early.has(id) || early.size < EARLY_REQUESTS_MAX)
        early.set(id, early.get(id) === 'news' ? 'news' : urgency);
    },
    /** Takes what was asked for before this project was known. */
    meet(project: Project): void {
      const urgency = early.get(project.id);
      early.delete(project.id);
      if (urgency !== undefined) urgent.set(project, urgency);
    },
    /** Returns the project that is read with this permit, within the shares. */
    take(intervalMs: number, nowMs: number): Project | undefined {
      let taken: Project | undefined;
      // A wish comes first. Otherwise it could wait for minutes, until the saved permits of news are used up.
      for (const kind of ['wish', 'news'] as const) {
        saved[kind] = Math.min(SHARES[kind] * SAVED_PERMITS_MAX, saved[kind] + SHARES[kind]);
        if (taken !== undefined || saved[kind] < 1) continue;
        taken = firstOf(kind, intervalMs, nowMs);
        if (taken !== undefined) saved[kind] -= 1;
      }
      return taken;
    },
    /** Returns the first project that was asked for, when nothing else needs the permit. */
    first(intervalMs: number, nowMs: number): Project | undefined {
      return firstOf('news', intervalMs, nowMs) ?? firstOf('wish', intervalMs, nowMs);
    },
    begin(project: Project): void {
      if (urgent.delete(project) || project.hasMoved) pressing.add(project);
    },
    end: (project: Project): boolean => pressing.delete(project),
    forget(project: Project): void {
      urgent.delete(project);
      pressing.delete(project);
    },
    isAwaited: (): boolean => pressing.size > 0 || waitingCount() > 0,
    waitingCount,
  };

  /** Counts the projects that wait. One that fails has been tried. */
  function waitingCount(): number {
    return [...urgent.keys()].filter(({ failureCount }) => failureCount === 0).length;
  }

  /** Returns the first project that can be read. News waits for no interval. */
  function firstOf(kind: Urgency, intervalMs: number, nowMs: number): Project | undefined {
    for (const [project, urgency] of urgent) {
      if (urgency !== kind || project.isBusy || project.restMs > nowMs) continue;
      if (kind === 'news' || nowMs >= project.polledMs + intervalMs) return project;
    }
    return undefined;
  }
}
