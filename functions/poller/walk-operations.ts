/** Drives one page walk: fetches what the plan asks for and records every row before the plan moves on. */

import { isTerminal, type Operation } from '../../shared/core/operation.ts';
import { isOpen, isSettled } from '../../shared/core/operation-record.ts';
import {
  boundOf,
  isInReach,
  reachOf,
  rowsToShow,
  SWEEP_DEPTH_MS,
  startWalk,
  takePage,
  type WalkGoal,
  type WalkState,
} from '../../shared/core/page-walk.ts';
import { activityOf } from '../../shared/core/project-activity.ts';
import { normaliseTimestamp } from '../../shared/core/timestamp.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import { isUnreadable } from '../../shared/store/unreadable.ts';
import type { OperationPage } from '../../shared/upstream/upstream-client.ts';
import {
  isUpstreamError,
  type UpstreamError,
  type UpstreamErrorKind,
} from '../../shared/upstream/upstream-error.ts';
import { isUnchanged, type Poll, recordReadingOf } from './poll.ts';

/** Conditional writes under way at once for one project: a backfill is not held up by one write's latency. */
const RECORDS_AT_ONCE = 8;

export interface WalkResult {
  /** `outcome` is `complete` only when every row in reach was dealt with. */
  readonly state: WalkState;
  readonly failure: UpstreamErrorKind | undefined;
}

export async function walkOperations(poll: Poll): Promise<WalkResult> {
  const { walkLimits } = poll.deps.options;
  let state = startWalk(goalOf(poll), walkLimits);
  while (state.next !== undefined) {
    const page = await fetchPage(poll, state.next);
    if (isUpstreamError(page)) {
      if (!isRefusedResume(page, state)) return { state, failure: page.kind };
      state = startWalk({ ...goalOf(poll), resume: undefined }, walkLimits);
      continue;
    }
    const after = takePage(state, page);
    const isRecorded = await recordPage(poll, after, page.operations);
    if (!isRecorded) return { state, failure: undefined };
    state = after;
  }
  return { state, failure: undefined };
}

function goalOf({ project, isSweep, deps, records, memory }: Poll): WalkGoal {
  const { walkLimits, backfill, backfillDepthMs } = deps.options;
  const openSinceMs = [...records.values()].filter(isOpen).map(({ created_at }) => Date.parse(created_at));
  const depthMs = isSweep ? SWEEP_DEPTH_MS : walkLimits.overlapMs;
  return {
    bound: boundOf(project?.watermark, depthMs),
    depthMs: backfill === 'all' ? undefined : backfillDepthMs,
    resume: isSweep ? undefined : project?.resume,
    // Any number that differs from sweep to sweep; the second of the one before is at hand.
    firstPageRows: rowsToShow(openSinceMs, memory.reach, walkLimits),
    sweepNumber: isSweep ? Math.floor(Math.abs(project?.swept_at_ms ?? 0) / 1_000) : undefined,
  };
}

async function fetchPage(
  poll: Poll,
  { cursor, limit }: { cursor: string | undefined; limit: number },
): Promise<OperationPage | UpstreamError> {
  const { deps, request } = poll;
  const query = { projectId: request.projectId, limit, ...(cursor !== undefined && { cursor }) };
  try {
    const { signal, permit } = request;
    const page = await deps.upstream.listOperations(query, { permit, ...(signal && { signal }) });
    // The first page of a sweep may be a few rows: what was known before says more than they do.
    if (cursor === undefined && limit >= deps.options.walkLimits.firstPageRows) {
      poll.memory.reach = reachOf(page.operations);
      poll.activity = activityOf(page.operations, page.operations.length < limit, deps.clock.now());
    }
    if (page.malformedRowCount > 0) deps.telemetry.measure('MalformedRows', page.malformedRowCount);
    return page;
  } catch (error) {
    if (isUpstreamError(error)) return error;
    throw error;
  }
}

/** A stored cursor that the upstream refuses must not hold the project up for ever: start again at the head. */
function isRefusedResume(error: UpstreamError, state: WalkState): boolean {
  const { resume } = state.goal;
  return error.kind === 'rejected' && resume !== undefined && state.next?.cursor === resume.cursor;
}

/** True when every row in reach is known to be recorded. */
async function recordPage(poll: Poll, state: WalkState, rows: readonly Operation[]): Promise<boolean> {
  const unresolvedBefore = poll.unresolvedCount;
  const unique = [...new Map(rows.toReversed().map((row) => [row.id, row])).values()].toReversed();
  for (const row of unique) noteReading(poll, row);
  const relevant = unique.filter((row) => poll.records.has(row.id) || isInReach(state, row.created_at));
  const known = relevant.filter((row) => !isRemembered(poll, row));
  const watched = known.filter((row) => poll.records.has(row.id));
  const unread = known.filter((row) => !poll.records.has(row.id));
  // The rows of `watched` were read from the store before this page was asked for: their order of reads is right.
  await forEachConcurrently(watched.toReversed(), RECORDS_AT_ONCE, (row) => recordWatched(poll, row));
  await recordUnread(poll, unread);
  return poll.unresolvedCount === unresolvedBefore;
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
 * A record that is missing is the exception: whatever the row says was true, and nothing older is stored.
 */
async function recordUnread(poll: Poll, rows: readonly Operation[]): Promise<void> {
  if (rows.length === 0) return;
  const { store } = poll.deps;
  const { records: stored, unreadableIds } = await store.readOperations(
    poll.request.projectId,
    rows.map((row) => row.id),
  );
  // Oldest first, so that the events of one page leave about in the order in which the operations began.
  await forEachConcurrently(rows.toReversed(), RECORDS_AT_ONCE, async (row) => {
    // It is recorded, by a version that can read it: skipped here, and no reason to walk this way again.
    if (unreadableIds.has(row.id)) return;
    const record = stored.get(row.id);
    if (record === undefined) await recordReadingOf(poll, undefined, row);
    else if (isUnchanged(record, row)) poll.records.set(row.id, record);
    else await recordReread(poll, row);
  });
  for (const [id, record] of stored) if (isSettled(record)) poll.settled.set(id, record);
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
    poll.unresolvedCount += 1;
  }
}
