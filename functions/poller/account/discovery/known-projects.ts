/**
 * Keeps the projects of an account, as a warm environment knows them, and decides when a project counts as gone. A
 * 404 of its operations means that it is deleted or that the key has no permission, and a list without it may be
 * partial.
 */

import { MINUTE_MS, type Timestamp } from '../../../../shared/records/time.ts';
import type { Listing } from '../../planner/list-hints.ts';
import { emptyMemory, type ProjectMemory } from '../../project/project-memory.ts';

export interface KnownProjects {
  /** Maps the id of each project that is polled to what is remembered of it. */
  readonly memories: Map<string, ProjectMemory>;
  /** This process has read or written the records of these projects. An earlier process has left the others. */
  readonly sighted: Set<string>;
  /** The operations of these projects answer 404, and evidence of their absence is being collected. */
  readonly absences: Map<string, Absence>;
  /** These fixed projects are published as unreachable, and are polled seldom. */
  readonly unreachable: Set<string>;
  /** These projects wait until another account says whether it still has them. */
  readonly awaited: Map<string, Awaited>;
}

/** A project that the list has shown, and that waits for the answer of another account. */
interface Awaited {
  /** This process has waited since then. */
  readonly fromMs: number;
  /** All that the other accounts have of the project was read last at this time, or would have been at the first look. */
  readonly lookedAtMs: number;
  /** What had ended before this is history, if the project is new. */
  readonly since: Timestamp | undefined;
}

export function noKnownProjects(): KnownProjects {
  return {
    memories: new Map(),
    sighted: new Set(),
    absences: new Map(),
    unreachable: new Set(),
    awaited: new Map(),
  };
}

/**
 * After this time, in which the process stood still, only the list says whether the project is still there. Looks are
 * seconds apart.
 */
const LOOK_AGAIN_MS_MAX = MINUTE_MS;

/** Returns the projects for which the other accounts are looked at again, before the list is read again. */
export function awaitedIds({ awaited }: KnownProjects, nowMs: number): readonly string[] {
  const isCurrent = ({ lookedAtMs }: Awaited) => nowMs - lookedAtMs <= LOOK_AGAIN_MS_MAX;
  return [...awaited].flatMap(([id, each]) => (isCurrent(each) ? id : []));
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

/** Says what is known of a project since the first 404 of its operations. A good answer ends the absence. */
export interface Absence {
  readonly firstNotFoundAtMs: number;
  readonly lastNotFoundAtMs: number;
  readonly notFoundCount: number;
  /** Counts the consecutive listings that began after the first 404 and do not show the project. */
  readonly absentCount: number;
  /** One of these listings leaves a doubt. */
  readonly isDoubtful: boolean;
  /** A page of the list showed the project last at this time, although its operations answer 404. */
  readonly lastListedAtMs: number | undefined;
}

/** Fewer 404s than this may be an accident of the service, and no listing is read for them. */
const NOT_FOUND_COUNT_MIN = 3;

/**
 * When the listings leave no doubt, two of them are enough, with 404s for a minute, which is the shortest period of
 * an alarm.
 */
const CERTAIN = { absentCount: 2, spanMs: MINUTE_MS } as const;

/** A row that cannot be read may be the project's own, and it may stay so for hours. */
export const DOUBTFUL = { absentCount: 3, spanMs: 10 * MINUTE_MS } as const;

/**
 * All projects that answer 404 together get at most this share of the rate limit. In a large deletion they would
 * crowd out the others.
 */
export const NOT_FOUND_SHARE_MAX = 0.2;

/** A fixed project that is gone is read once in this time, to see whether it is back. */
const GONE_INTERVAL_MS = 15 * MINUTE_MS;

/** `known` is undefined at the first 404. */
export function afterNotFound(known: Absence | undefined, nowMs: number): Absence {
  const first = {
    firstNotFoundAtMs: nowMs,
    notFoundCount: 0,
    absentCount: 0,
    isDoubtful: false,
    lastListedAtMs: undefined,
  };
  const before = known ?? first;
  return { ...before, lastNotFoundAtMs: nowMs, notFoundCount: before.notFoundCount + 1 };
}

/**
 * Returns the absence after a listing that has ended. It says nothing if it began before the first 404, or has shown the
 * project.
 */
export function afterListing(absence: Absence, listing: Listing): Absence {
  const { firstNotFoundAtMs, absentCount, isDoubtful, lastListedAtMs = Number.NEGATIVE_INFINITY } = absence;
  if (listing.startedAtMs < firstNotFoundAtMs || listing.startedAtMs <= lastListedAtMs) return absence;
  return { ...absence, absentCount: absentCount + 1, isDoubtful: isDoubtful || !isCertain(listing) };
}

/** Returns the absence after a page of the list has shown the project: the count of listings without it begins anew. */
export function afterShown(absence: Absence, nowMs: number): Absence {
  return { ...absence, absentCount: 0, isDoubtful: false, lastListedAtMs: nowMs };
}

/**
 * Another account may list a project that has moved, and its list is read within this time. For so long a project that is gone
 * waits for it.
 */
export const HELD_MS = 5 * MINUTE_MS;

/** Without a list the 404s are the only evidence. They have to last for `spanMsMin` in any case. */
export function isGone(absence: Absence, isListed: boolean, spanMsMin = 0): boolean {
  const { firstNotFoundAtMs, lastNotFoundAtMs, notFoundCount, absentCount, isDoubtful } = absence;
  const asked = isListed && !isDoubtful ? CERTAIN : DOUBTFUL;
  const areListingsEnough = !isListed || absentCount >= asked.absentCount;
  const spanMs = lastNotFoundAtMs - firstNotFoundAtMs;
  return (
    notFoundCount >= NOT_FOUND_COUNT_MIN && areListingsEnough && spanMs >= Math.max(asked.spanMs, spanMsMin)
  );
}

/**
 * Says whether a listing is asked for to decide about this project soon. It is not while the list shows the project or leaves a doubt: then
 * the usual listings decide.
 */
export function asksForListing({ notFoundCount, lastListedAtMs, absentCount, isDoubtful }: Absence): boolean {
  if (notFoundCount < NOT_FOUND_COUNT_MIN || absentCount >= CERTAIN.absentCount) return false;
  return !isDoubtful && (absentCount > 0 || lastListedAtMs === undefined);
}

/**
 * Says whether the listing has shown every project that existed, so that a project that appears later is news. A row
 * that cannot be read may hide a project, so the list is read a few times more. An unavailable project is known all
 * the same.
 */
export function provesFirstListing(listing: Listing, listingCount: number): boolean {
  const isComplete = listing.malformedRowCount === 0 && listing.end === 'end';
  return isComplete || listingCount >= DOUBTFUL.absentCount;
}

/** Returns the milliseconds for which a project that answers 404 rests at least. */
export function restMs({
  notFoundProjectCount,
  requestsPerMinute,
  isKnownGone,
}: {
  readonly notFoundProjectCount: number;
  readonly requestsPerMinute: number;
  readonly isKnownGone: boolean;
}): number {
  const shareMs = (notFoundProjectCount * MINUTE_MS) / (NOT_FOUND_SHARE_MAX * requestsPerMinute);
  return isKnownGone ? Math.max(GONE_INTERVAL_MS, shareMs) : shareMs;
}

/**
 * Says whether the listing leaves no doubt. The service itself says that a list with unavailable projects is
 * incomplete.
 */
function isCertain({ unavailableCount, malformedRowCount, end }: Listing): boolean {
  return unavailableCount === 0 && malformedRowCount === 0 && end === 'end';
}
