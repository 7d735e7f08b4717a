/** Writes how the account is doing, about once a minute. A failure to write it is no failure of the poller. */

import {
  type AccountStatus,
  type AccountTrouble,
  nextStatus,
  type StatusSample,
  type Tally,
} from '../../../../shared/records/account-status.ts';
import { oldestPendingMs, pendingEntries } from '../../../../shared/records/journal.ts';
import type { JournalEntry } from '../../../../shared/records/journal-entries.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { WorkIndexEntry } from '../../../../shared/store/bridge-store.ts';
import type { InvocationDeps, StatusPort } from '../account-deps.ts';
import { type ProjectReadings, recallReadings } from './project-readings.ts';
import type { AccountHealth } from './publish-health.ts';

/**
 * The status is first written this long after the beginning of an invocation: late enough to have something to
 * report, and early enough that the end of a minute is reported, too.
 */
const FIRST_MS = 10_000;

/** The status is written this often. Alarms look at minutes, and each write costs a few units. */
const INTERVAL_MS = 50_000;

/** A warm environment keeps this of the status. */
export interface StatusMemory {
  /** The status as it was last read or written is kept for the next write. */
  stored: AccountStatus | undefined;
  writtenAtMs: number | undefined;
}

/** The status says this of the projects and of their polls. */
type ProjectsSummary = Required<
  Pick<StatusSample, 'project_count' | 'lastCompleteWalkAtMs' | 'unreadSinceMs' | 'unread' | 'failing_since'>
>;

/** Other parts of the poller keep these figures. */
export interface StatusSources {
  summarise(nowMs: number): ProjectsSummary;
  /** Says what stands in the way of all readings of the account. */
  trouble(): AccountTrouble | undefined;
  /** Returns when the oldest unpublished entry that the relay has met was recorded, or undefined when it has met none. */
  oldestLeftoverAtMs(): number | undefined;
}

/** When no status was written for longer than this, nothing was polled, and the time since the first failure is no outage. */
const STATUS_AGE_MS_MAX = 10 * 60_000;

/**
 * Recalls, at the beginning of an invocation, what another process has found out since this one last wrote the
 * status. A new process takes over what was learned of the upstream, too. Otherwise everything has to be found out again.
 */
