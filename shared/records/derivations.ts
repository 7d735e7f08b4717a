/**
 * Decides which branches and computes the news of an operation can concern, from the ends of the operation in its
 * journal. Everything else costs no read.
 */

import { entriesAfter } from './journal.ts';
import type { OperationEntry, StateChangedEntry } from './journal-entries.ts';
import type { ComputeState } from './journal-record.ts';
import { isTerminal, type Operation } from './operation.ts';
import { derivedThrough, type OperationRecord } from './operation-record.ts';

/** Says whether nothing more is expected of the operation. A failed one may be retried while it is watched. */
export function hasEnded({ status, watch_ended }: OperationRecord): boolean {
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
