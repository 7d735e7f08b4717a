/**
 * Records what one poll reads: the rows of its pages, and operations that it reads one by one. Each reading is compared
 * with a record that was read before it, with as few reads of the table and of the upstream as that allows (PROTOCOL.md,
 * "Recording").
 */

import { isInsightDay, sampleOf, sampleOfRow } from '../../../shared/insights/day-insights.ts';
import { changesOf } from '../../../shared/insights/hour-counts.ts';
import {
  type RecordOutcome,
  readInOrder,
  recordOperation,
} from '../../../shared/protocol/record-operation.ts';
import { startedWith } from '../../../shared/records/derivations.ts';
import { isJournalFull, PENDING_ENTRIES_MAX } from '../../../shared/records/journal.ts';
import {
  hasChanged,
  isSettled,
  isTerminal,
  type Operation,
  type OperationRecord,
  type ReadingContext,
} from '../../../shared/records/operation-record.ts';
import { endedBefore, isOlderThanTable } from '../../../shared/records/project-record.ts';
import { earlierBy, earlierNowMs, normaliseTimestamp } from '../../../shared/records/time.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { type FetchedPage, type Poll, type PollDeps, readNewCommands, type StartedRow } from './poll.ts';
import { isSettledRow } from './project-memory.ts';
import type { Walk } from './walk.ts';

/** Says which part of a poll has read an operation. */
type Observer = 'poll' | 'sweep';

/**
 * This many rows of one project are recorded concurrently, so that the latency of one write does not hold a backfill
 * up.
 */
const RECORDS_AT_ONCE = 8;

/**
 * Records the rows of a page, however old they are; `walk` has the page taken already. Resolves to true when every row
 * is recorded, is history, or is passed over for good. Resolves to false when the stop signal came first, or a row could
 * not be recorded for a reason that can pass.
 */
export async function recordPage(
  deps: PollDeps,
  poll: Poll,
  walk: Walk,
  page: FetchedPage,
): Promise<boolean> {
  const rows = uniqueRows(page.operations);
  for (const row of rows) takeRow(deps, poll, row);
  const by: ReadBy = { observer: walk.isSweep ? 'sweep' : 'poll', requestedMs: page.requestedMs };
  // The records of these rows were read before the page was asked for, so the rows are newer.
  const known = rows.filter(({ id }) => poll.records.has(id));
  const unknown = rows.filter((row) => !poll.records.has(row.id) && !isSettledAsKnown(poll, row));
  const news = unknown.filter((row) => !isHistory(deps, poll, row, earlierNowMs(page)));
  learnFromHistory(poll, unknown, news, earlierNowMs(page));
  const recordKnown = (row: Operation) => recordSurely(deps, poll, poll.records.get(row.id), row, by);
  const areKnownSure = await forEachRow(known, recordKnown, poll.signal);
  return areKnownSure && (await recordUnread(deps, poll, news, by));
}

/** Says whether this poll or the last walk has found the operation settled in the state of the row. */
function isSettledAsKnown({ memory, settled }: Poll, row: Operation): boolean {
  const known = settled.get(row.id);
  if (known !== undefined) return !hasChanged(known, row);
  const isRemembered = isSettledRow(memory.settled, row.id, row);
  if (isRemembered) settled.set(row.id, row);
  return isRemembered;
}

/** Of history nothing is read or written: what had ended before the first sight has no record. */
function isHistory({ options }: PollDeps, { since }: Poll, row: Operation, nowMs: number): boolean {
  if (isOlderThanTable(row, nowMs)) return true;
  return options.backfill !== 'all' && since !== undefined && endedBefore(row, since);
}

/** The first walk of a project learns what its history took, as far as the insights look back. */
function learnFromHistory(
  { project, memory: { historySamples } }: Poll,
  unknown: readonly Operation[],
  news: readonly Operation[],
  nowMs: number,
): void {
  if (project?.bound !== undefined) {
    historySamples.clear();
    return;
  }
  const newsIds = new Set(news.map(({ id }) => id));
  for (const row of unknown) {
    const sample = newsIds.has(row.id) ? undefined : sampleOfRow(row);
    if (sample !== undefined && isInsightDay(sample.day, nowMs)) historySamples.set(row.id, sample);
  }
}

/**
 * Records rows whose records this poll has not read. A row without a record was true when it was fetched, and nothing
 * older is stored. A row that was fetched before its record was read proves no difference, so the operation is read
 * again.
 */