export async function recallStatus(
  { status, planner, budget, clock, telemetry }: InvocationDeps,
  memory: StatusMemory,
  { readings, health }: { readonly readings: ProjectReadings; readonly health: AccountHealth },
): Promise<void> {
  try {
    const before = memory.stored;
    const stored = await status.read();
    if (stored === undefined) return;
    const isForeign = stored.written_at !== before?.written_at;
    const nowMs = clock.now();
    if (isForeign) health.failingSinceMs = failingSinceMs(stored, nowMs);
    if (nowMs - Date.parse(stored.written_at) > STATUS_AGE_MS_MAX) health.failingSinceMs = undefined;
    if (!isForeign) return;
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

/** A time of a clock that is ahead counts from now, because an outage would be told that much later. */
function failingSinceMs({ failing_since }: AccountStatus, nowMs: number): number | undefined {
  return failing_since === undefined ? undefined : Math.min(Date.parse(failing_since), nowMs);
}

export async function publishStatusRepeatedly(
  deps: InvocationDeps,
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

/**
 * Writes the status when it is due, and at once when the trouble of the account is another one. An invocation that ends
 * early has something to report all the same.
 */
export async function publishStatusIfDue(
  deps: InvocationDeps,
  memory: StatusMemory,
  sources: StatusSources,
): Promise<void> {
  const sinceMs = deps.clock.now() - (memory.writtenAtMs ?? Number.NEGATIVE_INFINITY);
  if (sinceMs < INTERVAL_MS && sources.trouble() === memory.stored?.trouble) return;
  try {
    await publishStatus(deps, memory, sources);
  } catch (error) {
    deps.telemetry.log('warn', 'status.not_written', { reason: toError(error).name });
  }
}

async function publishStatus(
  deps: InvocationDeps,
  memory: StatusMemory,
  sources: StatusSources,
): Promise<void> {
  const { status, store, clock, planner, budget, limits } = deps;
  const nowMs = clock.now();
  const work = await findWork(deps);
  const tally = status.tally.take();
  measureThrottled(deps, tally);
  if (tally.delaysMs.length >= DELAYS_MAX) deps.bounds.report('delays_kept', DELAYS_MAX);
  const next = nextStatus(memory.stored ?? (await status.read()), {
    nowMs,
    sinceMs: memory.writtenAtMs ?? nowMs - FIRST_MS,
    account_id: store.accountId,
    ...sources.summarise(nowMs),
    trouble: sources.trouble(),
    open_operation_count: work.filter(({ operationId }) => operationId !== undefined).length,
    requests_per_minute: limits.requestsPerMinute,
    tally,
    learned: { limit: budget.learned(), hints: planner.hintEvidence() },
  });
  memory.writtenAtMs = nowMs;
  await measureUnpublished(deps, work, sources.oldestLeftoverAtMs());
  await status.write(next);
  memory.stored = next;
}

/**
 * The status counts at most this many and then says that there are at least as many, because counting a backlog would
 * cost more than the number is worth.
 */
export const WORK_COUNTED_MAX = 5_000;

async function findWork({ store, telemetry }: InvocationDeps) {
  const { entries, next } = await store.findWorkPage({ limit: WORK_COUNTED_MAX });
  if (next !== undefined) telemetry.log('warn', 'work.not_counted', { counted: entries.length });
  return entries;
}

/** Of fewer requests a single one that was refused would be a large share. */
const REQUESTS_FOR_A_SHARE = 20;

/** The alarm goes by the share of the requests that the upstream refused for their rate. */
function measureThrottled({ telemetry }: InvocationDeps, { requestCount, throttledCount }: Tally): void {
  if (requestCount < REQUESTS_FOR_A_SHARE) return;
  telemetry.measure('UpstreamThrottledPercent', (100 * throttledCount) / requestCount);
}

/** Items are read by so many. All is published when the first of them are, and the relay has met nothing else. */
const WORK_PAGE = 100;

/** At most this many items are read for their events. The relay knows the age of what it has met beyond them. */
export const WORK_READ_MAX = 1_000;

async function measureUnpublished(
  { store, clock, telemetry }: InvocationDeps,
  work: readonly WorkIndexEntry[],
  leftoverAtMs: number | undefined,
): Promise<void> {
  let count = 0;
  let oldestAtMs = leftoverAtMs ?? Number.POSITIVE_INFINITY;
  const readMax = Math.min(work.length, WORK_READ_MAX);
  for (let from = 0; from < readMax && (from === 0 || Number.isFinite(oldestAtMs)); from += WORK_PAGE) {
    const page = work.slice(from, Math.min(from + WORK_PAGE, readMax));
    const records = await store.readRecords(page.map(({ key }) => key));
    count += records.flatMap((record) => pendingEntries<JournalEntry>(record)).length;
    oldestAtMs = Math.min(oldestPendingMs(records) ?? Number.POSITIVE_INFINITY, oldestAtMs);
  }
  telemetry.measure('UnpublishedBacklog', count);
  telemetry.measure(
    'UnpublishedAgeMs',
    Number.isFinite(oldestAtMs) ? Math.max(0, clock.now() - oldestAtMs) : 0,
  );
}

/** At most this many delays of one minute are kept. More of them do not change a percentile. */
export const DELAYS_MAX = 5_000;

export function createTally<T extends Telemetry>(
  telemetry: T,
): { readonly telemetry: T; readonly tally: StatusPort['tally'] } {
  let requestCount = 0;
  let throttledCount = 0;
  let delaysMs: number[] = [];
  return {
    telemetry: {
      ...telemetry,
      measure(metric, value, name) {
        if (metric === 'UpstreamRequests') requestCount += value;
        if (metric === 'UpstreamThrottled') throttledCount += value;
        if (metric === 'DetectionDelayMs' && delaysMs.length < DELAYS_MAX) delaysMs.push(value);
        telemetry.measure(metric, value, name);
      },
    },
    tally: {
      take() {
        const taken = { requestCount, throttledCount, delaysMs };
        [requestCount, throttledCount, delaysMs] = [0, 0, []];
        return taken;
      },
    },
  };
}
