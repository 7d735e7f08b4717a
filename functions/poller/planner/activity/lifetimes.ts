/** Reads from a page of operations what has lasted how long: each operation that has ended, and each use of a compute. */

import { isTerminal, type Operation } from '../../../../shared/core/records/operation.ts';

/** All times are by the upstream's clock, in milliseconds since the epoch. */
export interface Lifetime {
  /** It is the action of an operation, and undefined for the use of a compute. */
  readonly action: string | undefined;
  /** It is the id of the compute that was used, and absent for an operation. */
  readonly computeId?: string;
  /** The operation was created at this time, or the compute was started. */
  readonly beganMs: number;
  /** The operation ended at this time, or the suspend of the compute began. It is undefined for a compute that runs. */
  readonly endedMs: number | undefined;
}

export type LifetimeRow = Pick<
  Operation,
  'action' | 'status' | 'endpoint_id' | 'branch_id' | 'created_at' | 'updated_at'
>;

export const SUSPEND_ACTION = 'suspend_compute';
const START_ACTION = 'start_compute';

export interface LifetimeReader {
  /** Takes the rows one after the other, the newest first. */
  take(row: LifetimeRow, createdMs: number): void;
  readonly lifetimes: readonly Lifetime[];
  /** Each compute that runs was started at one of these times. */
  activeSinceMs(): readonly number[];
  /** Returns the ids of these computes, in the same order. */
  activeIds(): readonly string[];
}

export function createLifetimeReader(): LifetimeReader {
  const lifetimes: Lifetime[] = [];
  /** Says when the suspend began that follows in time. It is undefined when another start does. */
  const nextSuspendMs = new Map<string, number | undefined>();

  return {
    lifetimes,
    take(row, createdMs) {
      const { action, status, updated_at } = row;
      const updatedMs = Date.parse(updated_at);
      if (isTerminal(status) && updatedMs >= createdMs)
        lifetimes.push({ action, beganMs: createdMs, endedMs: updatedMs });
      if (action !== SUSPEND_ACTION && action !== START_ACTION) return;
      const compute = row.endpoint_id ?? row.branch_id ?? '';
      const hasNewer = nextSuspendMs.has(compute);
      const endedMs = nextSuspendMs.get(compute);
      nextSuspendMs.set(compute, action === SUSPEND_ACTION ? createdMs : undefined);
      if (action !== START_ACTION || !isTerminal(status) || (hasNewer && endedMs === undefined)) return;
      lifetimes.push({ action: undefined, computeId: compute, beganMs: updatedMs, endedMs });
    },
    activeIds: () =>
      lifetimes.flatMap(({ endedMs, computeId }) =>
        endedMs === undefined && computeId !== undefined ? [computeId] : [],
      ),
    activeSinceMs: () =>
      lifetimes.filter(({ endedMs }) => endedMs === undefined).map(({ beganMs }) => beganMs),
  };
}
