/** Notes which operations one poll has seen at the upstream, and when the process has last read or missed each of them. */

import { startedWith } from '../../../../shared/core/derived/derivations.ts';
import { isTerminal, type Operation } from '../../../../shared/core/records/operation.ts';
import type { OperationState } from '../../../../shared/core/records/transition.ts';
import { normaliseTimestamp, type Timestamp } from '../../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { ProjectMemory } from '../memory/project-memory.ts';

export interface Sightings {
  readonly takeRow: (row: Operation) => void;
  /** Takes an operation that was read by itself. */
  readonly takeSingle: (operationId: string) => void;
  /** Takes an operation that was asked for by itself and gave no reading. */
  readonly takeUnanswered: (operationId: string) => void;
  /**
   * Takes a 404 of a single operation. Returns the time between the first and the last one that earlier polls have met since its
   * last reading, in ms, by our clock.
   */
  readonly takeMissing: (operationId: string, nowMs: number) => number;
  /** Says whether this poll has read the operation. */
  readonly hasRead: (operationId: string) => boolean;
  /** Says whether this poll has read the operation, or has asked for it without an answer. */
  readonly hasTried: (operationId: string) => boolean;
  /**
   * Returns when the operation of a row of this poll was created. It is undefined when there is no such row, or no
   * readable time.
   */
  readonly createdAtOf: (operationId: string) => Timestamp | undefined;
  /** Returns the operations that were started with one that creates a branch, or undefined when it creates none. */
  readonly startedWith: (creation: Operation) => readonly string[] | undefined;
  /**
   * Returns when the process has last read the open operation, or has tried to, by our clock. It is undefined when the
   * process does not know.
   */
  readonly lastReadMs: (operationId: string) => number | undefined;
  /** Returns the number of rows that are newer than the watermark. */
  readonly newerRowCount: () => number;
  /** Remembers for the next poll that the operation is settled in this state. */
  readonly takeSettled: (operationId: string, state: OperationState) => void;
  /** These operations among the rows in reach are settled, by id. */
  readonly settled: ReadonlyMap<string, OperationState>;
}

type StartedRow = Pick<Operation, 'id' | 'action' | 'branch_id' | 'created_at'>;

/** `watermark` is the one that was stored before the poll. */
export function createSightings(
  clock: Clock,
  { readAtMs, missing }: Pick<ProjectMemory, 'readAtMs' | 'missing'>,
  watermark: Timestamp | undefined,
): Sightings {
  const readIds = new Set<string>();
  const unansweredIds = new Set<string>();
  const newerIds = new Set<string>();
  const createdAtById = new Map<string, Timestamp>();
  const rowsOfBranch = new Map<string | undefined, Map<string, StartedRow>>();
  const settled = new Map<string, OperationState>();
  const take = (operationId: string) => {
    readIds.add(operationId);
    missing.delete(operationId);
  };

  return {
    takeRow({ id, action, branch_id, status, created_at }) {
      // A first page that is widened shows its rows again.
      const rows = rowsOfBranch.get(branch_id) ?? new Map<string, StartedRow>();
      rowsOfBranch.set(branch_id, rows.set(id, { id, action, branch_id, created_at }));
      const createdAt = normaliseTimestamp(created_at);
      if (createdAt !== undefined) createdAtById.set(id, createdAt);
      if (watermark !== undefined && createdAt !== undefined && createdAt > watermark) newerIds.add(id);
      take(id);
      if (!isTerminal(status)) readAtMs.set(id, clock.now());
    },
    takeSingle(operationId) {
      take(operationId);
      readAtMs.set(operationId, clock.now());
    },
    takeUnanswered(operationId) {
      unansweredIds.add(operationId);
      readAtMs.set(operationId, clock.now());
    },
    takeMissing(operationId, nowMs) {
      const { firstMs, lastMs } = missing.get(operationId) ?? { firstMs: nowMs, lastMs: nowMs };
      missing.set(operationId, { firstMs, lastMs: nowMs });
      return lastMs - firstMs;
    },
    hasRead: (operationId) => readIds.has(operationId),
    hasTried: (operationId) => readIds.has(operationId) || unansweredIds.has(operationId),
    createdAtOf: (operationId) => createdAtById.get(operationId),
    startedWith: (creation) =>
      startedWith(creation, [...(rowsOfBranch.get(creation.branch_id)?.values() ?? [])]),
    lastReadMs: (operationId) => readAtMs.get(operationId),
    newerRowCount: () => newerIds.size,
    takeSettled: (operationId, state) => void settled.set(operationId, state),
    settled,
  };
}
