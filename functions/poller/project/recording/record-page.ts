/** Records the rows of one page, with as few reads of the table and of the upstream as a safe compare-and-set allows. */

import { mayBeForgotten } from '../../../../shared/core/records/history.ts';
import type { Operation } from '../../../../shared/core/records/operation.ts';
import { isSettled, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import { hasChanged, type OperationState } from '../../../../shared/core/records/transition.ts';
import { normaliseTimestamp } from '../../../../shared/core/time/timestamp.ts';
import { type OrderedReadDeps, readInOrder } from '../../../../shared/protocol/read-in-order.ts';
import type { OperationsReader } from '../../../../shared/protocol/settle-commands.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../../../shared/runtime/concurrency.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import { isInReach, type WalkState } from '../../walk-plan/page-walk.ts';
import { logOnce } from '../memory/log-once.ts';
import type { ProjectMemory } from '../memory/project-memory.ts';
import { earlierNowMs, type FetchedPage } from '../walking/fetch-page.ts';
import type { OperationRecorder } from './operation-recorder.ts';
import type { Observer } from './reading-context.ts';
import type { Sightings } from './sightings.ts';

/** Rows of one project that are recorded concurrently: the latency of one write does not hold a backfill up. */
const RECORDS_AT_ONCE = 8;

export interface PageRecordDeps extends OrderedReadDeps {
  readonly store: OrderedReadDeps['store'] & OperationsReader;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** What a poll has at hand for each page that it records. */
export interface PageRecording {
  readonly projectId: string;
  /** As it was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  readonly memory: Pick<ProjectMemory, 'settled' | 'logged'>;
  readonly recorder: OperationRecorder;
  readonly sightings: Sightings;
  readonly observedBy: Observer;
}

/**
 * `state`: with this page taken. True when every row in reach is known to be recorded, or is left to a version of the bridge that can
 * read its record. False: the stop signal came first, or a row could not be recorded for sure.
 */
export async function recordPage(
  deps: PageRecordDeps,
  recording: PageRecording,
  state: WalkState,
  page: FetchedPage,
): Promise<boolean> {
  const { recorder, sightings, memory } = recording;
  const rows = uniqueRows(page.operations);
  for (const row of rows) sightings.takeRow(row);
  const inReach = rows.filter((row) => recorder.records.has(row.id) || isInReach(state, row.created_at));
  const watched = inReach.filter((row) => recorder.records.has(row.id));
  const unwatched = inReach.filter((row) => !recorder.records.has(row.id));
  const remembered = new Set(unwatched.filter((row) => memory.settled.has(row.id, row)));
  for (const row of remembered) sightings.takeSettled(row.id, row);
  const unread = unwatched.filter((row) => !remembered.has(row));
  // The records of `watched` were read before this page was asked for: their order of reads is right.
  const watchedRows = await forEachRow(watched, (row) => recordWatched(recording, row), deps.signal);
  if (!watchedRows.areAllTried) return false;
  return (await recordUnread(deps, recording, unread, page)) && watchedRows.areAllSure;
}

/** An operation that stands on the page twice is taken from its first row. */
function uniqueRows(rows: readonly Operation[]): readonly Operation[] {
  return [...new Map(rows.toReversed().map((row) => [row.id, row])).values()].toReversed();
}

interface RowsResult {
  /** False when the stop signal came before the last row. */
  readonly areAllTried: boolean;
  /** False when a row that was tried may not be recorded. */
  readonly areAllSure: boolean;
}

/**
 * Oldest row first, so that the events of one page leave roughly in the order in which the operations began. `rows`: newest first.
 * `task` returns false when the row may not be recorded.
 */
async function forEachRow(
  rows: readonly Operation[],
  task: (row: Operation) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<RowsResult> {
  let areAllSure = true;
  const tryRow = async (row: Operation) => {
    if (!(await task(row))) areAllSure = false;
  };
  const areAllTried = await forEachConcurrently(rows.toReversed(), RECORDS_AT_ONCE, tryRow, signal);
  return { areAllTried, areAllSure };
}

async function recordWatched(recording: PageRecording, row: Operation): Promise<boolean> {
  const record = recording.recorder.records.get(row.id);
  return isUnchanged(record, row) || recordRow(recording, record, row);
}

/**
 * The page was fetched before the records of these rows are read, so a difference proves nothing yet: the operation is read once
 * more. A missing record is the exception: the row was true when it was fetched, and nothing older is stored.
 */
async function recordUnread(
  deps: PageRecordDeps,
  recording: PageRecording,
  rows: readonly Operation[],
  page: FetchedPage,
): Promise<boolean> {
  if (rows.length === 0) return true;
  if (deps.signal?.aborted) return false;
  const { recorder, sightings, projectId } = recording;
  const { records: stored, unreadableIds } = await deps.store.readOperations(
    projectId,
    rows.map((row) => row.id),
  );
  const recordOne = async (row: Operation): Promise<boolean> => {
    // A version of the bridge that can read the record has written it, so walking this way again would bring nothing.
    if (unreadableIds.has(row.id)) return true;
    const record = stored.get(row.id);
    if (record === undefined) return recordUnknown(deps, recording, row, page);
    if (!isUnchanged(record, row)) return recordReread(deps, recording, row);
    recorder.note(record);
    return true;
  };
  const { areAllTried, areAllSure } = await forEachRow(rows, recordOne, deps.signal);
  for (const [id, record] of stored) if (isSettled(record)) sightings.takeSettled(id, record);
  return areAllTried && areAllSure;
}

/** A row that the table may have known and forgotten is no news. It is remembered while the walks show it. */
async function recordUnknown(
  { clock, telemetry }: Pick<PageRecordDeps, 'clock' | 'telemetry'>,
  recording: PageRecording,
  row: Operation,
  page: FetchedPage,
): Promise<boolean> {
  const { project, projectId, memory, sightings } = recording;
  const createdAt = normaliseTimestamp(row.created_at);
  const nowMs = earlierNowMs(clock, page);
  if (createdAt !== undefined && mayBeForgotten({ id: row.id, createdAt }, project ?? {}, nowMs)) {
    logOnce(telemetry, memory, 'rows.forgotten', projectId);
    sightings.takeSettled(row.id, row);
    return true;
  }
  return recordRow(recording, undefined, row);
}

async function recordReread(
  deps: OrderedReadDeps,
  recording: Pick<PageRecording, 'recorder' | 'observedBy'>,
  row: Operation,
): Promise<boolean> {
  const fresh = await readInOrder(deps, row);
  if (fresh === 'unreadable') return true;
  if (fresh === 'unresolved') return false;
  return recordRow(recording, fresh.recorded, fresh.reading);
}

async function recordRow(
  { recorder, observedBy }: Pick<PageRecording, 'recorder' | 'observedBy'>,
  recorded: OperationRecord | undefined,
  reading: Operation,
): Promise<boolean> {
  return (await recorder.recordReading(recorded, reading, observedBy)).kind !== 'unresolved';
}

function isUnchanged(record: OperationState | undefined, reading: OperationState): boolean {
  return record !== undefined && !hasChanged(record, reading);
}
