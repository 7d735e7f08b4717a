/**
 * Checks the chains of a run whose table was restored: every event follows a published one, and the last one is the
 * truth.
 */

import type { Violation } from '../../check-history.ts';
import { expectationsOf } from './check-operations.ts';
import { type Evidence, type Told, toldOf } from './evidence.ts';

export function checkRestored(evidence: Evidence): readonly Violation[] {
  const { stage, events } = evidence;
  if (stage.restores.length === 0) return [];
  const chains = Map.groupBy(
    events.filter(({ detailType }) => detailType === 'Operation State Changed'),
    ({ event }) => event.operation_id ?? '',
  );
  // The entries that the bus did not take were lost with the table: they were never published, and the chain had gone
  // on from them.
  const untaken = stage.bus.untaken.map((delivery) => toldOf(delivery));
  return expectationsOf(evidence).flatMap(({ operation_id, states, expects }) => {
    const chain = chains.get(operation_id) ?? [];
    const end = states.at(-1);
    const violations: Violation[] = [];
    for (const told of chain) {
      const { event } = told;
      const isTrue = states.some(({ status }) => status === event.status);
      if (!isTrue || !followsOne([...chain, ...untaken], told))
        violations.push({ rule: 'chain', operation_id, detail: told.detail });
    }
    const isPublishedToTheEnd = chain.some(
      ({ event }) => event.status === end?.status && event.failures_count === end?.failures_count,
    );
    const isOwed = expects === 'final_state' || (expects === 'final_state_if_told' && chain.length > 0);
    if (isOwed && !isPublishedToTheEnd)
      violations.push({ rule: 'final', operation_id, detail: JSON.stringify(end) });
    if (expects === 'nothing_ever' && chain.length > 0)
      violations.push({ rule: 'history', operation_id, detail: chain[0]?.detail ?? '' });
    return violations;
  });
}

function followsOne(chain: readonly Told[], { event }: Told): boolean {
  const { operation_id, sequence = 0, previous_status } = event;
  if (sequence === 1) return true;
  return chain.some(
    ({ event: before }) =>
      before.operation_id === operation_id &&
      before.sequence === sequence - 1 &&
      before.status === previous_status,
  );
}
