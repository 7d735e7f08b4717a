/**
 * Checks what derives from operations against the upstream's own log: branches become ready exactly when all of their
 * creation has ended well, and the chain of each compute rests on operations that really finished.
 */

import type { BranchReady, ComputeStateChanged } from '../../shared/events/catalog.ts';
import type { DeliveredEvent, TrueHistory, Violation } from './check-history.ts';
import type { TruthOperation } from './upstream-model.ts';

/** An operation of the truth, with what the bridge owes for it. */
export interface OwedOperation {
  readonly operation: TruthOperation;
  readonly expects: TrueHistory['expects'];
  /** It is true when the operation was created before the account was first seen. */
  readonly isHistory: boolean;
  /** It is true when its rows could not be read from its creation on, or not to the end. */
  readonly isHidden: boolean;
}

const GOOD: ReadonlySet<string> = new Set(['finished', 'skipped']);
const BAD: ReadonlySet<string> = new Set(['cancelled', 'error']);

/**
 * Checks these rules. `ready-invented`: an event says only what its operations really were. `ready-once`: a branch has at most one event of each kind. `ready`: a branch whose creation has
 * ended well is ready, and no other is. `compute-chain`: sequences run from 1 to n without gaps, and each state before
 * is the last one or unknown. `compute-invented`: each change rests on an operation that had finished.
 * `compute-last`: the newest change of a compute is not missing.
 */
export function checkDerived(
  truth: readonly OwedOperation[],
  delivered: readonly DeliveredEvent[],
): readonly Violation[] {
  return [
    ...checkBranchClaims(truth, delivered),
    ...checkBranches(truth, delivered),
    ...checkComputes(truth, delivered),
  ];
}

/** Checks what an event itself says of the operations on which it rests. */
export function checkBranchClaims(
  truth: readonly OwedOperation[],
  delivered: readonly DeliveredEvent[],
): readonly Violation[] {
  const operations = new Map(truth.map(({ operation }) => [operation.id, operation]));
  const creations = new Map(
    truth
      .filter(({ operation }) => operation.action === 'create_branch')
      .map(({ operation }) => [operation.branch_id, operation]),
  );
  const wrongIn = (event: BranchReady, isEnough: (statuses: readonly string[]) => boolean): boolean => {
    const creation = creations.get(event.branch_id);
    const isTrue = event.operations.every(({ operation_id, status, failures_count }) => {
      const operation = operations.get(operation_id);
      const wasSo = operation?.states.some(
        (state) => state.status === status && state.failures_count === failures_count,
      );
      return wasSo === true && creation !== undefined && belongsTo(creation, operation);
    });
    return !isTrue || !isEnough(event.operations.map(({ status }) => status));
  };
  const ready = distinct(delivered, 'Branch Ready').filter(
    (event) =>
      wrongIn(event, (statuses) => statuses.every((status) => GOOD.has(status))) ||
      !event.operations.some(({ operation_id }) => operation_id === creations.get(event.branch_id)?.id),
  );
  // A branch fails as soon as one of its operations has, and names those that could be read by then.
  // A failed operation that is watched no longer, and a creation that was skipped, create nothing.
  const failed = distinct(delivered, 'Branch Failed').filter((event) =>
    wrongIn(event, (statuses) => statuses.some((status) => status !== 'finished')),
  );
  return [...ready, ...failed].map((event) => ({
    rule: 'ready-invented',
    operation_id: event.branch_id,
    detail: JSON.stringify(event.operations),
  }));
}

/** One request starts the operations of a creation, and rows show whole seconds. */
const CREATED_TOGETHER_US = 2_000_000;

function belongsTo(creation: TruthOperation, operation: TruthOperation | undefined): boolean {
  if (operation === undefined || operation.branch_id !== creation.branch_id) return false;
  return Math.abs(operation.createdUs - creation.createdUs) < CREATED_TOGETHER_US;
}

