/** Drives one page walk: fetches what the plan asks for and records every row before the plan moves on. */

import { mayBeForgotten } from '../../../shared/core/records/history.ts';
import { isTerminal, type Operation } from '../../../shared/core/records/operation.ts';
import { isOpen, isSettled } from '../../../shared/core/records/operation-record.ts';
import {
  boundOf,
  isInReach,
  startWalk,
  takePage,
  type WalkGoal,
  type WalkRequest,
  type WalkState,
} from '../../../shared/core/records/page-walk.ts';
import { normaliseTimestamp, secondOf } from '../../../shared/core/time/timestamp.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import type { OperationPage } from '../../../shared/upstream/upstream-client.ts';
import {
  isUpstreamError,
  type UpstreamError,
  type UpstreamErrorKind,
} from '../../../shared/upstream/upstream-error.ts';
import { activityOf } from '../planner/project-activity.ts';
import { listEndOf } from './list-end.ts';
import { reachOf, rowsToShow } from './page-reach.ts';
import { isUnchanged, logOnce, type Poll, recordReadingOf } from './poll.ts';

/** Conditional writes under way at once for one project: a backfill is not held up by one write's latency. */
const RECORDS_AT_ONCE = 8;

export interface WalkResult {
  /** `outcome` is `complete` only when every row in reach was dealt with. */
  readonly state: WalkState;
  readonly failure: UpstreamErrorKind | undefined;
}

export async function walkOperations(poll: Poll): Promise<WalkResult> {
  const { deps, project } = poll;
  const { walkLimits } = deps.options;
  const resume = project?.resume;
  const startAt = (goal: WalkGoal) => startWalk(goal, walkLimits);
  const result = await followPages(poll, startAt({ ...goalOf(poll), resume }), {
    storedCursor: resume?.cursor,
    restart: () => startAt(goalOf(poll)),
  });
  noteListEnd(poll, result.state);
  if (result.state.isUnordered) logOnce(poll, 'list.unordered');
  return result;
}

/** A walk that ended at its bound says nothing of the end of the list, and what is known of it stays. */
function noteListEnd(poll: Poll, { outcome, endCursor, aboveNext, isUnordered }: WalkState): void {
  if (outcome !== 'complete' || endCursor === undefined || isUnordered) return;
  const { overlapMs } = poll.deps.options.walkLimits;
  if (poll.memory.listEnd?.cursor === endCursor && poll.memory.listEnd.isProven) return;
  poll.memory.listEnd = listEndOf(endCursor, aboveNext, { nowMs: earlierNowMs(poll), overlapMs });
}

/** The earlier one of the upstream's clock and ours, so that one wrong clock neither proves nor hides anything. */
function earlierNowMs({ deps, upstreamNowMs }: Poll): number {
  return Math.min(deps.clock.now(), upstreamNowMs ?? Number.POSITIVE_INFINITY);
}

export interface StoredPlace {
  /** Where an earlier poll has stopped; undefined: nowhere. */
  readonly storedCursor: string | undefined;
  /** The walk from the head of the list, without that cursor. */
  readonly restart: () => WalkState;
}

/** Reads page after page and deals with every row, until the plan is complete or something fails. */
export async function followPages(poll: Poll, start: WalkState, stored: StoredPlace): Promise<WalkResult> {
  let state = start;
  while (state.next !== undefined) {
    const page = await fetchPage(poll, state.next);
    if (isUpstreamError(page)) {
      if (!isRefusedPlace(page, state, stored)) return { state, failure: page.kind };
      state = stored.restart();
      continue;
    }
    const readAt = secondOf(poll.upstreamNowMs ?? poll.deps.clock.now());
    const after = takePage(state, { ...page, readAt });
    const isRecorded = await recordPage(poll, after, page.operations);
    if (!isRecorded) return { state, failure: undefined };
    state = after;
  }
  return { state, failure: undefined };
}

function goalOf({ project, request, deps, records, memory }: Poll): WalkGoal {
  const { walkLimits, backfill, backfillDepthMs } = deps.options;
  const openSinceMs = [...records.values()].filter(isOpen).map(({ created_at }) => Date.parse(created_at));
  return {
    bound: boundOf(project?.watermark, walkLimits.overlapMs),
    depthMs: backfill === 'all' ? undefined : backfillDepthMs,
    newsSince: project?.history_until ?? request.bootAt,
    resume: undefined,
    isUnordered: project?.is_unordered,
    firstPageRows: rowsToShow(openSinceMs, memory.reach, walkLimits),
    endCursor: memory.listEnd?.isProven === true ? memory.listEnd.cursor : project?.list_end,
  };
}

async function fetchPage(poll: Poll, { cursor, limit }: WalkRequest): Promise<OperationPage | UpstreamError> {
  const { deps, request } = poll;
  const query = { projectId: request.projectId, limit, ...(cursor !== undefined && { cursor }) };
  try {
    const { signal, permit } = request;
    const page = await deps.upstream.listOperations(query, { permit, ...(signal && { signal }) });
    poll.upstreamNowMs = page.serverDateMs;
    if (cursor === undefined && !poll.isSweeping) learnFromFirstPage(poll, page, limit);
    if (page.malformedRowCount > 0) deps.telemetry.measure('MalformedRows', page.malformedRowCount);
    return page;
  } catch (error) {
    if (isUpstreamError(error)) return error;
    throw error;
  }
}

