/**
 * Reads from a list of computes which of them run, and decides how the end of an operation changes the state of its
 * compute. C1: an end of an operation changes a compute at most once. C2: an operation that is older than the one behind the
 * recorded state changes nothing, and the state only moves to newer ones, so that two processes with the same operation
 * decide the same. C3: where the state before is not what the operation needs, something was missed, and
 * `previous_state` is null.
 */

import { areTogether, stateAfter } from './derivations.ts';
import { append, EMPTY_JOURNAL, withEventId } from './journal.ts';
import type { ComputeChangedEntry, ComputeChangeReason } from './journal-entries.ts';
import type { ComputeOperation, ComputeRecord, ComputeState } from './journal-record.ts';
import type { OperationRecord } from './operation-record.ts';
import { isoTimeOf } from './time.ts';

/** At most this many entries are kept once they are acknowledged. With more, each write costs a second write unit. */
const HISTORY_ENTRIES_MAX = 2;

/**
 * Applies the ends of several operations of one compute. Returns undefined when nothing is known of the compute, and
 * the same record when nothing changes. `around` are operations of its branch that are known and need not have ended.
 */
export function decideComputeStates(
  recorded: ComputeRecord | undefined,
  ended: readonly OperationRecord[],
  around: readonly OperationRecord[],
  nowMs: number,
): ComputeRecord | undefined {
  const waiting = ended.toSorted((a, b) => compareAge(ageOf(a), ageOf(b)));
  let record = recorded;
  while (waiting.length > 0) {
    const [next] = waiting.splice(placeOfNext(record, waiting), 1);
    if (next !== undefined) record = decideComputeState(record, next, around, nowMs);
  }
  return record;
}

/** Of operations whose rows show the same seconds, the next is one that changes the state. */
function placeOfNext(record: ComputeRecord | undefined, waiting: readonly OperationRecord[]): number {
  const [first] = waiting;
  if (first === undefined || record === undefined) return 0;
  const changing = waiting.findIndex(
    (operation) => compareAge(ageOf(operation), ageOf(first)) === 0 && stateAfter(operation) !== record.state,
  );
  return Math.max(0, changing);
}

function decideComputeState(
  recorded: ComputeRecord | undefined,
  operation: OperationRecord,
  around: readonly OperationRecord[],
  nowMs: number,
): ComputeRecord | undefined {
  const state = stateAfter(operation);
  if (state === undefined || operation.endpoint_id === undefined) return recorded;
  if (recorded !== undefined && (isApplied(recorded, operation) || isOlder(operation, recorded)))
    return recorded;
  // A configuration leaves an active compute active, and says nothing of one whose state is not known.
  if (operation.action === 'apply_config' && recorded?.state !== 'idle') return recorded;
  const base = recorded ?? newCompute(operation, operation.endpoint_id, state);
  const sequence = base.sequence + 1;
  const identity = [operation.account_id, operation.project_id, base.endpoint_id];
  const entry: ComputeChangedEntry = withEventId(identity, {
    type: 'compute_state_changed' as const,
    revision: base.revision + 1,
    observed_at: isoTimeOf(nowMs),
    sequence,
    state,
    ...previousOf(recorded, operation, state),
    reason: reasonOf(operation, [...around, ...stateOperationOf(recorded)]),
    operation_id: operation.operation_id,
    action: operation.action,
    branch_id: operation.branch_id,
    operation_updated_at: operation.updated_at,
    command: operation.command,
  });
  const { operation_id, action, created_at, updated_at, branch_id = base.branch_id } = operation;
  return {
    ...base,
    branch_id,
    state,
    sequence,
    state_since: updated_at,
    state_operation: { operation_id, action, created_at },
    ...append(base, entry, HISTORY_ENTRIES_MAX),
  };
}

function newCompute(
  { account_id, project_id, branch_id }: OperationRecord,
  endpoint_id: string,
  state: ComputeState,
): ComputeRecord {
  return {
    kind: 'compute',
    account_id,
    project_id,
    endpoint_id,
    branch_id,
    state,
    sequence: 0,
    ...EMPTY_JOURNAL,
  };
}

/** An operation that is not acknowledged may be derived again. After changes that are no longer kept, it is older than the state. */
function isApplied({ entries }: ComputeRecord, { operation_id }: OperationRecord): boolean {
  return entries.some((entry) => entry.operation_id === operation_id);
}

/** Both times are in milliseconds since the epoch. */
interface Age {
  readonly createdMs: number;
  /** The operation ended at this time. It is never before its creation, whatever a row says. */
  readonly endedMs: number;
}

