/** Draws what users do with a project: they connect, change something, and make, archive and delete branches. */

import { addBranch, removeBranch, runBranchChain } from './branches/branch-life.ts';
import { runConfig, runStart } from './computes/compute-life.ts';
import { runChain, stepOn } from './operations/operation-chain.ts';
import { kinds } from './operations/operation-life.ts';
import type { Branch } from './state/branch.ts';
import type { Compute } from './state/compute.ts';
import { drawCompute, type ProjectState } from './state/project-state.ts';

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

function createBranch(project: ProjectState, atMs: number): number {
  if (project.branches.size >= BRANCHES_MAX) return deleteBranch(project, atMs);
  const compute = drawCompute(project.random, atMs);
  const parent = project.branches.get(project.defaultBranchId);
  if (parent === undefined) return configure(project, atMs);
  const origin = { branchId: parent.id, atMs, isTimeShown: false };
  const branch = addBranch(project, { id: compute.branch_id, createdAtMs: atMs, origin }, parent);
  project.computes.push(compute);
  const create = stepOn(kinds.create_branch, compute);
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