function checkBranches(
  truth: readonly OwedOperation[],
  delivered: readonly DeliveredEvent[],
): readonly Violation[] {
  const ready = distinct(delivered, 'Branch Ready');
  const failed = distinct(delivered, 'Branch Failed');
  const branches = Map.groupBy(truth, ({ operation }) => operation.branch_id);
  const violations: Violation[] = [];
  for (const [branchId, owed] of branches) {
    const creation = owed.find(({ operation }) => operation.action === 'create_branch');
    if (branchId === undefined || creation === undefined) continue;
    const fail = (rule: string, detail: string) =>
      violations.push({ rule, operation_id: creation.operation.id, detail: `${branchId} ${detail}` });
    const isReady = ready.filter(({ branch_id }) => branch_id === branchId);
    const isFailed = failed.filter(({ branch_id }) => branch_id === branchId);
    if (isReady.length > 1) fail('ready-once', `is ready ${isReady.length} times`);
    if (isFailed.length > 1) fail('ready-once', `has failed ${isFailed.length} times`);
    const ends = owed.map(({ operation }) => operation.states.at(-1)?.status ?? '');
    const happened = `${ends.join(' and ')}; ready ${isReady.length}, failed ${isFailed.length}`;
    // The start of a compute that is seen after its branch became ready, or never, cannot be waited for.
    if (owed.length > 1 && owed.some(({ isHidden }) => isHidden)) continue;
    if (wasSeenApart(owed, creation, delivered)) continue;
    if (isReady.length > 0 && !owed.every(hasEndedWell)) fail('ready', `became ${happened}`);
    if (!owed.every(({ expects }) => expects === 'final_state') || creation.isHistory) continue;
    if (creation.operation.states.at(-1)?.status === 'finished' && ends.every((end) => GOOD.has(end))) {
      if (isReady.length === 0) fail('ready', `became ${happened}`);
    } else if (
      owed.some(
        (each) => BAD.has(each.operation.states.at(-1)?.status ?? '') && !wasSeenToEndWell(each, delivered),
      ) &&
      isReady.length + isFailed.length === 0
    )
      fail('ready', `became ${happened}`);
  }
  return violations;
}

/**
 * Says whether an event says that the operation finished, or that it was skipped and is not the creation itself. It has done its part of the
 * creation then, also when it was reopened and failed (ADR 14), so the branch goes on to wait for the other operations.
 */
function wasSeenToEndWell({ operation }: OwedOperation, delivered: readonly DeliveredEvent[]): boolean {
  const isEnough = (status: string) =>
    operation.action === 'create_branch' ? status === 'finished' : GOOD.has(status);
  return delivered.some(({ detailType, detail }) => {
    if (detailType !== 'Operation State Changed' || !detail.includes(operation.id)) return false;
    const { operation_id, status } = JSON.parse(detail) as { operation_id: string; status: string };
    return operation_id === operation.id && isEnough(status);
  });
}

/** A reopened operation may have left that status again. */
function hasEndedWell({ operation }: OwedOperation): boolean {
  return operation.states.some(({ status }) => GOOD.has(status));
}

/**
 * Returns true when the end of the start was published before the creation was seen at all. A walk that is cut short between
 * their rows records them in two polls, and the start is settled by then (docs/simulation.md).
 */
function wasSeenApart(
  owed: readonly OwedOperation[],
  creation: OwedOperation,
  delivered: readonly DeliveredEvent[],
): boolean {
  const placeOf = ({ operation }: OwedOperation) =>
    delivered.findIndex(
      ({ detailType, detail }) => detailType === 'Operation State Changed' && detail.includes(operation.id),
    );
  const creationPlace = placeOf(creation);
  return owed.some((each) => each !== creation && placeOf(each) !== -1 && placeOf(each) < creationPlace);
}

