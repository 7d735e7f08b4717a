/**
 * Decides what the ends of operations mean for branches and computes: which of them the news of an operation can
 * concern (everything else costs no read), and when a new branch can be used. B1: a branch becomes ready at most once,
 * and fails at most once before that. B2: it is ready when the operation that created it has finished and everything
 * that was started with it has finished or was skipped. B3: a branch whose creation nobody has seen as news has no
 * record.
 */

import { append, EMPTY_JOURNAL, entriesAfter, withEventId } from './journal.ts';
import type { BranchEntry, OperationEntry, StateChangedEntry } from './journal-entries.ts';
import type { BranchRecord, ComputeState, Readiness } from './journal-record.ts';
import { derivedThrough, isTerminal, type Operation, type OperationRecord } from './operation-record.ts';
import { isoTimeOf } from './time.ts';

/** Says whether nothing more is expected of the operation. A failed one may be retried while it is watched. */
function hasEnded({ status, watch_ended }: OperationRecord): boolean {
  return isTerminal(status) || watch_ended;
}

/** Returns the entries from which nothing is derived yet. */
function underivedEntries(operation: OperationRecord): readonly OperationEntry[] {
  return entriesAfter(operation, derivedThrough(operation));
}

/** Returns the operation as it stood at each of its ends that are news and from which nothing is derived yet, oldest first. */
export function pendingEnds(operation: OperationRecord): readonly OperationRecord[] {
  return underivedEntries(operation)
    .filter(isEnd)
    .map((end) => asOf(operation, end))
    .filter((ended) => !isHistory(ended));
}

/** Returns the operation as it stood at each of its ends that are known, oldest first. */
export function knownEnds(operation: OperationRecord): readonly OperationRecord[] {
  const left = operation.entries.filter((entry) => isEnd(entry) && entry.revision < operation.revision);
  return [...left.map((end) => asOf(operation, end)), ...(hasEnded(operation) ? [operation] : [])];
}

/** Says whether the operation had ended before the bridge first saw its project. */
function isHistory(operation: OperationRecord): boolean {
  const last = operation.entries.findLast(isStateChanged);
  return last?.observed_by === 'backfill' && hasEnded(operation);
}

function isStateChanged(entry: OperationEntry): entry is StateChangedEntry {
  return entry.type === 'state_changed';
}

/** A stall is recorded only while its operation is open, so it is no end. */
function isEnd({ type, status }: OperationEntry): boolean {
  return type === 'watch_ended' || isTerminal(status);
}

/** Returns the operation as it stood at this end. */
function asOf(operation: OperationRecord, end: OperationEntry): OperationRecord {
  const { revision, status, failures_count } = end;
  const entries = operation.entries.filter((entry) => entry.revision <= revision);
  const updated_at = entries.findLast(isStateChanged)?.operation_updated_at ?? operation.updated_at;
  return {
    ...operation,
    entries,
    revision,
    status,
    failures_count,
    updated_at,
    watch_ended: end.type === 'watch_ended',
  };
}

/** These actions create a branch. The second one creates a project with its default branch. */
const CREATING_ACTIONS: ReadonlySet<string> = new Set(['create_branch', 'create_timeline']);

/** A compute has this state when an operation with this action has finished (specification, "Compute state"). */
const STATE_AFTER: Readonly<Partial<Record<string, ComputeState>>> = {
  start_compute: 'active',
  suspend_compute: 'idle',
  // An idle compute "becomes active for a short period of time" to take its configuration (public contract).
  apply_config: 'active',
};

function createsBranch({ action }: Pick<OperationRecord, 'action'>): boolean {
  return CREATING_ACTIONS.has(action);
}

/** Returns the state that the operation has brought to its compute, or undefined when it has brought none. */
export function stateAfter({ action, status }: OperationRecord): ComputeState | undefined {
  return status === 'finished' ? STATE_AFTER[action] : undefined;
}

/**
 * Says whether the branch of the operation has to be looked at, if it has one: the operation may begin a creation, join
 * one, or end one.
 */
function concernsBranch(operation: OperationRecord): boolean {
  const mayBelongToCreation = createsBranch(operation) || operation.action === 'start_compute';
  return (mayBelongToCreation && isNews(operation)) || pendingEnds(operation).length > 0;
}

/** Says whether the operation may have changed the state of its compute, if it has one. */
function concernsCompute(operation: OperationRecord): boolean {
  return STATE_AFTER[operation.action] !== undefined && pendingEnds(operation).length > 0;
}

/** Operations of one creation, or of one restart, are created within this time. Rows show whole seconds. */
const TOGETHER_MS = 1_000;

/** Says whether one request started both operations, as far as their creation times can say it. */
export function areTogether(a: Pick<OperationRecord, 'created_at'>, b: Pick<OperationRecord, 'created_at'>) {
  return Math.abs(Date.parse(a.created_at) - Date.parse(b.created_at)) <= TOGETHER_MS;
}

type Started = Pick<Operation, 'id' | 'action' | 'branch_id' | 'created_at'>;

/**
 * Returns the operations that were started with one that creates a branch. Returns undefined when it creates none: an
 * earlier operation of the branch, or a compute that is suspended with it, shows that the branch was there before and
 * is restored. `others` are operations of the project that are known.
 */
export function startedWith(creation: Started, others: readonly Started[]): readonly string[] | undefined {
  const { id, branch_id } = creation;
  if (!createsBranch(creation) || branch_id === undefined) return undefined;
  const own = others.filter((other) => other.id !== id && other.branch_id === branch_id);
  const together = own.filter((other) => areTogether(other, creation));
  const isRestored =
    together.some(({ action }) => action === 'suspend_compute') ||
    own.some((other) => !together.includes(other) && isEarlier(other, creation));
  return isRestored ? undefined : [...new Set(together.map((other) => other.id))];
}

function isEarlier(a: Started, b: Started): boolean {
  return Date.parse(a.created_at) < Date.parse(b.created_at);
}

/** What had ended before the bridge first saw its project is history, also where history is published. */
function isNews(operation: OperationRecord): boolean {
  return underivedEntries(operation).some(isChange) && !isHistory(operation);
}

/** Says whether the entry is a change of the operation. A stall is none. */
function isChange({ type }: OperationEntry): boolean {
  return type !== 'operation_stalled';
}

/** One branch or one compute. Its record is decided anew from these operations. */
export interface Subject {
  readonly kind: 'branch' | 'compute';
  readonly account_id: string;
  readonly project_id: string;
  /** The id of the branch or of the compute. */
  readonly id: string;
  /** These operations have entries that are not acknowledged. */
  readonly operations: readonly OperationRecord[];
}

export function subjectsOf(operations: readonly OperationRecord[]): readonly Subject[] {
  const branches = operations.filter(concernsBranch);
  const computes = operations.filter(concernsCompute);
  return [
    ...groupBy('branch', branches, ({ branch_id }) => branch_id),
    ...groupBy('compute', computes, ({ endpoint_id }) => endpoint_id),
  ];
}

function groupBy(
  kind: Subject['kind'],
  operations: readonly OperationRecord[],
  idOf: (operation: OperationRecord) => string | undefined,
): readonly Subject[] {
  const groups = Map.groupBy(operations, (operation) =>
    JSON.stringify([operation.account_id, operation.project_id, idOf(operation)]),
  );
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    const id = first && idOf(first);
    if (first === undefined || id === undefined) return [];
    return { kind, account_id: first.account_id, project_id: first.project_id, id, operations: members };
  });
}

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
