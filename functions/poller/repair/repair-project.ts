/**
 * Takes one step of a repair: reads some pages of the project's list, repairs what they show, publishes it, and notes
 * how far it came. It may run beside polls and beside other repairs of the project: every write is a compare-and-set.
 */

import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { type RelayReport, relayRecords } from '../../../shared/protocol/relay-records.ts';
import type { RecordResult } from '../../../shared/store/adapters/record-result.ts';
import { type Repair, UNREPAIRED_LISTED_MAX } from '../../../shared/store/adapters/repairs.ts';
import type { UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { emptyMemory } from '../project/memory/project-memory.ts';
import type { PollDeps } from '../project/poll-deps.ts';
import { readStored } from '../project/read-stored.ts';
import { createOperationRecorder } from '../project/recording/operation-recorder.ts';
import { readingContextOf } from '../project/recording/reading-context.ts';
import { createSightings } from '../project/recording/sightings.ts';
import { fetchPage } from '../project/walking/fetch-page.ts';
import { followPages, type PagesResult } from '../project/walking/follow-pages.ts';
import { startSweep, sweepPageRows } from '../walk-plan/sweep-walk.ts';
import type { WalkState } from '../walk-plan/walk-state.ts';
import { createRowsRepair, type RepairCounts, type RepairRowsDeps } from './repair-rows.ts';

/** One step reads at most this many pages, so that its progress is noted and its events are published every few seconds. */
const PAGES_PER_STEP = 3;

export interface RepairDeps extends PollDeps {
  readonly store: PollDeps['store'] &
    Pick<RepairRowsDeps['store'], 'readBrokenOperation'> & {
      saveRepair(repair: Repair): Promise<RecordResult>;
    };
  readonly signal: AbortSignal;
}

export interface RepairStep {
  readonly repair: Repair;
  readonly relay: RelayReport;
  /** The upstream could not be read. The step is taken again later, unless the repair has ended. */
  readonly hasFailed: boolean;
}

/** `bootAt` is the account's, as for a poll. Rejects when the table cannot be read or written. */
export async function repairProject(
  deps: RepairDeps,
  repair: Repair,
  bootAt: Timestamp | undefined,
): Promise<RepairStep> {
  const { store, signal } = deps;
  const projectId = repair.project_id;
  const { project, commands, operations } = await readStored(store, { projectId, bootAt }, emptyMemory());
  const sightings = createSightings(deps.clock, emptyMemory(), project?.watermark);
  const subject = { project, commands, bootAt, startedWith: sightings.startedWith };
  const recorder = createOperationRecorder(deps, operations, subject);
  const counts: RepairCounts = { compared: 0, repairedIds: new Set(), unrepaired: new Map() };
  const isHistory: RepairRowsDeps['isHistory'] = (reading) => {
    const nowMs = deps.clock.now();
    const by = { account_id: store.accountId, nowMs, requestedMs: nowMs, observed_by: 'sweep' } as const;
    const context = readingContextOf({ ...by, recorded: undefined, reading }, subject, deps.options);
    return context.history !== undefined && context.history.backfill !== 'all';
  };
  const record = createRowsRepair(
    { ...deps, isHistory },
    { projectId, project },
    { recorder, sightings },
    counts,
  );
  const fetch = (wanted: Parameters<typeof fetchPage>[2]) => fetchPage(deps, { projectId, signal }, wanted);
  const startAt = (cursor: string | undefined) => startOf(deps, repair, cursor, project);
  const walk = await followPages({ fetch, record }, startAt(repair.cursor), {
    storedCursor: repair.cursor,
    restart: () => startAt(undefined),
  });
  const next = nextRepair(repair, walk, counts, isoTimeOf(deps.clock.now()));
  const changed = [...counts.repairedIds].flatMap((id) => recorder.records.get(id) ?? []);
  const relay = await relayRecords(deps, changed, signal, [...recorder.records.values()]);
  if (next !== repair) await store.saveRepair(next);
  return { repair: next, relay, hasFailed: walk.failure !== undefined && walk.failure !== 'cancelled' };
}

/** The pages of a repair end elsewhere than those of the last sweep, so that it finds what stands between two of these. */
function startOf(
  { options }: Pick<RepairDeps, 'options'>,
  { since: bound }: Repair,
  cursor: string | undefined,
  project: { readonly sweep_count?: number | undefined; readonly is_unordered?: boolean | undefined } = {},
): WalkState {
  const limits = { ...options.walkLimits, pagesMax: PAGES_PER_STEP };
  const firstPageRows = sweepPageRows((project.sweep_count ?? 0) + 1, limits.widePageRows);
  const walk = startSweep({ bound, cursor, firstPageRows }, limits);
  return { ...walk, isUnordered: project.is_unordered === true };
}

/** Returns the same repair when the step has brought nothing. */
function nextRepair(
  repair: Repair,
  { state, failure }: PagesResult,
  { compared, repairedIds, unrepaired }: RepairCounts,
  now: string,
): Repair {
  const listed = [...unrepaired].map(([operation_id, reason]) => ({ operation_id, reason }));
  const { cursor: _before, ...known } = repair;
  const counted = {
    ...known,
    compared_count: repair.compared_count + compared,
    repaired_count: repair.repaired_count + repairedIds.size,
    unrepaired_count: repair.unrepaired_count + unrepaired.size,
    unrepaired: [...repair.unrepaired, ...listed].slice(0, UNREPAIRED_LISTED_MAX),
  };
  const reason = failure === undefined ? undefined : FINAL_FAILURES[failure];
  if (reason !== undefined) return { ...counted, failure: reason, ended_at: now };
  if (state.outcome === 'complete') return { ...counted, ended_at: now };
  const cursor = state.lastCursor ?? repair.cursor;
  const hasBroughtNothing = compared === 0 && repairedIds.size === 0 && cursor === repair.cursor;
  return hasBroughtNothing ? repair : { ...counted, ...(cursor && { cursor }) };
}

/** After any other failure the step is taken again. */
const FINAL_FAILURES: Readonly<Partial<Record<UpstreamErrorKind, string>>> = {
  not_found: 'The upstream does not show this project to the key of the bridge.',
  rejected: 'The upstream refuses to list the operations of this project.',
};
