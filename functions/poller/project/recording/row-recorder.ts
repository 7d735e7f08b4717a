/**
 * Records one row of a page. Whether the record or the row was read first decides whether the row proves a change
 * (ADR 0002).
 */

import type { Operation } from '../../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { hasChanged, type OperationState } from '../../../../shared/core/records/transition.ts';
import { type OrderedReadDeps, readInOrder } from '../../../../shared/protocol/read-in-order.ts';
import type { OperationRecorder } from './operation-recorder.ts';
import type { Observer } from './reading-context.ts';

/** Each method resolves to false when the row may not be recorded. The page was asked for at `requestedMs`, by our clock. */
export interface RowRecorder {
  /** Records a row whose record was read before the page was asked for: the row is newer than the record. */
  readonly recordWatched: (row: Operation, requestedMs: number) => Promise<boolean>;
  /** Records a row of which the table has no record: the row was true when it was fetched, and nothing older is stored. */
  readonly recordFirst: (row: Operation, requestedMs: number) => Promise<boolean>;
  /**
   * Records a row that was fetched before its record was read: a difference proves nothing, so the operation is read
   * again.
   */
  readonly recordOlder: (recorded: OperationRecord, row: Operation) => Promise<boolean>;
}

export function createRowRecorder(
  deps: OrderedReadDeps,
  recorder: OperationRecorder,
  observedBy: Observer,
): RowRecorder {
  return {
    recordFirst: (row, requestedMs) => record(undefined, row, requestedMs),
    async recordWatched(row, requestedMs) {
      const recorded = recorder.records.get(row.id);
      return isUnchanged(recorded, row) || record(recorded, row, requestedMs);
    },
    async recordOlder(recorded, row) {
      if (!isUnchanged(recorded, row)) return recordReread(row);
      recorder.note(recorded);
      return true;
    },
  };

  async function record(
    recorded: OperationRecord | undefined,
    reading: Operation,
    requestedMs: number,
  ): Promise<boolean> {
    const { kind } = await recorder.recordReading(recorded, reading, { observedBy, requestedMs });
    return kind !== 'unresolved';
  }

  async function recordReread(row: Operation): Promise<boolean> {
    const fresh = await readInOrder(deps, row);
    // A newer version of the bridge has written this record and can read it.
    if (fresh === 'unreadable') return true;
    return fresh !== 'unresolved' && record(fresh.recorded, fresh.reading, fresh.requestedMs);
  }
}

function isUnchanged(record: OperationState | undefined, reading: OperationState): boolean {
  return record !== undefined && !hasChanged(record, reading);
}
