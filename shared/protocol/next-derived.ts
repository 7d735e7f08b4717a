/** Decides the next record of a branch or a compute, and reads the operations that the decision needs. */

import { decideReadiness, joinCreation, unknownOperations } from '../core/derived/branch-readiness.ts';
import { decideComputeStates } from '../core/derived/compute-state.ts';
import { pendingEnds } from '../core/derived/operation-ends.ts';
import type { Subject } from '../core/derived/subjects.ts';
import type { BranchRecord } from '../core/records/branch-record.ts';
import type { DerivedRecord } from '../core/records/journal-record.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import type { OperationsReader } from './settle-commands.ts';

export interface NextDeps {
  readonly store: OperationsReader;
  readonly clock: Clock;
}

/** Resolves to undefined when nothing is known of the branch or compute, and to `recorded` when nothing changes. */
export async function nextDerived(
  deps: NextDeps,
  subject: Subject,
  known: readonly OperationRecord[],
  recorded: DerivedRecord | undefined,
): Promise<DerivedRecord | undefined> {
  const own = known.filter(({ project_id }) => project_id === subject.project_id);
  if (subject.kind === 'branch') {
    const operations = own.filter(({ branch_id }) => branch_id === subject.id);
    return nextBranch(deps, subject, operations, recorded?.kind === 'branch' ? recorded : undefined);
  }
  const before = recorded?.kind === 'compute' ? recorded : undefined;
  const ends = subject.operations.flatMap(pendingEnds);
  return decideComputeStates(before, ends, neighboursOf(subject, own), deps.clock.now());
}

/** The operations of the branch show whether a compute was restarted, or suspended for a restore. */
function neighboursOf(
  { id, operations }: Subject,
  known: readonly OperationRecord[],
): readonly OperationRecord[] {
  const branchIds = new Set(operations.flatMap(({ branch_id }) => branch_id ?? []));
  return known.filter(
    ({ endpoint_id, branch_id }) =>
      endpoint_id === id || (branch_id !== undefined && branchIds.has(branch_id)),
  );
}

/**
 * Operations of the creation that are not known to have ended are read after the end of this one was recorded. So of
 * two processes that record two last ends, at least one sees both. Each end that is not acknowledged is decided in its
 * turn, also when the operation has left it since, as a process would that knew no more.
 */
async function nextBranch(
  { store, clock }: NextDeps,
  { project_id, operations: news }: Subject,
  operations: readonly OperationRecord[],
  recorded: BranchRecord | undefined,
): Promise<BranchRecord | undefined> {
  const joined = joinCreation(recorded, operations);
  if (joined === undefined) return undefined;
  const known = new Map(operations.map((operation) => [operation.operation_id, operation]));
  const members = news.filter(({ operation_id }) => joined.operation_ids.includes(operation_id));
  if (members.length === 0) return recorded;
  const ends = members.flatMap(pendingEnds);
  // What joins the creation now may have ended before, and its end comes only once.
  if (joined === recorded && ends.length === 0) return recorded;
  const unknown = unknownOperations(joined, known);
  const read = unknown.length > 0 ? (await store.readOperations(project_id, unknown)).records : [];
  const all = new Map([...known, ...read]);
  const atEach = [...ends.map((end) => new Map(all).set(end.operation_id, end)), all];
  const next = atEach.reduce((branch, then) => decideReadiness(branch, then, clock.now()), joined);
  const hasEvent = next.revision !== joined.revision;
  return hasEvent || next === recorded ? next : noted(next);
}

/** A change without an event counts as a revision, too, so that two processes cannot both make one. */
function noted(branch: BranchRecord): BranchRecord {
  const revision = branch.revision + 1;
  return { ...branch, revision, published: revision };
}
