/** Answers the list of a project's computes by what its operations have done to them. */

import { DAY_MS, dice } from '../plan.ts';
import type { WideWorld } from '../world.ts';
import { isOver, type TruthProject, type WideOperation } from './truth.ts';

/** The service suspends a compute when it was not used for five minutes (public contract). */
const SUSPEND_AFTER_MS = 300_000;

/** The service notices a use up to this much later. */
const LAG_MS_MAX = 60_000;

/**
 * Returns one row for each compute that an operation has named. In some runs lists are often wrong, in calm times, too: a list of computes is only a
 * hint, and the promise must not rest on it.
 */
export function computeRows(world: WideWorld, { operations }: TruthProject): readonly unknown[] {
  const nowMs = world.scheduler.now();
  const own = operations.filter(({ endpoint_id, createdUs }) => endpoint_id && createdUs / 1_000 <= nowMs);
  const byCompute = Map.groupBy(own, ({ endpoint_id }) => endpoint_id ?? '');
  const rows = [...byCompute].map(([id, changes]) => ({
    id,
    project_id: changes[0]?.project_id,
    suspend_timeout_seconds: 0,
    ...stateOf(changes, nowMs),
    last_active: new Date(lastActiveMs(world, operations, id)).toISOString(),
  }));
  if (world.random.next() >= world.plan.faults.computes_wrong) return rows;
  world.fire('computes_wrong');
  return rows.flatMap((row) => wrongly(world, row));
}

/** The newest start or suspend that has finished decides. One that is under way shows what is to come. */
function stateOf(newestFirst: readonly WideOperation[], nowMs: number) {
  const changes = newestFirst.filter(({ action }) => STATES[action] !== undefined);
  const decided = changes.find(({ states }) => statusAt(states, nowMs) === 'finished');
  const pending = changes.find(({ states }) => !isOver({ status: statusAt(states, nowMs) }));
  return {
    current_state: STATES[decided?.action ?? ''] ?? 'init',
    ...(pending !== undefined && { pending_state: STATES[pending.action] }),
  };
}

const STATES: Readonly<Record<string, string>> = { start_compute: 'active', suspend_compute: 'idle' };

function statusAt(states: WideOperation['states'], nowMs: number): string {
  return states.findLast(({ atMs }) => atMs <= nowMs)?.status ?? '';
}

/** A compute is used until five minutes before its next suspend. One without such a suspend is used all the time. */
function lastActiveMs(
  { scheduler, random }: WideWorld,
  operations: readonly WideOperation[],
  id: string,
): number {
  const nowMs = scheduler.now();
  const suspendsMs = operations
    .filter(({ endpoint_id, action }) => endpoint_id === id && action === 'suspend_compute')
    .map(({ createdUs }) => createdUs / 1_000)
    .filter((atMs) => atMs > nowMs);
  return Math.min(nowMs - random.next() * LAG_MS_MAX, Math.min(...suspendsMs) - SUSPEND_AFTER_MS);
}

/** A row of a wrong list names another time or state, has another form, or is missing. */
function wrongly({ random, scheduler }: WideWorld, row: { readonly id: string }): readonly unknown[] {
  const { pick, whole } = dice(random);
  const anotherTime = new Date(scheduler.now() + whole(-DAY_MS, DAY_MS)).toISOString();
  return pick<readonly unknown[]>([
    [{ ...row, last_active: anotherTime }],
    [{ ...row, last_active: 'yesterday', suspend_timeout_seconds: 'never' }],
    [{ ...row, current_state: 'idle' }],
    [{ ...row, current_state: 'active', suspend_timeout_seconds: -1 }],
    [{ ...row, id: 7 }, null],
    [],
  ]);
}
