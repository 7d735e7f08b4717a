/** Checks that Command Settled is published once, with the true outcome, for every command that was recorded. */

import type { Violation } from '../../check-history.ts';
import { SETTLE_WITHIN_MS } from '../people/commander.ts';
import { isOver } from '../upstream/truth.ts';
import type { Evidence, ToldEvent } from './evidence.ts';

/** One process sets the deadline by its clock, and another decides by its own that it has passed. */
const CLOCKS_DIFFER_MS_MAX = 30_000;

const GOOD_ENDS: ReadonlySet<string> = new Set(['finished', 'skipped']);

export function checkCommands({ stage, events }: Evidence): readonly Violation[] {
  const { commands, upstream, restores } = stage;
  const settled = Map.groupBy(
    events.filter(({ detailType }) => detailType === 'Command Settled'),
    ({ event }) => event.command?.request_id ?? '',
  );
  return commands.flatMap(({ requestId, projectId, sentAtMs, isRecorded }) => {
    const wrong = (detail: string) => [{ rule: 'command-settled', operation_id: requestId, detail }];
    const own = settled.get(requestId) ?? [];
    if (own.length > 1 && restores.length === 0) return wrong(`published as ${own.length} different events`);
    const [first] = own;
    const wasRestored = restores.some(({ toMs }) => toMs < sentAtMs + SETTLE_WITHIN_MS);
    if (first === undefined) return isRecorded && !wasRestored ? wrong('never published') : [];
    void projectId;
    return problemsOf(first.event, first.atMs - sentAtMs).flatMap(wrong);
  });

  function problemsOf({ outcome, operations = [] }: ToldEvent, ageMs: number): readonly string[] {
    const isTrue = operations.every(({ operation_id, status }) =>
      upstream.truth.operationOf(operation_id)?.states.some((state) => state.status === status),
    );
    if (!isTrue) return ['an operation never had the status that the event gives'];
    const areGood = operations.every(({ status }) => GOOD_ENDS.has(status));
    if (outcome === 'succeeded' && !areGood) return ['succeeded, though not all ended well'];
    if (outcome === 'failed' && (areGood || !operations.every(isOver))) return ['failed, though it did not'];
    if (outcome === 'incomplete' && ageMs < SETTLE_WITHIN_MS - CLOCKS_DIFFER_MS_MAX)
      return ['incomplete before its deadline'];
    return [];
  }
}
