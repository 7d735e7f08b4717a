/** Compares the rows of one page with the table, and repairs every operation that is missing, changed or damaged. */

import { mayBeForgotten } from '../../../shared/core/records/history.ts';
import type { Operation } from '../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import { restoreRecord } from '../../../shared/core/records/restored-record.ts';
import { hasChanged } from '../../../shared/core/records/transition.ts';
import { earlierNowMs, normaliseTimestamp } from '../../../shared/core/time/timestamp.ts';
import type { OperationsReader } from '../../../shared/protocol/settle-commands.ts';
import type { OperationsRead } from '../../../shared/store/adapters/operation-records.ts';
import { forEachRow } from '../project/recording/for-each-row.ts';
import type { OperationRecorder } from '../project/recording/operation-recorder.ts';
import { uniqueRows } from '../project/recording/page-rows.ts';
import type { Sightings } from '../project/recording/sightings.ts';
import type { PageSteps } from '../project/walking/follow-pages.ts';
import { isInReach } from '../walk-plan/walk-bound.ts';
import { type RepairOperationDeps, type RepairOutcome, repairOperation } from './repair-operation.ts';

export interface RepairRowsDeps extends RepairOperationDeps {
  readonly store: RepairOperationDeps['store'] & OperationsReader;
}

/**
 * What a repair has done. The counts only ever rise. A page that is not dealt with is read again, and what was repaired
 * of it is sound by then, so it counts at once. What is lost is found again, so it counts with its page.
 */
export interface RepairCounts {
  compared: number;
  readonly repairedIds: Set<string>;
  readonly unrepaired: Map<string, string>;
}

/** The function that it returns resolves to true when every row in reach was compared, and repaired if that is possible. */
export function createRowsRepair(
  deps: RepairRowsDeps,
  { projectId, project }: { readonly projectId: string; readonly project: ProjectRecord | undefined },
  { recorder, sightings }: { readonly recorder: OperationRecorder; readonly sightings: Sightings },
  counts: RepairCounts,
): PageSteps['record'] {
  return async (state, page) => {
    const rows = uniqueRows(page.operations).filter((row) => isInReach(state, row.created_at));
    for (const row of rows) sightings.takeRow(row);
    const stored = await deps.store.readOperations(
      projectId,
      rows.map(({ id }) => id),
    );
    const nowMs = earlierNowMs(page);
    const lost: [operationId: string, reason: string][] = [];
    const repairRow = async (row: Operation): Promise<boolean> => {
      if (isSound(row, stored, deps)) return true;
      const isUnknown = !stored.records.has(row.id) && !stored.unreadableIds.has(row.id);
      if (isUnknown && isForgotten(row, nowMs)) return true;
      const outcome = isUnknown
        ? await recordFirst(row, page.requestedMs)
        : await repairOperation(deps, recorder, row);
      if (outcome.kind === 'lost') lost.push([row.id, outcome.reason]);
      if (outcome.kind === 'repaired') counts.repairedIds.add(row.id);
      return outcome.kind !== 'unresolved';
    };
    const { areAllTried, areAllSure } = await forEachRow(rows, repairRow, deps.signal);
    if (!areAllTried || !areAllSure) return false;
    counts.compared += rows.length;
    for (const [id, reason] of lost) counts.unrepaired.set(id, reason);
    return true;
  };

  /** The table may have known the operation and forgotten it, so it is no news (ADR 0013). */
  function isForgotten(row: Operation, nowMs: number): boolean {
    const createdAt = normaliseTimestamp(row.created_at);
    return createdAt !== undefined && mayBeForgotten({ id: row.id, createdAt }, project ?? {}, nowMs);
  }

  /** The row was true when it was fetched, and nothing older is stored. */
  async function recordFirst(row: Operation, requestedMs: number): Promise<RepairOutcome> {
    const { kind } = await recorder.recordReading(undefined, row, { observedBy: 'sweep', requestedMs });
    return { kind: kind === 'unresolved' || kind === 'unreadable' ? 'unresolved' : 'repaired' };
  }
}

/** Says whether the record agrees with the row and with its own journal. Only then is nothing read again. */
function isSound(
  row: Operation,
  { records }: OperationsRead,
  { isHistory }: Pick<RepairOperationDeps, 'isHistory'>,
): boolean {
  const record: OperationRecord | undefined = records.get(row.id);
  if (record === undefined || hasChanged(record, row)) return false;
  const { record: restored, lostSequences } = restoreRecord(record, row, isHistory(row));
  return restored === undefined && lostSequences.length === 0;
}
