/**
 * Decides when a new branch can be used. B1: a branch becomes ready at most once, and fails at most once before that.
 * B2: it is ready when the operation that created it has finished and everything that was started with it has finished
 * or was skipped. B3: a branch whose creation nobody has seen as news has no record.
 */

import { areTogether, hasEnded, knownEnds } from './derivations.ts';
import { append, EMPTY_JOURNAL, withEventId } from './journal.ts';
import type { BranchEntry } from './journal-entries.ts';
import type { BranchRecord, Readiness } from './journal-record.ts';
import type { OperationRecord } from './operation-record.ts';
import { isoTimeOf } from './time.ts';

/**
 * Returns the branch with those operations that belong to its creation, or undefined when there is no creation to
 * follow. `operations` are all known operations of the branch.
 */
export function joinCreation(
  recorded: BranchRecord | undefined,
  operations: readonly OperationRecord[],
): BranchRecord | undefined {
  const branch = recorded ?? newBranch(operations);
  if (branch?.readiness !== 'pending') return branch;
  const created = { created_at: branch.began_at };
  const joined = operations
    .filter(
      (operation) =>
        areTogether(operation, created) && !branch.operation_ids.includes(operation.operation_id),
    )
    .map(({ operation_id }) => operation_id);
  return joined.length === 0 ? branch : { ...branch, operation_ids: [...branch.operation_ids, ...joined] };
}

/** Returns those operations of the creation that must be read before its readiness can be decided. */
export function unknownOperations(
  branch: BranchRecord,
  known: ReadonlyMap<string, OperationRecord>,
): readonly string[] {
  if (branch.readiness === 'ready') return [];
  // An operation that has ended well stays so here. Any other one may have ended, or ended well after all, since it was read.
  const isKnown = (id: string) => {
    const operation = known.get(id);
    return operation !== undefined && knownEnds(operation).some((end) => hasEndedWell(end, branch));
  };
  return branch.operation_ids.filter((id) => !isKnown(id));
}

/** Returns the branch with its event, or the same branch while it waits. */
export function decideReadiness(
  branch: BranchRecord,
  known: ReadonlyMap<string, OperationRecord>,
  nowMs: number,
): BranchRecord {
  const operations = branch.operation_ids.flatMap((id) => known.get(id) ?? []);
  const members = operations.map((operation) => atItsEnd(operation, branch));
  const isWhole = members.length === branch.operation_ids.length;
  const readiness = readinessOf(branch, members, isWhole);
  if (readiness === 'pending' || readiness === branch.readiness || branch.readiness === 'ready')
    return branch;
  return { ...branch, readiness, ...append(branch, entryOf(branch, members, { readiness, nowMs })) };
}

/** Returns undefined when none of the operations creates the branch. */
function newBranch(operations: readonly OperationRecord[]): BranchRecord | undefined {
  const creation = operations
    .filter(({ started_with }) => started_with !== undefined)
    .toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at))[0];
  if (creation?.branch_id === undefined) return undefined;
  const { account_id, project_id, branch_id, operation_id, created_at, command } = creation;
  return {
    kind: 'branch',
    ...EMPTY_JOURNAL,
    account_id,
    project_id,
    branch_id,
    readiness: 'pending',
    created_by: operation_id,
    began_at: created_at,
    operation_ids: [operation_id, ...(creation.started_with ?? [])],
    command,
  };
}

/** `isWhole` says that all operations of the creation are known. */
function readinessOf(
  branch: BranchRecord,
  operations: readonly OperationRecord[],
  isWhole: boolean,
): Readiness {
  if (operations.some((operation) => hasEnded(operation) && !hasEndedWell(operation, branch)))
    return 'failed';
  return isWhole && operations.every(hasEnded) ? 'ready' : 'pending';
}

/**
 * Returns the operation at its last good end, or at its last end. One that ended well has done its part of the creation, also when it
 * was reopened. So whichever state of it a process knows, no process can take back what another one has decided.
 */
function atItsEnd(operation: OperationRecord, branch: BranchRecord): OperationRecord {
  const ends = knownEnds(operation);
  return ends.findLast((end) => hasEndedWell(end, branch)) ?? ends.at(-1) ?? operation;
}

/** A creation that was skipped has created nothing. Any other operation was skipped because it did not have to run. */
function hasEndedWell({ operation_id, status }: OperationRecord, { created_by }: BranchRecord): boolean {
  return status === 'finished' || (status === 'skipped' && operation_id !== created_by);
}

function entryOf(
  branch: BranchRecord,
  operations: readonly OperationRecord[],
  { readiness, nowMs }: { readonly readiness: 'ready' | 'failed'; readonly nowMs: number },
): BranchEntry {
  const { account_id, project_id, branch_id, created_by } = branch;
  const type = readiness === 'ready' ? ('branch_ready' as const) : ('branch_failed' as const);
  const endpointIds = operations.flatMap(({ endpoint_id }) => endpoint_id ?? []);
  return withEventId([account_id, project_id, branch_id, created_by], {
    type,
    revision: branch.revision + 1,
    observed_at: isoTimeOf(nowMs),
    operations: operations.map(({ operation_id, action, status, failures_count }) => ({
      operation_id,
      action,
      status,
      failures_count,
    })),
    endpoint_ids: [...new Set(endpointIds)],
    ...durationOf(branch, operations),
  });
}

/** It is absent when the upstream's times cannot be read. */
function durationOf({ began_at }: BranchRecord, operations: readonly OperationRecord[]) {
  const lastMs = Math.max(...operations.map(({ updated_at }) => Date.parse(updated_at)));
  const durationMs = lastMs - Date.parse(began_at);
  return Number.isNaN(durationMs) ? {} : { duration_ms: Math.max(0, durationMs) };
}
