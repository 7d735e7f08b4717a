/**
 * Checks the published delays: an operation is marked as late only if its row was late, and no delay is older than
 * the bridge.
 */

import type { Violation } from '../../check-history.ts';
import { START_MS } from '../timeline.ts';
import type { TruthProject, WideOperation } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';

export function checkDelays(evidence: Evidence): readonly Violation[] {
  if (evidence.stage.restores.length > 0 || evidence.stage.unreadable.size > 0) return [];
  return [...lateInVain(evidence), ...delaysOfHistory(evidence)];
}

function lateInVain({ stage, events }: Evidence): readonly Violation[] {
  const { truth } = stage.upstream;
  return events.flatMap(({ event, detail }) => {
    const op = truth.operationOf(event.operation_id ?? '');
    const project = truth.projectOf(event.project_id ?? '');
    if (event.late !== true || op === undefined || project === undefined) return [];
    const wasShownAtOnce = isOrdinary(op, project) && !stage.world.fired.has('operation_page_capped');
    return wasShownAtOnce ? [{ rule: 'late-in-vain', operation_id: op.id, detail }] : [];
  });
}

/** Returns true when the row could be read from the beginning, in its place. */
function isOrdinary(op: WideOperation, { operations }: TruthProject): boolean {
  const isTied = operations.some((other) => other !== op && other.createdUs === op.createdUs);
  const isHidden = op.visibleAtMs > op.createdUs / 1_000 || op.malformedUntilMs > 0;
  // A row whose time is wrong is not in its place either, and neither are those behind it.
  if (operations.some(({ shiftedMs }) => shiftedMs !== undefined)) return false;
  return !isTied && !isHidden;
}

/** A process may be half a minute ahead of the upstream. */
const CLOCKS_DIFFER_MS_MAX = 30_000;

/**
 * Finds delays that are older than the bridge. First readings would measure how late the bridge came, and would hide
 * how soon it sees a change.
 */
function delaysOfHistory({ stage }: Evidence): readonly Violation[] {
  if (stage.world.fired.has('operation_updated_at_wrong')) return [];
  return stage.ear.delays
    .filter(({ atMs, delayMs }) => delayMs > atMs - START_MS + CLOCKS_DIFFER_MS_MAX)
    .slice(0, 1)
    .map(({ atMs, delayMs }) => ({
      rule: 'delay-of-history',
      operation_id: '',
      detail: `${delayMs} ms at ${new Date(atMs).toISOString()}`,
    }));
}
