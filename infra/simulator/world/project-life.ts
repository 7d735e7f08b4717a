/**
 * Lets one project live as time passes: its users have sessions, in which they connect, change something, and make,
 * archive and delete branches; its computes suspend after them, and checks run.
 */

import type { Branch } from './branch.ts';
import { endBranch } from './branch-commands.ts';
import { addBranch, removeBranch, runBranchChain } from './branch-life.ts';
import type { Compute } from './compute.ts';
import { runConfig, runStart, runSuspend } from './compute-life.ts';
import { drawWaitMs, kinds, runChain, stepOn } from './operation-life.ts';
import { createStorage } from './project-commands.ts';
import { drawCompute, type Fate, type ProjectState, type Scene } from './project-state.ts';

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
  const { nextSessionMs, scene } = project;
  project.scene = undefined;
  const runNext = () =>
    scene === undefined
      ? runSession(project, nextSessionMs)
      : createBranch(project, nextSessionMs, scene.fate);
  const freeAtMs = hasComputes ? runNext() : nextSessionMs;
  project.nextSessionMs = freeAtMs + drawWaitMs(project.meanGapMs, project.random);
}

/** The scenes of a story begin so long after the start of a world, each in a project of its own. */
const STORY: readonly (Scene & { readonly afterMs: number })[] = [
  { afterMs: 12_000, fate: undefined },
  { afterMs: 18_000, fate: 'heals' },
  { afterMs: 34_000, fate: 'breaks' },
];

/**
 * Lets users make a branch in the first projects that are at rest: one becomes ready at once, one after a failed
 * attempt, and one never.
 */
export function planStory(projects: Iterable<ProjectState>, startAtMs: number): void {
  const resting = [...projects].filter(
    ({ branches, operations }) =>
      branches.size < BRANCHES_MAX &&
      operations.every(({ states }) => (states.at(-1)?.at_ms ?? 0) < startAtMs),
  );
  for (const [place, { afterMs, fate }] of STORY.entries()) {
    const project = resting[place];
    if (project === undefined) return;
    project.scene = { fate };
    project.nextSessionMs = startAtMs + afterMs;
  }
}

function check(project: ProjectState): void {
  const atMs = project.nextCheckMs;
  // The service does not check branches without a compute (specification), nor data that are put away.
  if (project.computes.length > 0 && !project.isDetached)
    runChain(project, { steps: [stepOn(kinds.check_availability, project.main)], atMs });
  const { min, max } = CHECK_GAP_MS;
  project.nextCheckMs = atMs + min + project.random.next() * (max - min);
}

/** A session returns when the project can run other operations, in milliseconds since the epoch. */
type Session = (project: ProjectState, atMs: number) => number;

/**
 * These shares say how often users do what. The specification does not give them, and a demonstration should show all
 * of it.
 */
const SESSIONS: readonly (readonly [share: number, session: Session])[] = [
  [0.25, connect],
  [0.4, configure],
  [0.25, createBranch],
  [0.05, archiveBranch],
  [0.04, unarchiveBranch],
  [0.01, attachTenant],
];

/** A free account shows this `branches_limit` (observed in public payloads). */
const BRANCHES_MAX = 10;

function runSession(project: ProjectState, atMs: number): number {
  let dice = project.random.next();
  for (const [share, session] of SESSIONS) {
    if (dice < share) return session(project, atMs);
    dice -= share;
  }
  return connect(project, atMs);
}

/**
 * A connection to an active compute starts no operation, so a user who finds no idle compute changes something
 * instead.
 */
function connect(project: ProjectState, atMs: number): number {
  const idle = project.computes.filter(
    ({ activeSpan, branch_id }) => !activeSpan && !project.branches.get(branch_id)?.isArchived,
  );
  const compute = pick(project, idle);
  if (compute === undefined) return configure(project, atMs);
  return runStart(project, { computes: [compute], atMs }).freeAtMs;
}

function configure(project: ProjectState, atMs: number): number {
  const active = project.computes.filter(({ activeSpan }) => activeSpan);
  const compute = pick(project, active);
  if (compute === undefined) return runStart(project, { computes: [project.main], atMs }).freeAtMs;
  return runConfig(project, { compute, atMs }).freeAtMs;
}

function createBranch(project: ProjectState, atMs: number, fate?: Fate): number {
  if (project.branches.size >= BRANCHES_MAX) return deleteBranch(project, atMs);
  const compute = drawCompute(project.random, atMs);
  const parent = project.branches.get(project.defaultBranchId);
  if (parent === undefined) return configure(project, atMs);
  const origin = { branchId: parent.id, atMs, isTimeShown: false };
  const branch = addBranch(project, { id: compute.branch_id, createdAtMs: atMs, origin }, parent);
  project.computes.push(compute);
  const create = { ...stepOn(kinds.create_branch, compute), fate };
  return runBranchChain(branch, { atMs, current: 'init', next: 'ready' }, () =>
    runStart(project, { computes: [compute], before: [create], atMs }),
  ).freeAtMs;
}

function deleteBranch(project: ProjectState, atMs: number): number {
  const branch = pick(project, quietBranches(project));
  if (branch === undefined) return configure(project, atMs);
  removeBranch(project, branch);
  return runChain(project, { steps: [{ kind: kinds.delete_timeline, branchId: branch.id }], atMs }).freeAtMs;
}

function archiveBranch(project: ProjectState, atMs: number): number {
  const branch = pick(
    project,
    quietBranches(project).filter(({ isArchived }) => !isArchived),
  );
  if (branch === undefined) return configure(project, atMs);
  const steps = [{ kind: kinds.timeline_archive, branchId: branch.id }];
  const end = runBranchChain(branch, { atMs, current: 'ready', next: 'archived' }, () =>
    runChain(project, { steps, atMs }),
  );
  branch.isArchived = end.isFinished;
  return end.freeAtMs;
}

/** A connection brings an archived branch back. */
function unarchiveBranch(project: ProjectState, atMs: number): number {
  const archived = project.computes.filter(({ branch_id }) => project.branches.get(branch_id)?.isArchived);
  const compute = pick(project, archived);
  const branch = project.branches.get(compute?.branch_id ?? '');
  if (compute === undefined || branch === undefined) return configure(project, atMs);
  const unarchive = stepOn(kinds.timeline_unarchive, compute);
  const end = runBranchChain(branch, { atMs, current: 'archived', next: 'ready' }, () =>
    runStart(project, { computes: [compute], before: [unarchive], atMs }),
  );
  branch.isArchived = end.ends[0]?.isFinished !== true;
  return end.freeAtMs;
}

function attachTenant(project: ProjectState, atMs: number): number {
  return runChain(project, { steps: [stepOn(kinds.tenant_attach, project.main)], atMs }).freeAtMs;
}

/**
 * Finds the branches that have computes, none of which is active, and that no other branch comes from. The default
 * branch is never among them.
 */
function quietBranches({ computes, branches, defaultBranchId }: ProjectState): readonly Branch[] {
  const parents = new Set([...branches.values()].map(({ origin }) => origin?.branchId));
  const isQuiet = ({ id }: Branch) => {
    const own = computes.filter(({ branch_id }) => branch_id === id);
    return own.length > 0 && own.every(({ activeSpan }: Compute) => activeSpan === undefined);
  };
  return [...branches.values()].filter(
    (branch) => branch.id !== defaultBranchId && !parents.has(branch.id) && isQuiet(branch),
  );
}

function pick<Item>({ random }: ProjectState, items: readonly Item[]): Item | undefined {
  return items[Math.floor(random.next() * items.length)];
}
