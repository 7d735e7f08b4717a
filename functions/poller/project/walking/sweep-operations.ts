/**
 * Sweeps a project's list once a day: reads deeper than a walk, with other page ends, and so finds rows that every
 * walk has missed.
 */

import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import { SWEEP_DEPTH_MS, startSweep, sweepPageRows } from '../../walk-plan/sweep-walk.ts';
import { boundOf } from '../../walk-plan/walk-bound.ts';
import type { WalkLimits, WalkState } from '../../walk-plan/walk-state.ts';
import type { ProjectMemory } from '../memory/project-memory.ts';
import { followPages, type PageSteps, type PagesResult } from './follow-pages.ts';

/**
 * A failed sweep is tried again after this time and not with every poll: what it looks for is rare, and the walk has
 * read what is new.
 */
const RETRY_AFTER_MS = 10 * 60_000;

export interface SweepOptions {
  readonly walkLimits: WalkLimits;
  readonly sweepIntervalMs: number;
}

export interface SweepDeps {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly options: SweepOptions;
}

export interface SweptProject {
  readonly projectId: string;
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  /** The walk of the same poll comes first. */
  readonly walk: WalkState;
}

type SweepMemory = Pick<ProjectMemory, 'pageRowsMax' | 'sweepFailedAtMs'>;

/** Resolves to undefined when no sweep is due. A sweep follows a complete walk, so that what is new never waits for it. */
export async function sweepOperations(
  { clock, telemetry, options }: SweepDeps,
  { projectId, project, walk }: SweptProject,
  memory: SweepMemory,
  steps: PageSteps,
): Promise<PagesResult | undefined> {
  const fresh = walk.isBoundFalse ? walk.goal.bound : boundOf(project?.watermark, SWEEP_DEPTH_MS);
  const bound = project?.sweep?.bound ?? fresh;
  const isReady = walk.outcome === 'complete' && !walk.isUnordered;
  const sweptAtMs = project?.swept_at_ms ?? 0;
  if (bound === undefined || !isReady || !isDue(clock.now(), sweptAtMs, memory, options)) return undefined;
  const firstPageRows = firstPageRowsOf(project, memory, options.walkLimits);
  const limits = limitsAfter(walk, options.walkLimits);
  const startAt = (cursor: string | undefined) => startSweep({ bound, cursor, firstPageRows }, limits);
  const storedCursor = project?.sweep?.cursor;
  const result = await followPages(steps, startAt(storedCursor), {
    storedCursor,
    restart: () => startAt(undefined),
  });
  const { failure } = result;
  // A sweep that the end of the invocation has cut short goes on with the next poll.
  const hasFailed = failure !== undefined && failure !== 'cancelled';
  memory.sweepFailedAtMs = hasFailed ? clock.now() : undefined;
  if (hasFailed) telemetry.log('warn', 'sweep.interrupted', { project_id: projectId, reason: failure });
  return result;
}

/** `sweptAtMs` is the end of the last complete sweep in milliseconds since the epoch, or 0 when there was none. */
function isDue(
  nowMs: number,
  sweptAtMs: number,
  { sweepFailedAtMs }: SweepMemory,
  { sweepIntervalMs }: SweepOptions,
): boolean {
  const isResting = sweepFailedAtMs !== undefined && Math.abs(nowMs - sweepFailedAtMs) < RETRY_AFTER_MS;
  return !isResting && Math.abs(nowMs - sweptAtMs) >= sweepIntervalMs;
}

function firstPageRowsOf(
  project: ProjectRecord | undefined,
  memory: SweepMemory,
  { widePageRows }: WalkLimits,
): number {
  return sweepPageRows(project?.sweep_count ?? 0, memory.pageRowsMax ?? widePageRows);
}

/** A sweep takes the pages that the walk of this poll has left, and at least one. */
function limitsAfter({ pagesRead }: WalkState, walkLimits: WalkLimits): WalkLimits {
  return { ...walkLimits, pagesMax: Math.max(1, walkLimits.pagesMax - pagesRead) };
}
