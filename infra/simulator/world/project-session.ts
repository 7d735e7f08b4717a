/** Draws what users do with a project: they connect, change something, and make, archive and delete branches. */

import type { Compute } from './compute.ts';
import { putOffSuspend, runStart } from './compute-life.ts';
import { runChain } from './operation-chain.ts';
import { kinds } from './operation-life.ts';
import { drawCompute, type ProjectState } from './project-state.ts';

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

export function runSession(project: ProjectState, atMs: number): number {
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
  const idle = project.computes.filter(({ activeSpan, isArchived }) => !isArchived && !activeSpan);
  const compute = pick(project, idle);
  if (compute === undefined) return configure(project, atMs);
  return runStart(project, { compute, kinds: [], atMs }).freeAtMs;
}

function configure(project: ProjectState, atMs: number): number {
  const active = project.computes.filter(({ activeSpan }) => activeSpan);
  const compute = pick(project, active);
  if (compute === undefined) return runStart(project, { compute: project.main, kinds: [], atMs }).freeAtMs;
  const { endMs, freeAtMs } = runChain(project, { compute, kinds: [kinds.apply_config], atMs });
  putOffSuspend(project, compute, endMs);
  return freeAtMs;
}

function createBranch(project: ProjectState, atMs: number): number {
  if (project.computes.length >= BRANCHES_MAX) return deleteBranch(project, atMs);
  const compute = drawCompute(project.random, atMs);
  project.branchIds.add(compute.branch_id);
  project.computes.push(compute);
  return runStart(project, { compute, kinds: [kinds.create_branch], atMs }).freeAtMs;
}

function deleteBranch(project: ProjectState, atMs: number): number {
  const compute = pick(project, quietBranches(project));
  if (compute === undefined) return configure(project, atMs);
  project.computes.splice(project.computes.indexOf(compute), 1);
  project.branchIds.delete(compute.branch_id);
  return runChain(project, { compute, kinds: [kinds.delete_timeline], atMs }).freeAtMs;
}

function archiveBranch(project: ProjectState, atMs: number): number {
  const awake = quietBranches(project).filter(({ isArchived }) => !isArchived);
  const compute = pick(project, awake);
  if (compute === undefined) return configure(project, atMs);
  compute.isArchived = true;
  return runChain(project, { compute, kinds: [kinds.timeline_archive], atMs }).freeAtMs;
}

/** A connection brings an archived branch back. */
function unarchiveBranch(project: ProjectState, atMs: number): number {
  const archived = project.computes.filter(({ isArchived }) => isArchived);
  const compute = pick(project, archived);
  if (compute === undefined) return configure(project, atMs);
  compute.isArchived = false;
  return runStart(project, { compute, kinds: [kinds.timeline_unarchive], atMs }).freeAtMs;
}

function attachTenant(project: ProjectState, atMs: number): number {
  return runChain(project, { compute: project.main, kinds: [kinds.tenant_attach], atMs }).freeAtMs;
}

function quietBranches({ computes, main }: ProjectState): readonly Compute[] {
  return computes.filter((compute) => compute !== main && compute.activeSpan === undefined);
}

function pick<Item>({ random }: ProjectState, items: readonly Item[]): Item | undefined {
  return items[Math.floor(random.next() * items.length)];
}
