/** Walks a project's list from its head down to what earlier polls have recorded, and learns from it for the next walk. */

import type { Backfill } from '../../../../shared/core/records/operation-record.ts';
import { isOpen, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import { earlierNowMs, epochMsOf, type Timestamp } from '../../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { OperationPage } from '../../../../shared/upstream/upstream-client.ts';
import { isUpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import { activityOf, type ProjectActivity } from '../../planner/activity/project-activity.ts';
import { OVERLAPS_BELOW_MS } from '../../walk-plan/overlapping-pages.ts';
import { startWalk } from '../../walk-plan/page-walk.ts';
import { boundOf } from '../../walk-plan/walk-bound.ts';
import type { WalkGoal, WalkLimits, WalkRequest } from '../../walk-plan/walk-state.ts';
import { listEndOf } from '../memory/list-end.ts';
import { logOnce } from '../memory/log-once.ts';
import { reachOf, rowsToShow } from '../memory/page-reach.ts';
import type { ProjectMemory } from '../memory/project-memory.ts';
import { followPages, type PageSteps, type PagesResult } from './follow-pages.ts';

export interface WalkOptions {
  readonly walkLimits: WalkLimits;
  readonly backfill: Backfill;
  /** The first walk of a project goes this far below its head, unless all history is wanted. */
  readonly backfillDepthMs: number;
}

export interface WalkDeps {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly options: WalkOptions;
}

export interface WalkedProject {
  readonly projectId: string;
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  /** The account has this `boot_at`. It is undefined when it cannot be read. */
  readonly bootAt: Timestamp | undefined;
  /** These operations are known to be stored. The first page is sized to show those that are open. */
  readonly records: ReadonlyMap<string, OperationRecord>;
}

type WalkMemory = Pick<ProjectMemory, 'reach' | 'pageRowsMax' | 'listEnd' | 'logged'>;

export interface WalkResult extends PagesResult {
  /** The newest page says how soon to come back. It is undefined when none was read. */
  readonly activity: ProjectActivity | undefined;
}

export async function walkOperations(
  deps: WalkDeps,
  walked: WalkedProject,
  memory: WalkMemory,
  steps: PageSteps,
): Promise<WalkResult> {
  const { clock, telemetry, options } = deps;
  const { project, projectId } = walked;
  const resume = project?.resume;
  const startAt = (goal: WalkGoal) => startWalk(goal, options.walkLimits);
  let activity: ProjectActivity | undefined;
  const fetch = async (request: WalkRequest) => {
    const page = await steps.fetch(request);
    if (request.cursor !== undefined || isUpstreamError(page)) return page;
    const isWhole = learnFromFirstPage(memory, page, request.limit, project?.list_end);
    activity = activityOf(page.operations, isWhole, clock.now());
    return page;
  };
  const start = startAt({ ...goalOf(options, walked, memory), resume });
  const pages = await followPages({ ...steps, fetch }, start, {
    storedCursor: resume?.cursor,
    restart: () => startAt(goalOf(options, walked, memory)),
  });
  learnListEnd(memory, pages, options.walkLimits);
  if (pages.state.isUnordered) logOnce(telemetry, memory, 'list.unordered', projectId);
  return { ...pages, activity };
}

function goalOf(
  { walkLimits, backfill, backfillDepthMs }: WalkOptions,
  { project, bootAt, records }: WalkedProject,
  memory: Pick<WalkMemory, 'reach' | 'listEnd'>,
): WalkGoal {
  const openSinceMs = [...records.values()].filter(isOpen).map(({ created_at }) => Date.parse(created_at));
  return {
    bound: boundOf(project?.watermark, walkLimits.overlapMs),
    depthMs: backfill === 'all' ? undefined : backfillDepthMs,
    newsSince: backfill === 'all' ? undefined : (project?.history_until ?? bootAt),
    overlapsBelowMs: OVERLAPS_BELOW_MS,
    resume: undefined,
    isUnordered: project?.is_unordered,
    firstPageRows: rowsToShow(openSinceMs, memory.reach, walkLimits),
    endCursor: memory.listEnd?.isProven === true ? memory.listEnd.cursor : project?.list_end,
  };
}

/** Returns whether the page is the whole list. `storedEnd` is the stored cursor behind which nothing can appear. */
function learnFromFirstPage(
  memory: WalkMemory,
  { operations, malformedRowCount, cursor }: OperationPage,
  limit: number,
  storedEnd: string | undefined,
): boolean {
  const rowCount = operations.length + malformedRowCount;
  memory.reach = reachOf(operations);
  memory.pageRowsMax = rowCount < limit ? rowCount : undefined;
  return cursor === undefined || cursor === (memory.listEnd?.cursor ?? storedEnd);
}

/** A walk that ended at its bound says nothing of the end of the list, so what is known of that end stays. */
function learnListEnd(
  memory: Pick<WalkMemory, 'listEnd'>,
  { state, lastPage }: PagesResult,
  { overlapMs }: Pick<WalkLimits, 'overlapMs'>,
): void {
  const { outcome, endCursor, aboveNext, head, isUnordered } = state;
  if (lastPage === undefined || outcome !== 'complete' || endCursor === undefined || isUnordered) return;
  if (memory.listEnd?.cursor === endCursor && memory.listEnd.isProven) return;
  // An answer without the upstream's time says only that the newest row has begun.
  const serverDateMs = lastPage.serverDateMs ?? (head === undefined ? undefined : epochMsOf(head));
  const nowMs = earlierNowMs({ ...lastPage, serverDateMs });
  memory.listEnd = listEndOf(endCursor, aboveNext, { nowMs, overlapMs });
}
