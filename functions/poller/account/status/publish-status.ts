/** Writes how the account is doing, about once a minute; a failure to write it is no failure of the poller. */

import { oldestPendingMs } from '../../../../shared/core/journal/relay-plan.ts';
import {
  type AccountStatus,
  nextStatus,
  type StatusSample,
} from '../../../../shared/core/records/account-status.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { WorkIndexEntry } from '../../../../shared/store/adapters/work-index.ts';
import type { PollerBudget } from '../../../../shared/upstream/request-budget.ts';
import type { PollPlanner } from '../../planner/poll-planner.ts';
import type { LeftoverStore } from '../relay/relay-leftovers.ts';
import { type ProjectReadings, recallReadings } from './project-readings.ts';
import type { BoundReports } from './report-bound.ts';
import { DELAYS_MAX, type TallyKeeper } from './tally.ts';

/** Into an invocation of a minute: late enough to have something to report, and early enough that its end is reported, too. */
const FIRST_MS = 10_000;

/** Alarms look at minutes; each write costs a few units. */
const INTERVAL_MS = 50_000;

/** What a warm environment keeps of the status. */
export interface StatusMemory {
  /** As it was last read or written. */
  stored: AccountStatus | undefined;
  writtenAtMs: number | undefined;
}

export interface StatusPort {
  read(): Promise<AccountStatus | undefined>;
  write(status: AccountStatus): Promise<void>;
  readonly tally: TallyKeeper;
  readonly requestsPerMinute: number;
}

export interface StatusDeps {
  readonly status: StatusPort;
  readonly store: { readonly accountId: string } & LeftoverStore;
  readonly planner: Pick<PollPlanner, 'hintEvidence' | 'restoreHints'>;
  readonly budget: Pick<PollerBudget, 'learned' | 'restore'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly bounds: BoundReports;
  readonly signal: AbortSignal;
}

/** What the status says of the projects. */
type ProjectsSummary = Required<
  Pick<StatusSample, 'project_count' | 'lastCompleteWalkAtMs' | 'unreadSinceMs' | 'unread'>
>;

/** Where the figures come from that other rooms keep. */
export interface StatusSources {
  summarise(nowMs: number): ProjectsSummary;
  /** When the oldest unpublished entry that the relay has met was recorded; undefined: it has met none. */
  oldestLeftoverAtMs(): number | undefined;
}

/**
 * At the beginning of an invocation: what another process has found out since this one last wrote the status. A new process takes over
 * what was learned of the upstream, too; without it everything is found out again.
 */
export async function recallStatus(
  { status, planner, budget, telemetry }: Pick<StatusDeps, 'status' | 'planner' | 'budget' | 'telemetry'>,
  memory: StatusMemory,
  readings: ProjectReadings,
): Promise<void> {
  try {
    const before = memory.stored;
    const stored = await status.read();
    if (stored === undefined || stored.written_at === before?.written_at) return;
    memory.stored = stored;
    recallReadings(readings, stored);
    const { learned } = stored;
    if (learned === undefined || before !== undefined) return;
    budget.restore(learned.limit);
    planner.restoreHints(learned.hints);
  } catch (error) {
    telemetry.log('warn', 'status.not_read', { reason: toError(error).name });
  }
}

export async function publishStatusRepeatedly(
  deps: StatusDeps,
  memory: StatusMemory,
  sources: StatusSources,
): Promise<void> {
  const { clock, signal } = deps;
  const pause = () => clock.sleep(FIRST_MS, signal).catch(() => {});
  await pause();
  while (!signal.aborted) {
    await publishStatusIfDue(deps, memory, sources);
    await pause();
  }
}

/** An invocation that ends early has something to report all the same. */
export async function publishStatusIfDue(
  deps: StatusDeps,
  memory: StatusMemory,
  sources: StatusSources,
): Promise<void> {
  const sinceMs = deps.clock.now() - (memory.writtenAtMs ?? Number.NEGATIVE_INFINITY);
  if (sinceMs < INTERVAL_MS) return;
  try {
    await publishStatus(deps, memory, sources);
  } catch (error) {
    deps.telemetry.log('warn', 'status.not_written', { reason: toError(error).name });
  }
}

async function publishStatus(deps: StatusDeps, memory: StatusMemory, sources: StatusSources): Promise<void> {
  const { status, store, clock, telemetry, planner, budget } = deps;
  const nowMs = clock.now();
  const work = await findWork(deps);
  const tally = status.tally.take();
  if (tally.delaysMs.length >= DELAYS_MAX) deps.bounds.report('delays_kept', DELAYS_MAX);
  const next = nextStatus(memory.stored ?? (await status.read()), {
    nowMs,
    sinceMs: memory.writtenAtMs ?? nowMs - FIRST_MS,
    account_id: store.accountId,
    ...sources.summarise(nowMs),
    open_operation_count: work.filter(({ operationId }) => operationId !== undefined).length,
    requests_per_minute: status.requestsPerMinute,
    tally,
    learned: { limit: budget.learned(), hints: planner.hintEvidence() },
  });
  memory.writtenAtMs = nowMs;
  telemetry.measure('UnpublishedAgeMs', await unpublishedAgeMs(deps, work, sources.oldestLeftoverAtMs()));
  await status.write(next);
  memory.stored = next;
}

/** Beyond this many the status says that there are at least as many: counting a backlog would cost more than it says. */
export const WORK_COUNTED_MAX = 5_000;

async function findWork({ store, telemetry }: Pick<StatusDeps, 'store' | 'telemetry'>) {
  const { entries, next } = await store.findWorkPage({ limit: WORK_COUNTED_MAX });
  if (next !== undefined) telemetry.log('warn', 'work.not_counted', { counted: entries.length });
  return entries;
}

/** How many items are read for their age; the age of what the relay has met beyond them is known besides. */
export const WORK_READ_MAX = 100;

async function unpublishedAgeMs(
  { store, clock }: Pick<StatusDeps, 'store' | 'clock'>,
  work: readonly WorkIndexEntry[],
  leftoverAtMs = Number.POSITIVE_INFINITY,
): Promise<number> {
  const records = await store.readRecords(work.slice(0, WORK_READ_MAX).map(({ key }) => key));
  const oldestAtMs = Math.min(oldestPendingMs(records) ?? Number.POSITIVE_INFINITY, leftoverAtMs);
  return Number.isFinite(oldestAtMs) ? Math.max(0, clock.now() - oldestAtMs) : 0;
}
