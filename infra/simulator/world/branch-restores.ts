/**
 * Defines how a branch becomes what it or another one was (public contract): it is restored from a branch, or a new one is
 * made of a snapshot and takes its place.
 */

import { type Branch, branchPhaseAt, createBranchState, enterContent } from './branch.ts';
import {
  type ChangedBranch,
  type CreatedBranch,
  faultOf,
  hasBranchNamed,
  isParent,
  started,
} from './branch-commands.ts';
import { contentOf, findPoint, type NamedPoint, runBranchChain } from './branch-life.ts';
import { chooseMain } from './compute-commands.ts';
import { runRestart } from './compute-life.ts';
import { drawBranchId } from './names.ts';
import { kinds } from './operation-life.ts';
import {
  done,
  isLocked,
  LOCKED,
  type Outcome,
  operationsStartedBy,
  type Refused,
  refused,
} from './outcome.ts';
import type { ProjectState, WorldOperation } from './project-state.ts';

export interface RestoreRequest {
  readonly branchId: string;
  readonly sourceId: string;
  readonly point: NamedPoint;
  /** The previous state is kept in a branch with this name. */
  readonly preserveUnderName?: string | undefined;
}

export function restoreBranch(
  project: ProjectState,
  request: RestoreRequest,
  nowMs: number,
): Outcome<ChangedBranch> {
  const branch = project.branches.get(request.branchId);
  const source = project.branches.get(request.sourceId);
  if (branch === undefined) return refused(404, 'branch not found');
  if (source === undefined) return refused(404, 'source branch not found');
  const fault = restoreFault(project, request);
  if (fault !== undefined) return fault;
  const point = findPoint(project, request.point, nowMs);
  if (point.kind === 'refused') return point;
  if (isLocked(project, nowMs)) return LOCKED;
  if (branchPhaseAt(source, nowMs).current === 'init') return refused(422, 'branch not ready yet');
  return done(restored(project, { request, branch, source, atMs: point.value }, nowMs));
}

function restoreFault(
  project: ProjectState,
  { branchId, sourceId, point, preserveUnderName }: RestoreRequest,
): Refused | undefined {
  const isOwn = sourceId === branchId;
  if (isOwn && point.lsn === undefined && point.timeMs === undefined)
    return refused(400, 'invalid request: source_lsn or source_timestamp is required');
  if (preserveUnderName === undefined)
    return isOwn || isParent(project, branchId)
      ? refused(400, 'invalid request: preserve_under_name is required')
      : undefined;
  return hasBranchNamed(project, preserveUnderName)
    ? refused(409, 'a branch with this name already exists')
    : undefined;
}

interface Restore {
  readonly request: RestoreRequest;
  readonly branch: Branch;
  readonly source: Branch;
  /** The branch becomes as the source was at this time, in milliseconds since the epoch. */
  readonly atMs: number;
}

function restored(
  project: ProjectState,
  { request, branch, source, atMs }: Restore,
  nowMs: number,
): ChangedBranch {
  const content = contentOf(project, source, atMs);
  const { preserveUnderName } = request;
  const preserved =
    preserveUnderName === undefined ? undefined : preserve(project, branch, preserveUnderName, nowMs);
  const parent = source === branch ? preserved : source;
  const computes = project.computes.filter(
    ({ branch_id, activeSpan }) => branch_id === branch.id && activeSpan !== undefined,
  );
  const between = [{ kind: kinds.create_branch, branchId: branch.id }];
  const operations = operationsStartedBy(project, () => {
    const run = () => runRestart(project, { computes, between, atMs: nowMs, byCommand: true });
    const change = { atMs: nowMs, current: 'resetting', next: 'ready' } as const;
    const end = runBranchChain(branch, change, run, computes.length);
    const created = end.ends[computes.length] ?? end;
    if (created.isFinished) enterContent(branch.contents, { ...content, atMs: created.shownEndMs });
  });
  const isTimeShown = request.point.timeMs !== undefined;
  Object.assign(branch, {
    updatedAtMs: nowMs,
    lastResetAtMs: nowMs,
    origin: parent === undefined ? branch.origin : { branchId: parent.id, atMs, isTimeShown },
  });
  return { branch, operations };
}

