/**
 * Decides which branches and computes an operation's news can concern. Everything else costs no read.
 *
 * An operation keeps its place in the work index until what derives from it is published, and a crash derives it once
 * more. Each decision is therefore idempotent (PROTOCOL.md).
 */

import type { OperationEntry } from '../journal/journal-entries.ts';
import type { ComputeState } from '../records/compute-record.ts';
import type { Operation } from '../records/operation.ts';
import type { OperationRecord } from '../records/operation-record.ts';
import { isHistory, pendingEnds, underivedEntries } from './operation-ends.ts';

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
export function concernsBranch(operation: OperationRecord): boolean {
  const mayBelongToCreation = createsBranch(operation) || operation.action === 'start_compute';
  return (mayBelongToCreation && isNews(operation)) || pendingEnds(operation).length > 0;
}

/** Says whether the operation may have changed the state of its compute, if it has one. */
export function concernsCompute(operation: OperationRecord): boolean {
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

function isEarlier(a: Pick<Started, 'created_at'>, b: Pick<Started, 'created_at'>): boolean {
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
