/** Writes how far a poll has come, after everything that it read is recorded, and only when that is worth a write. */

import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Progress, StoredArrivals } from '../../../shared/core/records/reading-progress.ts';
import { RECORDED_ABOVE_MAX, type RecordedOperation } from '../../../shared/core/records/recorded-above.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { RecordResult } from '../../../shared/store/adapters/record-result.ts';
import type { ArrivalHistory } from '../planner/activity/arrival-history.ts';
import { wantedRecords } from '../walk-plan/failing-list.ts';
import { decideProgress, withoutWatermark } from '../walk-plan/walk-progress.ts';
import type { WalkState } from '../walk-plan/walk-state.ts';
import { logOnce } from './memory/log-once.ts';
import type { ProjectMemory } from './memory/project-memory.ts';
import type { AskForRecorded, HeldOperations } from './recorded-operations.ts';
import type { PagesResult } from './walking/follow-pages.ts';

interface ProgressStore {
  /** Resolves to `conflict` when the stored watermark is at least as new, or is not the one of `ifWatermark`. */
  saveProgress(projectId: string, progress: Progress): Promise<RecordResult>;
}

export interface ProgressOptions {
  /**
   * The watermark moves once this many newer rows were seen, because a write per walk would double the cost of a
   * quiet account.
   */
  readonly watermarkStepRows: number;
}

export interface ProgressDeps {
  readonly store: ProgressStore;
  /** Nothing is noted of a project that cannot be read when this is undefined. */
  readonly askForRecorded?: AskForRecorded | undefined;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly options: ProgressOptions;
}

export interface PolledProject {
  readonly projectId: string;
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  readonly walk: Pick<PagesResult, 'state' | 'failure'>;
  /** It is undefined when no sweep was due. */
  readonly sweep: WalkState | undefined;
  /** This many rows are newer than the stored watermark. */
  readonly newerRowCount: number;
  /** This poll has recorded this many transitions. */
  readonly recordedCount: number;
  /** Operations begin this often in the project. It is undefined when that is not known. */
  readonly history: ArrivalHistory | undefined;
  /** This poll has met these operations, which are recorded and not open. */
  readonly ended: readonly RecordedOperation[];
}

type ProgressMemory = Pick<ProjectMemory, 'failureCount' | 'isReachNoted' | 'listEnd' | 'logged'>;

/** Resolves to whether there was something to write. */
export async function saveProgress(
  deps: ProgressDeps,
  polled: PolledProject,
  memory: ProgressMemory,
): Promise<boolean> {
  const { store, clock, options } = deps;
  const { projectId, project, walk, sweep, newerRowCount, history, ended } = polled;
  countFailure(polled, memory);
  const isAsked = isNoteWanted(walk, memory);
  const held = isAsked ? await heldBy(deps, polled) : undefined;
  const progress = decideProgress({
    project,
    walk: walk.state,
    sweep,
    newerRowCount,
    watermarkStepRows: options.watermarkStepRows,
    arrivals: history && storedArrivals(history),
    recorded: held?.operations,
    listEnd: memory.listEnd?.isProven === true ? memory.listEnd.cursor : undefined,
    ended,
    nowMs: clock.now(),
  });
  if (held?.isBoundMet || (isFull(progress?.recordedAbove) && !isBounded(polled)))
    logOnce(deps.telemetry, memory, 'rows.not_noted', projectId);
  if (progress !== undefined) await writeProgress(store, projectId, ifStillTrue(progress, project));
  // Only now: when the table refuses the write, the next poll asks again. So it does after a poll that has recorded
  // something, because an index shows that later.
  if (isAsked) memory.isReachNoted = polled.recordedCount === 0;
  return progress !== undefined;
}

/** Where a walk goes on and how far it has recorded is true only beside the watermark that the poll has read. */
function ifStillTrue(progress: Progress, project: ProjectRecord | undefined): Progress {
  const { watermark, resume, recordedUntil, recordedAbove } = progress;
  const isReach = [resume, recordedUntil, recordedAbove].some((field) => field !== undefined);
  return watermark === undefined && isReach
    ? { ...progress, ifWatermark: project?.watermark ?? null }
    : progress;
}

async function writeProgress(store: ProgressStore, projectId: string, progress: Progress): Promise<void> {
  if ((await store.saveProgress(projectId, progress)) === 'recorded') return;
  const rest = withoutWatermark(progress);
  if (rest !== undefined) await store.saveProgress(projectId, rest);
}

/** An operation that no longer fits may be published once more when the list cannot be read for weeks. */
function isFull(above: Progress['recordedAbove']): boolean {
  return above != null && Object.keys(above).length >= RECORDED_ABOVE_MAX;
}

/** In a list that is newest first, what is older than the operations that are named counts as recorded. */
function isBounded({ project, walk }: PolledProject): boolean {
  return project?.watermark !== undefined && !walk.state.isUnordered;
}

/** A single failure passes by itself, and is not worth a query. */
const FAILURES_MIN = 2;

/**
 * A project that cannot be read may stay like that until the table has forgotten its last operations, and the watermark may
 * lag a day behind them. So the table is asked for them once, while it still has them.
 */
async function heldBy(
  { askForRecorded, clock }: Pick<ProgressDeps, 'askForRecorded' | 'clock'>,
  { projectId, project, walk }: PolledProject,
): Promise<HeldOperations | undefined> {
  const recorded = await askForRecorded?.(projectId, wantedRecords(project, walk.state, clock.now()));
  return recorded;
}

function countFailure({ walk: { failure }, recordedCount }: PolledProject, memory: ProgressMemory): void {
  if (failure === undefined || recordedCount > 0) memory.isReachNoted = false;
  if (failure === 'cancelled') return;
  memory.failureCount = failure === undefined ? 0 : memory.failureCount + 1;
}

function isNoteWanted({ failure }: PolledProject['walk'], memory: ProgressMemory): boolean {
  if (failure === 'cancelled' || memory.isReachNoted) return false;
  return memory.failureCount >= FAILURES_MIN;
}

function storedArrivals({ arrivalCount, observedMs }: ArrivalHistory): StoredArrivals {
  return { count: roundTo(arrivalCount, 2), observed_ms: roundTo(observedMs, 0) };
}

function roundTo(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