/** "All existing child branches will be moved to the newly created branch" (public contract). */
function preserve(project: ProjectState, branch: Branch, name: string, nowMs: number): Branch {
  const id = drawBranchId(project.random);
  const { origin, contents } = branch;
  const preserved: Branch = {
    ...createBranchState({ id, name, createdAtMs: nowMs, origin }, contentOf(project, branch, nowMs)),
    contents: [...contents],
  };
  for (const child of project.branches.values())
    if (child.origin?.branchId === branch.id) child.origin = { ...child.origin, branchId: id };
  project.branches.set(id, preserved);
  return preserved;
}

export interface SnapshotRestore {
  readonly snapshotId: string;
  readonly sourceId: string;
  /** The snapshot shows its source as it was at this time, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly name?: string | undefined;
  /** The branch is meant for the place of this one, which is its source by default. */
  readonly targetId?: string | undefined;
  /** It takes that place at once. */
  readonly isFinal: boolean;
}

/** The new branch is a child of the source, as it was when the snapshot was made. */
export function restoreSnapshot(
  project: ProjectState,
  { snapshotId, sourceId, atMs, name, targetId = sourceId, isFinal }: SnapshotRestore,
  nowMs: number,
): Outcome<CreatedBranch> {
  const [parent, target] = [project.branches.get(sourceId), project.branches.get(targetId)];
  if (parent === undefined || target === undefined) return refused(404, 'branch not found');
  const point = { timeMs: atMs };
  const request = {
    name,
    point,
    isProtected: false,
    computes: [],
    initSource: 'parent-data',
    annotation: {},
  } as const;
  const fault = faultOf(project, request, nowMs);
  if (fault !== undefined) return fault;
  if (isLocked(project, nowMs)) return LOCKED;
  const made = started(project, { request, parent, originMs: atMs }, nowMs);
  made.branch.restored = { snapshotId, targetId, isFinal: false };
  const further = isFinal ? takePlace(project, made.branch, { target, atMs: nowMs }) : [];
  return done({ ...made, operations: [...made.operations, ...further] });
}

/** The branch that was restored gets the name and the computes of the one that it was made for. */
export function finalizeRestore(
  project: ProjectState,
  { branchId, name }: { readonly branchId: string; readonly name?: string | undefined },
  nowMs: number,
): Outcome<readonly WorldOperation[]> {
  const branch = project.branches.get(branchId);
  if (branch === undefined) return refused(404, 'branch not found');
  const target = project.branches.get(branch.restored?.targetId ?? '');
  if (target === undefined || branch.restored?.isFinal !== false)
    return refused(422, 'the branch does not wait for the end of a restore');
  if (name !== undefined && hasBranchNamed(project, name))
    return refused(409, 'a branch with this name already exists');
  if (isLocked(project, nowMs)) return LOCKED;
  return done(takePlace(project, branch, { target, name, atMs: nowMs }));
}

function takePlace(
  project: ProjectState,
  branch: Branch,
  {
    target,
    name,
    atMs,
  }: { readonly target: Branch; readonly name?: string | undefined; readonly atMs: number },
): readonly WorldOperation[] {
  const computes = project.computes.filter(({ branch_id }) => branch_id === target.id);
  for (const compute of computes) compute.branch_id = branch.id;
  if (branch.restored !== undefined) branch.restored = { ...branch.restored, isFinal: true };
  Object.assign(branch, { name: target.name, updatedAtMs: atMs });
  Object.assign(target, { name: name ?? `${target.name} before ${branch.id}`, updatedAtMs: atMs });
  if (project.defaultBranchId === target.id) project.defaultBranchId = branch.id;
  chooseMain(project);
  const active = computes.filter(({ activeSpan }) => activeSpan !== undefined);
  if (active.length === 0) return [];
  return operationsStartedBy(project, () => runRestart(project, { computes: active, atMs, byCommand: true }));
}
