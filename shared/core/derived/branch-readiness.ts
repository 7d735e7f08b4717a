/**
 * Decides when a new branch can be used. B1: a branch becomes ready at most once, and fails at most once before that.
 * B2: it is ready when the operation that created it has finished and everything that was started with it has finished
 * or was skipped. B3: a branch whose creation nobody has seen as news has no record.
 */

import { eventId } from '../journal/event-id.ts';
import { append, EMPTY_JOURNAL } from '../journal/journal.ts';
import type { BranchEntry } from '../journal/journal-entries.ts';
import type { BranchRecord, FinishedCreation, Readiness } from '../records/branch-record.ts';
import { HISTORY_AFTER_MS } from '../records/history.ts';
import type { OperationRecord } from '../records/operation-record.ts';
import { isoTimeOf } from '../time/timestamp.ts';
import { areTogether } from './derivations.ts';
import { hasEnded, knownEnds } from './operation-ends.ts';

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
    if (id === branch.created_by && branch.creation !== undefined) return true;
    const operation = known.get(id);
    return operation !== undefined && knownEnds(operation).some((end) => hasEndedWell(end, branch));
  };
  return branch.operation_ids.filter((id) => !isKnown(id));
}

/**
 * Returns the branch with its event. While it waits, returns the branch with its creation as soon as that has finished, and otherwise the
 * same branch.
 */
export function decideReadiness(
  branch: BranchRecord,
  known: ReadonlyMap<string, OperationRecord>,
  nowMs: number,
): BranchRecord {
  const members = branch.operation_ids.flatMap((id) => memberOf(branch, id, known) ?? []);
  const creation = members.find(({ operation_id }) => operation_id === branch.created_by);
  const isWhole =
    members.length === branch.operation_ids.length ||
    (creation !== undefined && mayBeForgotten(branch, nowMs));
  const readiness = readinessOf(branch, members, isWhole);
  if (readiness === 'pending') return remembering(branch, creation);
  if (readiness === branch.readiness || branch.readiness === 'ready') return branch;
  return { ...branch, readiness, ...append(branch, entryOf(branch, members, { readiness, nowMs })) };
}

/** What the decision needs of an operation that belongs to the creation. */
type Member = FinishedCreation &
  Pick<OperationRecord, 'operation_id' | 'status' | 'watch_ended' | 'endpoint_id'>;

/** Returns undefined when the operation is not known. */
function memberOf(
  branch: BranchRecord,
  id: string,
  known: ReadonlyMap<string, OperationRecord>,
): Member | undefined {
  if (id === branch.created_by && branch.creation !== undefined)
    return { ...branch.creation, operation_id: id, status: 'finished', watch_ended: false };
  const operation = known.get(id);
  return operation && atItsEnd(operation, branch);
}

/** A branch that has failed may have an event to publish, so it must change only together with an event. */
function remembering(branch: BranchRecord, creation: Member | undefined): BranchRecord {
  if (branch.readiness !== 'pending' || branch.creation !== undefined) return branch;
  if (creation?.status !== 'finished') return branch;
  const { action, failures_count, updated_at } = creation;
  return { ...branch, creation: { action, failures_count, updated_at } };
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

/**
 * The table forgets an operation weeks after its end. A bad end would have made the branch fail. So an operation that is missing
 * after these weeks, while the branch still waits, has ended well. The creation itself is an exception, because its end may
 * never have been read: the branch remembers it.
 */
function mayBeForgotten({ readiness, began_at }: BranchRecord, nowMs: number): boolean {
  return readiness === 'pending' && nowMs - Date.parse(began_at) > HISTORY_AFTER_MS;
}

/** `isWhole` says that the creation has no other operation whose end must be awaited. */
function readinessOf(branch: BranchRecord, operations: readonly Member[], isWhole: boolean): Readiness {
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
function hasEndedWell({ operation_id, status }: Member, { created_by }: BranchRecord): boolean {
  return status === 'finished' || (status === 'skipped' && operation_id !== created_by);
}

function entryOf(
  branch: BranchRecord,
  operations: readonly Member[],
  { readiness, nowMs }: { readonly readiness: 'ready' | 'failed'; readonly nowMs: number },
): BranchEntry {
  const { account_id, project_id, branch_id, created_by } = branch;
  const type = readiness === 'ready' ? 'branch_ready' : 'branch_failed';
  const endpointIds = operations.flatMap(({ endpoint_id }) => endpoint_id ?? []);
  return {
    type,
    id: eventId([account_id, project_id, branch_id, type, created_by]),
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
  };
}

/** It is absent when the upstream's times cannot be read. */
function durationOf({ began_at }: BranchRecord, operations: readonly Member[]) {
  const lastMs = Math.max(...operations.map(({ updated_at }) => Date.parse(updated_at)));
  const durationMs = lastMs - Date.parse(began_at);
  return Number.isNaN(durationMs) ? {} : { duration_ms: Math.max(0, durationMs) };
}