async function recordUnread(
  deps: PollDeps,
  poll: Poll,
  rows: readonly Operation[],
  by: ReadBy,
): Promise<boolean> {
  if (rows.length === 0) return true;
  if (poll.signal?.aborted) return false;
  const ids = rows.map((row) => row.id);
  const [{ records: stored, unreadableIds, unsureIds }] = await Promise.all([
    readStored(deps, poll, ids),
    readNewCommands(deps, poll),
  ]);
  const recordOne = async (row: Operation): Promise<boolean> => {
    if (unsureIds.has(row.id)) return false;
    // A newer version of the bridge has written this record and can read it, so walking this way again brings nothing.
    if (unreadableIds.has(row.id)) return true;
    const recorded = stored.get(row.id);
    if (recorded === undefined) return recordSurely(deps, poll, undefined, row, by);
    if (hasChanged(recorded, row)) return recordReread(deps, poll, row, by.observer);
    poll.records.set(row.id, recorded);
    return true;
  };
  const areSure = await forEachRow(rows, recordOne, poll.signal);
  for (const [id, record] of stored) if (isSettled(record)) poll.settled.set(id, record);
  return areSure;
}

/** Reads the records of rows. Those that another account has go on here, if the project came from there. */
async function readStored({ store }: PollDeps, { projectId, project }: Poll, ids: readonly string[]) {
  const { records, unreadableIds } = await store.readOperations(projectId, ids);
  const isMissing = (id: string) =>
    !unreadableIds.has(id) && (!records.has(id) || records.get(id)?.moved_by !== undefined);
  const cameFrom = project?.came_from;
  const missing = cameFrom === undefined ? [] : ids.filter(isMissing);
  if (cameFrom === undefined || missing.length === 0) return { records, unreadableIds, unsureIds: NONE };
  const adopted = await store.adoptOperations(projectId, cameFrom, missing);
  return { records: new Map([...records, ...adopted.records]), unreadableIds, unsureIds: adopted.unsureIds };
}

const NONE: ReadonlySet<string> = new Set();

async function recordReread(deps: PollDeps, poll: Poll, row: Operation, observer: Observer) {
  const fresh = await readInOrder({ ...deps, signal: poll.signal }, row);
  if (fresh === 'unreadable') return true;
  if (fresh === 'unresolved') return false;
  const { recorded, reading, requestedMs } = fresh;
  return recordSurely(deps, poll, recorded, reading, { observer, requestedMs });
}

async function recordSurely(
  deps: PollDeps,
  poll: Poll,
  recorded: OperationRecord | undefined,
  reading: Operation,
  by: ReadBy,
): Promise<boolean> {
  if (recorded !== undefined && !hasChanged(recorded, reading)) return true;
  return (await recordReading(deps, poll, recorded, reading, by)).kind !== 'unresolved';
}

export interface ReadBy {
  readonly observer: Observer;
  /** The request for the reading left at this time or later, by our clock. */
  readonly requestedMs: number;
}

/** Compares a reading with a record that was read before it, and writes the difference. */
export async function recordReading(
  deps: PollDeps,
  poll: Poll,
  recorded: OperationRecord | undefined,
  reading: Operation,
  { observer, requestedMs: askedMs }: ReadBy,
): Promise<RecordOutcome> {
  const { clock, upstream, store, telemetry } = deps;
  const outcome = await recordOperation(
    {
      clock,
      upstream,
      store,
      signal: poll.signal,
      contextOf: (known, fresh, requestedMs) =>
        contextOf(deps, poll, { known, reading: fresh, observer, requestedMs }),
    },
    recorded,
    reading,
    askedMs,
  );
  // The item has changed since this poll read it, to a form that this version cannot read.
  if (outcome.kind === 'unreadable') poll.records.delete(reading.id);
  if ('record' in outcome) poll.records.set(reading.id, outcome.record);
  if (outcome.kind === 'deferred') telemetry.measure('TransitionsDeferred', 1);
  if (outcome.kind === 'recorded') noteRecorded(deps, poll, outcome.record, reading);
  return outcome;
}

/** Writes what was decided about a record: its stall or the end of its watch. A conflict is left to the next poll. */
export async function recordDecision(
  { store }: PollDeps,
  poll: Poll,
  recorded: OperationRecord,
  next: OperationRecord,
): Promise<void> {
  if ((await store.record(next, recorded.revision)) === 'recorded') poll.records.set(next.operation_id, next);
}

interface Observed extends ReadBy {
  readonly known: OperationRecord | undefined;
  readonly reading: Operation;
}