/** The first page of a sweep is not looked at: it may be a few rows, and the walk of the same poll has seen more. */
function learnFromFirstPage(poll: Poll, page: OperationPage, limit: number): void {
  const { memory, deps } = poll;
  const { operations, cursor } = page;
  const rowCount = operations.length + page.malformedRowCount;
  const isWhole = cursor === undefined || cursor === (memory.listEnd?.cursor ?? poll.project?.list_end);
  memory.reach = reachOf(operations);
  memory.pageRowsMax = rowCount < limit ? rowCount : undefined;
  poll.activity = activityOf(operations, isWhole, deps.clock.now());
}

/** A stored cursor that the upstream refuses must not hold the project up for ever: the walk starts again at the head. */
function isRefusedPlace(error: UpstreamError, state: WalkState, { storedCursor }: StoredPlace): boolean {
  return error.kind === 'rejected' && storedCursor !== undefined && state.next?.cursor === storedCursor;
}

/** True when every row in reach is known to be recorded. */
async function recordPage(poll: Poll, state: WalkState, rows: readonly Operation[]): Promise<boolean> {
  const unresolvedBefore = poll.counts.unresolved;
  const unique = [...new Map(rows.toReversed().map((row) => [row.id, row])).values()].toReversed();
  for (const row of unique) noteReading(poll, row);
  const relevant = unique.filter((row) => poll.records.has(row.id) || isInReach(state, row.created_at));
  const known = relevant.filter((row) => !isRemembered(poll, row));
  const watched = known.filter((row) => poll.records.has(row.id));
  const unread = known.filter((row) => !poll.records.has(row.id));
  // The rows of `watched` were read from the store before this page was asked for: their order of reads is right.
  const { signal } = poll.request;
  const task = (row: Operation) => recordWatched(poll, row);
  if (!(await forEachConcurrently(watched.toReversed(), RECORDS_AT_ONCE, task, signal))) return false;
  if (!(await recordUnread(poll, unread))) return false;
  return poll.counts.unresolved === unresolvedBefore;
}

function noteReading(poll: Poll, row: Operation): void {
  const { watermark } = poll.project ?? {};
  const createdAt = normaliseTimestamp(row.created_at);
  if (watermark !== undefined && createdAt !== undefined && createdAt > watermark) poll.newerIds.add(row.id);
  poll.readIds.add(row.id);
  poll.memory.missingSinceMs.delete(row.id);
  if (!isTerminal(row.status)) poll.memory.readAtMs.set(row.id, poll.deps.clock.now());
}

function isRemembered(poll: Poll, row: Operation): boolean {
  if (poll.records.has(row.id) || !poll.memory.settled.has(row.id, row)) return false;
  poll.settled.set(row.id, row);
  return true;
}

async function recordWatched(poll: Poll, row: Operation): Promise<void> {
  const record = poll.records.get(row.id);
  if (!isUnchanged(record, row)) await recordReadingOf(poll, record, row);
}

/**
 * The page came before these records were read, so a difference proves nothing yet: the operation is read once more.
 * A record that is missing is the exception: whatever the row says was true, and nothing older is stored. False: the stop signal came first.
 */
async function recordUnread(poll: Poll, rows: readonly Operation[]): Promise<boolean> {
  if (rows.length === 0) return true;
  const { signal } = poll.request;
  if (signal?.aborted) return false;
  const { store } = poll.deps;
  const { records: stored, unreadableIds } = await store.readOperations(
    poll.request.projectId,
    rows.map((row) => row.id),
  );
  // Oldest first, so that the events of one page leave about in the order in which the operations began.
  const task = async (row: Operation) => {
    // It is recorded, by a version that can read it: skipped here, and no reason to walk this way again.
    if (unreadableIds.has(row.id)) return;
    const record = stored.get(row.id);
    if (record === undefined) await recordUnknown(poll, row);
    else if (isUnchanged(record, row)) poll.records.set(row.id, record);
    else await recordReread(poll, row);
  };
  const areAllRecorded = await forEachConcurrently(rows.toReversed(), RECORDS_AT_ONCE, task, signal);
  for (const [id, record] of stored) if (isSettled(record)) poll.settled.set(id, record);
  return areAllRecorded;
}

/** A row that the table may have known once and forgotten since is no news; it is remembered as long as it is walked. */
async function recordUnknown(poll: Poll, row: Operation): Promise<void> {
  const createdAt = normaliseTimestamp(row.created_at);
  if (createdAt !== undefined && mayBeForgotten(createdAt, poll.project ?? {}, earlierNowMs(poll))) {
    logOnce(poll, 'rows.forgotten');
    poll.settled.set(row.id, row);
    return;
  }
  await recordReadingOf(poll, undefined, row);
}

async function recordReread(poll: Poll, row: Operation): Promise<void> {
  const { store, upstream } = poll.deps;
  const { signal } = poll.request;
  try {
    const record = await store.readOperation(row.project_id, row.id);
    const query = { projectId: row.project_id, operationId: row.id };
    await recordReadingOf(poll, record, await upstream.getOperation(query, signal && { signal }));
  } catch (error) {
    if (isUnreadable(error)) return;
    if (!isUpstreamError(error)) throw error;
    poll.counts.unresolved += 1;
  }
}
