/** Restores a branch to an earlier state, of its own or of another branch (public contract). */

import { runRestart } from '../computes/compute-life.ts';
import { kinds } from '../operations/operation-life.ts';
import { isLocked, LOCKED } from '../operations/project-lock.ts';
import { operationsStartedBy } from '../operations/started.ts';
import { type Branch, branchPhaseAt, createBranchState } from '../state/branch.ts';
import { enterContent } from '../state/branch-content.ts';
import { drawBranchId } from '../state/names.ts';
import { done, type Outcome, type Refused, refused } from '../state/outcome.ts';
import type { ProjectState } from '../state/project-state.ts';
import { runBranchChain } from './branch-life.ts';
import { contentOf, findPoint, type NamedPoint } from './branch-point.ts';
import { hasBranchNamed } from './create-branch.ts';
import type { DeletedBranch } from './delete-branch.ts';
import { isParent } from './update-branch.ts';

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
): Outcome<DeletedBranch> {
  const branch = project.branches.get(request.branchId);
  const source = project.branches.get(request.sourceId);
  if (branch === undefined) return refused(404, 'branch not found');
  if (source === undefined) return refused(404, 'source branch not found');
  const fault = faultOf(project, request);
  if (fault !== undefined) return fault;
  const point = findPoint(project, request.point, nowMs);
  if (point.kind === 'refused') return point;
  if (isLocked(project, nowMs)) return LOCKED;
  if (branchPhaseAt(source, nowMs).current === 'init') return refused(422, 'branch not ready yet');
  return done(restored(project, { request, branch, source, atMs: point.value }, nowMs));
}

function faultOf(
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
): DeletedBranch {
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