/** Says under which circumstances an operation was read: who observed it, whether it was open at first sight or came late. */
function contextOf(
  { store, clock, options }: PollDeps,
  poll: Poll,
  { known, reading, observer, requestedMs }: Observed,
): ReadingContext {
  const command = poll.commands.find(({ operation_ids }) => operation_ids.includes(reading.id));
  const context = {
    account_id: store.accountId,
    nowMs: clock.now(),
    requestedMs,
    observed_by: observer,
    command: command && { client_id: command.client_id, request_id: command.request_id },
  };
  if (known !== undefined) return context;
  const others = [...(poll.rowsOfBranch.get(reading.branch_id)?.values() ?? [])];
  const first = { ...context, started_with: startedWith(reading, others) };
  const createdAt = normaliseTimestamp(reading.created_at);
  const { project, since } = poll;
  const isBeforeSight = createdAt !== undefined && since !== undefined && createdAt < since;
  // What was open at first sight and ended later is news like any other.
  if (isBeforeSight && (!isTerminal(reading.status) || endedBefore(reading, since)))
    return { ...first, observed_by: 'backfill', history: { backfill: options.backfill } };
  const reach = project?.bound && earlierBy(project.bound, options.walkLimits.overlapMs);
  return { ...first, late: reach !== undefined && createdAt !== undefined && createdAt < reach };
}

function takeRow({ clock }: PollDeps, poll: Poll, row: Operation): void {
  const { id, action, branch_id, created_at } = row;
  const rows = poll.rowsOfBranch.get(branch_id) ?? new Map<string, StartedRow>();
  poll.rowsOfBranch.set(branch_id, rows.set(id, { id, action, branch_id, created_at }));
  const createdAt = normaliseTimestamp(created_at);
  const bound = poll.project?.bound;
  if (bound !== undefined && createdAt !== undefined && createdAt > bound) poll.newerIds.add(id);
  poll.readIds.add(id);
  poll.memory.missing.delete(id);
  if (!isTerminal(row.status)) poll.memory.readAtMs.set(id, clock.now());
}

/** Writes the metrics and the insights about one recorded change. */
function noteRecorded(deps: PollDeps, poll: Poll, record: OperationRecord, reading: Operation): void {
  const { telemetry, insights } = deps;
  // This line appears once per outage: while the journal is full, nothing more is recorded.
  if (isJournalFull(record)) {
    const { project_id, operation_id } = record;
    telemetry.log('warn', 'journal.full', { project_id, operation_id, entry_count: PENDING_ENTRIES_MAX });
  }
  const sample = sampleOf(record, reading);
  if (sample !== undefined) insights.takeSample(sample);
  for (const change of changesOf(record)) insights.takeChange(change);
  const entry = record.entries.at(-1);
  if (entry?.type !== 'state_changed') return;
  poll.transitionCount += 1;
  telemetry.measure('TransitionsRecorded', 1);
  telemetry.measure('TransitionsByStatus', 1, entry.status);
  const failureCount = Math.max(entry.new_failures, entry.status === 'error' ? 1 : 0);
  if (failureCount > 0) telemetry.measure('FailuresByAction', failureCount, record.action);
  if (entry.late === true) telemetry.measure('LateOperations', 1);
  // The first walk of a project shows how late the bridge came, and not how soon it sees a change.
  const isFirstWalk = poll.project?.bound === undefined;
  if (isFirstWalk || entry.observed_by === 'backfill' || entry.late === true) return;
  const changedAtMs = Date.parse(entry.operation_updated_at);
  if (!Number.isNaN(changedAtMs))
    telemetry.measure('DetectionDelayMs', Math.max(0, deps.clock.now() - changedAtMs));
}

/** Returns the rows without repetitions. An operation that stands on the page twice is taken from its first row. */
function uniqueRows(rows: readonly Operation[]): readonly Operation[] {
  return [...new Map(rows.toReversed().map((row) => [row.id, row])).values()].toReversed();
}

/**
 * Starts with the oldest row, so that the events of one page leave roughly in the order in which the operations began.
 * `rows` are newest first. Resolves to true when every task was run before the stop signal, and resolved to true.
 */
async function forEachRow(
  rows: readonly Operation[],
  task: (row: Operation) => Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let areAllSure = true;
  const tryRow = async (row: Operation) => {
    if (!(await task(row))) areAllSure = false;
  };
  const areAllTried = await forEachConcurrently(rows.toReversed(), RECORDS_AT_ONCE, tryRow, signal);
  return areAllTried && areAllSure;
}
