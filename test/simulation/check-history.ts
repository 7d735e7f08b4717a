/** Checks a finished run: compares what the upstream really did with what the bus really received, by the promise. */

import type { OperationStateChanged } from '../../shared/events/catalog.ts';

/** Holds every state that an operation had, in order, from the upstream's own log. */
export interface TrueHistory {
  readonly operation_id: string;
  readonly states: readonly { readonly status: string; readonly failures_count: number }[];
  readonly expects: Expectation;
}

/**
 * This is what the bridge owes for an operation. `final_state` stands for its last state, and `final_state_if_told`
 * for its last state once any event of it was published. With `nothing` the bridge owes no event, because the
 * operation had ended before the bridge came, unless a row of it was found late. `nothing_ever` is the same without
 * that exception. With `whatever_was_seen` anything is right, because the operation has vanished.
 */
export type Expectation =
  | 'final_state'
  | 'final_state_if_told'
  | 'nothing'
  | 'nothing_ever'
  | 'whatever_was_seen';

export interface DeliveredEvent {
  readonly detailType: string;
  /** Holds the JSON text exactly as it was published. */
  readonly detail: string;
}

export interface Violation {
  readonly rule: string;
  readonly operation_id: string;
  readonly detail: string;
}

/**
 * Checks these rules of the promise (design, section 1). `same-id`: all copies of an event have equal bytes. `chain`:
 * sequences run from 1 to n without gaps, and each event starts from the status of the one before. `invented`: a
 * chain is a subsequence of the true history. `final`: the chain ends with the upstream's state. `history`: what
 * ended before the bridge came is not news.
 */
export function checkHistory(
  truth: readonly TrueHistory[],
  delivered: readonly DeliveredEvent[],
): readonly Violation[] {
  const violations: Violation[] = [];
  const bytesOfId = new Map<string, string>();
  const chains = new Map<string, Map<number, OperationStateChanged>>();
  const watchEnded = new Set<string>();

  for (const { detailType, detail } of delivered) {
    const event = JSON.parse(detail) as OperationStateChanged;
    const first = bytesOfId.get(event.id) ?? detail;
    bytesOfId.set(event.id, first);
    if (first !== detail) violations.push({ rule: 'same-id', operation_id: event.operation_id, detail });
    if (detailType === 'Operation Watch Ended') watchEnded.add(event.operation_id);
    if (detailType !== 'Operation State Changed') continue;
    const chain = chains.get(event.operation_id) ?? new Map<number, OperationStateChanged>();
    chains.set(event.operation_id, chain);
    const known = chain.get(event.sequence);
    if (known !== undefined && known.id !== event.id) {
      violations.push({
        rule: 'same-id',
        operation_id: event.operation_id,
        detail: `sequence ${event.sequence} twice`,
      });
    }
    chain.set(event.sequence, event);
  }

  const known = new Set(truth.map(({ operation_id }) => operation_id));
  for (const id of chains.keys())
    if (!known.has(id)) violations.push({ rule: 'invented', operation_id: id, detail: '' });
  for (const history of truth) {
    const chain = [...(chains.get(history.operation_id)?.values() ?? [])].toSorted(
      (a, b) => a.sequence - b.sequence,
    );
    violations.push(...checkChain(history, chain));
  }
  return violations;
}

function checkChain(history: TrueHistory, chain: readonly OperationStateChanged[]): readonly Violation[] {
  const { operation_id, states, expects } = history;
  const violations: Violation[] = [];
  const fail = (rule: string, detail: string) => violations.push({ rule, operation_id, detail });
  const published = chain.map((event) => `${event.status}/${event.failures_count}`).join(' ');
  const happened = states.map((state) => `${state.status}/${state.failures_count}`).join(' ');

  chain.forEach((event, index) => {
    const before = chain[index - 1];
    if (event.sequence !== index + 1) fail('chain', `sequence ${event.sequence} is at place ${index + 1}`);
    if (before === undefined) return;
    if (event.previous_status !== before.status)
      fail('chain', `${event.previous_status} after ${before.status}`);
    const newFailures = Math.max(0, event.failures_count - before.failures_count);
    if (event.new_failures !== newFailures)
      fail('chain', `new_failures ${event.new_failures}, not ${newFailures}`);
  });

  const silentStart = chain[0]?.previous_status;
  const claimed =
    typeof silentStart === 'string' ? [{ status: silentStart, failures_count: undefined }, ...chain] : chain;
  if (!isSubsequence(claimed, states)) fail('invented', `published ${published}; happened ${happened}`);

  const last = chain.at(-1);
  const end = states.at(-1);
  const isRight =
    last !== undefined && last.status === end?.status && last.failures_count === end.failures_count;
  const owesEnd = expects === 'final_state' || (expects === 'final_state_if_told' && last !== undefined);
  if (owesEnd && !isRight) fail('final', `published ${published || 'nothing'}; happened ${happened}`);
  const isLate = chain.some((event) => event.late === true);
  if (expects === 'nothing' && chain.length > 0 && !isLate) fail('history', `published ${published}`);
  if (expects === 'nothing_ever' && chain.length > 0) fail('history', `published ${published}`);
  return violations;
}

function isSubsequence(
  claimed: readonly { readonly status: string; readonly failures_count: number | undefined }[],
  states: TrueHistory['states'],
): boolean {
  let position = 0;
  for (const claim of claimed) {
    const matches = (state: TrueHistory['states'][number]) =>
      state.status === claim.status &&
      (claim.failures_count === undefined || state.failures_count === claim.failures_count);
    const found = states.findIndex((state, index) => index >= position && matches(state));
    if (found === -1) return false;
    position = found + 1;
  }
  return true;
}
