/**
 * Lets one project live as time passes: its users have sessions, its computes suspend after them, and checks run in
 * the background.
 */

import { endBranch } from './branches/delete-branch.ts';
import { runSuspend } from './computes/compute-life.ts';
import { runChain, stepOn } from './operations/operation-chain.ts';
import { drawWaitMs, kinds } from './operations/operation-life.ts';
import { runSession } from './project-session.ts';
import { createStorage } from './projects/create-project.ts';
import type { ProjectState } from './state/project-state.ts';

const HOUR_MS = 3_600_000;

/** Availability checks take a few seconds and were seen two to four hours apart (public contract). */
const CHECK_GAP_MS = { min: 2 * HOUR_MS, max: 4 * HOUR_MS };

/** The storage puts data away "after a long idle period" (specification), whose length is our choice. */
const DETACHED_AFTER_MS = 90 * 24 * HOUR_MS;

interface DueEvent {
  readonly atMs: number;
  readonly happen: () => void;
}

/** Begins a project that a user has just made: first its storage, then its compute. */
export function beginNewLife(project: ProjectState, atMs: number): void {
  beginLife(project, createStorage(project, { atMs }).freeAtMs);
}

/** Begins a project that existed before the simulation started. */
export function beginLife(project: ProjectState, atMs: number): void {
  project.nextSessionMs = atMs + drawWaitMs(project.meanGapMs, project.random);
  project.idleFromMs = atMs;
  const untilCheckMs = project.random.next() * CHECK_GAP_MS.max;
  // A project without sessions is left to its callers, so that the service does not check it by itself.
  const isLeftAlone = project.meanGapMs === Number.POSITIVE_INFINITY;
  project.nextCheckMs = isLeftAlone ? Number.POSITIVE_INFINITY : atMs + untilCheckMs;
}

/** Returns when something happens next; nothing changes before that time. */
export function dueMsOf(project: ProjectState): number {
  return nextEvent(project).atMs;
}

/** Advances strictly in the order of time, so that the size of the steps does not matter. */
export function live(project: ProjectState, toMs: number): void {
  const { operations } = project;
  const countBefore = operations.length;
  for (let event = nextEvent(project); event.atMs <= toMs; event = nextEvent(project)) event.happen();
  // A chain's second operation may be younger than the first of a suspend that falls between the two.
  if (operations.length > countBefore) operations.sort((a, b) => a.created_us - b.created_us);
}

function nextEvent(project: ProjectState): DueEvent {
  const { nextSessionMs, nextCheckMs, computes, branches } = project;
  let next: DueEvent = { atMs: nextSessionMs, happen: () => haveSession(project) };
  if (nextCheckMs < next.atMs) next = { atMs: nextCheckMs, happen: () => check(project) };
  for (const compute of computes) {
    const untilMs = compute.activeSpan?.untilMs ?? Number.POSITIVE_INFINITY;
    if (untilMs < next.atMs)
      next = {
        atMs: untilMs,
        happen: () => void runSuspend(project, { computes: [compute], atMs: untilMs }),
      };
  }
  for (const branch of branches.values()) {
    const { atMs = Number.POSITIVE_INFINITY } = branch.expiry ?? {};
    if (atMs < next.atMs) next = { atMs, happen: () => endBranch(project, branch, { atMs }) };
  }
  const detachMs = detachMsOf(project);
  return detachMs < next.atMs ? { atMs: detachMs, happen: () => detach(project, detachMs) } : next;
}

/** Returns when the storage puts the data away, which is never while a compute is active. */
function detachMsOf({ isDetached, deletedAtMs, computes, activeSpans, idleFromMs }: ProjectState): number {
  const isInUse = computes.some(({ activeSpan }) => activeSpan !== undefined);
  if (isDetached || isInUse || deletedAtMs !== undefined) return Number.POSITIVE_INFINITY;
  return Math.max(idleFromMs, activeSpans.at(-1)?.untilMs ?? 0) + DETACHED_AFTER_MS;
}

function detach(project: ProjectState, atMs: number): void {
  const end = runChain(project, { steps: [{ kind: kinds.tenant_detach }], atMs });
  project.isDetached = end.isFinished;
  // An operation that comes to nothing is tried again after another such time.
  project.idleFromMs = atMs;
}

/** Sessions follow each other, so that no two of their chains conflict (the service would answer 423). */
function haveSession(project: ProjectState): void {
  // Users who have deleted all computes have nothing left to do.
  const hasComputes = project.computes.length > 0;
  const freeAtMs = hasComputes ? runSession(project, project.nextSessionMs) : project.nextSessionMs;
  project.nextSessionMs = freeAtMs + drawWaitMs(project.meanGapMs, project.random);
}

function check(project: ProjectState): void {
  const atMs = project.nextCheckMs;
  // The service does not check branches without a compute (specification), nor data that are put away.
  if (project.computes.length > 0 && !project.isDetached)
    runChain(project, { steps: [stepOn(kinds.check_availability, project.main)], atMs });
  const { min, max } = CHECK_GAP_MS;
  project.nextCheckMs = atMs + min + project.random.next() * (max - min);
}