function checkComputes(
  truth: readonly OwedOperation[],
  delivered: readonly DeliveredEvent[],
): readonly Violation[] {
  const changes = distinct(delivered, 'Compute State Changed');
  const operations = new Map(truth.map((owed) => [owed.operation.id, owed]));
  const violations: Violation[] = [];
  for (const [endpointId, own] of Map.groupBy(changes, ({ endpoint_id }) => endpoint_id)) {
    const chain = own.toSorted((a, b) => a.sequence - b.sequence);
    const fail = (rule: string, detail: string) =>
      violations.push({ rule, operation_id: endpointId, detail });
    chain.forEach((event, place) => {
      if (event.sequence !== place + 1) fail('compute-chain', `${event.sequence} is at place ${place + 1}`);
      const before = chain[place - 1]?.state ?? null;
      if (![null, before].includes(event.previous_state))
        fail('compute-chain', `${event.previous_state} after ${before}`);
      const states = operations.get(event.operation_id)?.operation.states ?? [];
      if (!states.some(({ status }) => status === 'finished'))
        fail('compute-invented', `${event.operation_id} has not finished`);
      if (event.state !== STATES[event.action]) fail('compute-invented', `${event.state} by ${event.action}`);
    });
    const users = new Set(chain.map(({ operation_id }) => operation_id));
    if (users.size !== chain.length) fail('compute-chain', 'an operation has changed it twice');
  }
  violations.push(...checkLastChanges(truth, changes));
  return violations;
}

/** A compute has this state when an operation with this action has finished. */
const STATES: Readonly<Record<string, string>> = {
  start_compute: 'active',
  suspend_compute: 'idle',
  apply_config: 'active',
};

/** Of all operations that finished, the one that is the newest by creation and by end decides the state. */
function checkLastChanges(
  truth: readonly OwedOperation[],
  changes: readonly ComputeStateChanged[],
): readonly Violation[] {
  const own = truth.filter(({ operation }) => STATES[operation.action] !== undefined);
  return [...Map.groupBy(own, ({ operation }) => operation.endpoint_id)].flatMap(([endpointId, owed]) => {
    const newest = newestOf(owed.map(({ operation }) => operation));
    const due = owed.find(({ operation }) => operation === newest);
    const isCertain = due?.expects === 'final_state' && !due.isHistory;
    // A configuration leaves an active compute as it is.
    if (newest === undefined || !isCertain || newest.action === 'apply_config') return [];
    if (changes.some(({ operation_id }) => operation_id === newest.id)) return [];
    return [{ rule: 'compute-last', operation_id: newest.id, detail: `${endpointId} lacks it` }];
  });
}

/** Returns undefined when the operations that were created last and that ended last are not one and the same. */
function newestOf(operations: readonly TruthOperation[]): TruthOperation | undefined {
  const endMs = ({ states }: TruthOperation) => states.at(-1)?.updatedAtMs ?? 0;
  const finished = operations.filter(({ states }) => states.at(-1)?.status === 'finished');
  const newest = finished.toSorted((a, b) => b.createdUs - a.createdUs)[0];
  if (newest === undefined) return undefined;
  const isAlone = operations.every(
    (other) =>
      other === newest ||
      (endMs(other) < endMs(newest) - 1_000 && other.createdUs < newest.createdUs - 1_000_000),
  );
  return isAlone ? newest : undefined;
}

/** Returns each event once, in the order of its first copy. */
function distinct(
  delivered: readonly DeliveredEvent[],
  type: 'Branch Ready' | 'Branch Failed',
): readonly BranchReady[];
function distinct(
  delivered: readonly DeliveredEvent[],
  type: 'Compute State Changed',
): readonly ComputeStateChanged[];
function distinct(delivered: readonly DeliveredEvent[], type: string): readonly object[] {
  const details = delivered
    .filter(({ detailType }) => detailType === type)
    .map(({ detail }) => JSON.parse(detail) as { readonly id: string });
  return [...new Map(details.map((detail) => [detail.id, detail])).values()];
}