function ageOf({ created_at, updated_at }: Pick<OperationRecord, 'created_at' | 'updated_at'>): Age {
  const createdMs = Date.parse(created_at);
  return { createdMs, endedMs: Math.max(createdMs, Date.parse(updated_at) || createdMs) };
}

/**
 * Returns a negative number when `a` is older. Operations of one compute run one after another in the order of their creation. Should
 * they overlap, the one that ended last decides the state. Of two that ended in one second, it is the one that was created
 * later.
 */
function compareAge(a: Age, b: Age): number {
  return a.endedMs - b.endedMs || a.createdMs - b.createdMs;
}

/** An operation of the same seconds is older when it explains the gap that the last event shows. */
function isOlder(
  operation: OperationRecord,
  { state_operation, state_since = '', entries }: ComputeRecord,
): boolean {
  if (state_operation === undefined) return false;
  const state = ageOf({ created_at: state_operation.created_at, updated_at: state_since });
  const ahead = compareAge(ageOf(operation), state);
  const last = entries.at(-1);
  return (
    ahead < 0 || (ahead === 0 && last !== undefined && last.sequence > 1 && last.previous_state === null)
  );
}

/** The state before is known only when it differs from the new one. Otherwise the compute has changed unseen. */
function previousOf(
  recorded: ComputeRecord | undefined,
  { updated_at }: OperationRecord,
  state: ComputeState,
): Pick<ComputeChangedEntry, 'previous_state' | 'previous_duration_ms'> {
  if (recorded === undefined || recorded.state === state) return { previous_state: null };
  const durationMs = Date.parse(updated_at) - Date.parse(recorded.state_since ?? '');
  return {
    previous_state: recorded.state,
    ...(!Number.isNaN(durationMs) && { previous_duration_ms: Math.max(0, durationMs) }),
  };
}

type Neighbour = ComputeOperation & { readonly endpoint_id?: string | undefined };

function stateOperationOf(recorded: ComputeRecord | undefined): readonly Neighbour[] {
  if (recorded?.state_operation === undefined) return [];
  return [{ ...recorded.state_operation, endpoint_id: recorded.endpoint_id }];
}

/** Returns undefined when the reason is not known. */
function reasonOf(operation: OperationRecord, around: readonly Neighbour[]): ComputeChangeReason | undefined {
  const together = around.filter(
    (other) => other.operation_id !== operation.operation_id && areTogether(other, operation),
  );
  const isWith = (action: string) =>
    together.some((other) => other.action === action && other.endpoint_id === operation.endpoint_id);
  if (operation.action === 'apply_config') return 'configured';
  if (operation.action === 'start_compute') return isWith('suspend_compute') ? 'restarted' : 'started';
  if (isWith('start_compute')) return 'restarted';
  if (together.length > 0) return undefined;
  return operation.command === undefined ? 'inactivity' : 'suspended';
}

/** The times are by the upstream's clock, in milliseconds. */
export interface RunningCompute {
  readonly id: string;
  /** The service knows of no later activity, in milliseconds since the epoch. It is undefined when the row does not say it. */
  readonly lastActiveMs: number | undefined;
  /** The compute is suspended this long after its last activity. It is infinite when the compute is never suspended. */
  readonly suspendAfterMs: number;
}

/** The time-out 0 stands for five minutes, and -1 for never (public contract). */
const SUSPEND_AFTER_S_DEFAULT = 300;

/** The service shows this time for a compute that was never active (public contract). */
const NEVER_ACTIVE_MS = Date.UTC(2000, 0, 1);

/** `rows` are the computes of one answer, as the upstream sent them. */
export function runningComputesOf(rows: readonly unknown[]): readonly RunningCompute[] {
  return rows.flatMap((row) => {
    // A row that is not an object has no id.
    const fields: Readonly<Record<string, unknown>> = { ...(row as object) };
    const { id, current_state: state, pending_state: pending } = fields;
    if (typeof id !== 'string' || state !== 'active' || pending === 'idle') return [];
    const lastActiveMs = lastActiveMsOf(fields['last_active']);
    return [{ id, lastActiveMs, suspendAfterMs: suspendAfterMsOf(fields['suspend_timeout_seconds']) }];
  });
}

function lastActiveMsOf(text: unknown): number | undefined {
  const timeMs = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return timeMs > NEVER_ACTIVE_MS ? timeMs : undefined;
}

function suspendAfterMsOf(seconds: unknown): number {
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return SUSPEND_AFTER_S_DEFAULT * 1_000;
  if (seconds < 0) return Number.POSITIVE_INFINITY;
  return (seconds || SUSPEND_AFTER_S_DEFAULT) * 1_000;
}
