/** Records the rows of one page, with as few reads of the table and of the upstream as a safe compare-and-set allows. */

import { mayBeForgotten } from '../../../../shared/core/records/history.ts';
import type { Operation } from '../../../../shared/core/records/operation.ts';
import { isSettled, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import { earlierNowMs, normaliseTimestamp } from '../../../../shared/core/time/timestamp.ts';
import type { OperationsReader } from '../../../../shared/protocol/settle-commands.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import { logOnce } from '../memory/log-once.ts';
import type { ProjectMemory } from '../memory/project-memory.ts';
import type { FetchedPage } from '../walking/fetch-page.ts';
import type { PageSteps } from '../walking/follow-pages.ts';
import { forEachRow } from './for-each-row.ts';
import { sortRows, uniqueRows } from './page-rows.ts';
import type { RowRecorder } from './row-recorder.ts';
import type { Sightings } from './sightings.ts';

export interface PageRecordDeps {
  readonly store: OperationsReader;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly signal?: AbortSignal | undefined;
}

export interface RecordedProject {
  readonly projectId: string;
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  /**
   * The poll has read these operations from the table, by id. Each record was read before any page was asked for, or
   * written since.
   */
  readonly records: ReadonlyMap<string, OperationRecord>;
  readonly memory: Pick<ProjectMemory, 'settled' | 'logged'>;
  /** It is called before rows are recorded whose records this poll has not read. */
  readonly onUnread?: (() => Promise<void>) | undefined;
}

/**
 * The function that it returns resolves to true when every row in reach is known to be recorded, or is left to a
 * version of the bridge that can read its record. It resolves to false when the stop signal came first, or a row
 * could not be recorded for sure.
 */
export function createPageRecorder(
  deps: PageRecordDeps,
  listed: RecordedProject,
  rowRecorder: RowRecorder,
  sightings: Sightings,
): PageSteps['record'] {
  const { projectId, project, records, memory } = listed;

  return async (state, page) => {
    const rows = uniqueRows(page.operations);
    for (const row of rows) sightings.takeRow(row);
    const { watched, remembered, unread } = sortRows(rows, state, records, memory.settled);
    for (const row of remembered) sightings.takeSettled(row.id, row);
    const recordWatched = (row: Operation) => rowRecorder.recordWatched(row, page.requestedMs);
    const { areAllTried, areAllSure } = await forEachRow(watched, recordWatched, deps.signal);
    return areAllTried && (await recordUnread(unread, page)) && areAllSure;
  };

  async function recordUnread(rows: readonly Operation[], page: FetchedPage): Promise<boolean> {
    if (rows.length === 0) return true;
    if (deps.signal?.aborted) return false;
    const ids = rows.map((row) => row.id);
    const [{ records: stored, unreadableIds }] = await Promise.all([
      deps.store.readOperations(projectId, ids),
      listed.onUnread?.(),
    ]);
    const recordOne = async (row: Operation): Promise<boolean> => {
      // A newer version of the bridge has written this record and can read it, so walking this way again would bring
      // nothing.
      if (unreadableIds.has(row.id)) return true;
      const recorded = stored.get(row.id);
      return recorded === undefined ? recordUnknown(row, page) : rowRecorder.recordOlder(recorded, row);
    };
    const { areAllTried, areAllSure } = await forEachRow(rows, recordOne, deps.signal);
    for (const [id, record] of stored) if (isSettled(record)) sightings.takeSettled(id, record);
    return areAllTried && areAllSure;
  }

  /** A row that the table may have known and forgotten is no news. It is remembered while the walks show it. */
  async function recordUnknown(row: Operation, page: FetchedPage): Promise<boolean> {
    const createdAt = normaliseTimestamp(row.created_at);
    const nowMs = earlierNowMs(page);
    if (createdAt === undefined || !mayBeForgotten({ id: row.id, createdAt }, project ?? {}, nowMs))
      return rowRecorder.recordFirst(row, page.requestedMs);
    logOnce(deps.telemetry, memory, 'rows.forgotten', projectId);
    sightings.takeSettled(row.id, row);
    return true;
  }
}
