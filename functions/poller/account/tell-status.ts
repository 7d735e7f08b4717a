/** Writes how the account is doing, about once a minute; a failure of it is no failure of the poller. */

import { nextStatus } from '../../../shared/core/records/account-status.ts';
import { oldestPendingMs } from '../../../shared/core/records/relay-plan.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { WorkPlace } from '../../../shared/store/work-index.ts';
import { noteBound } from './note-bound.ts';
import { oldestReadingMs, recallUnread, unreadProjects } from './note-reading.ts';
import type { Run } from './run.ts';
import { DELAYS_MAX } from './tally.ts';

/** Into an invocation of a minute: late enough to have something to tell, and its end is told too. */
const FIRST_MS = 10_000;

/** A minute is what alarms look at; each write costs a few units. */
const INTERVAL_MS = 50_000;

/** In a new process: what the one before it has found out. Without it everything is found out again. */
export async function recallStatus({ deps, memory }: Run): Promise<void> {
  const { status, planner, budget, telemetry } = deps;
  if (status === undefined || memory.status !== undefined) return;
  try {
    memory.status = await status.read();
    recallUnread({ memory });
    const { learned } = memory.status ?? {};
    if (learned === undefined) return;
    budget.restore(learned.limit);
    planner.restoreHints(learned.hints);
  } catch (error) {
    telemetry.log('warn', 'status.not_read', { reason: toError(error).name });
  }
}

export async function tellStatusRepeatedly(run: Run): Promise<void> {
  const { clock } = run.deps;
  await pause(run, FIRST_MS);
  while (!run.stop.signal.aborted) {
    const sinceMs = clock.now() - (run.memory.statusToldAtMs ?? Number.NEGATIVE_INFINITY);
    if (sinceMs >= INTERVAL_MS) await tellStatus(run);
    await pause(run, FIRST_MS);
  }
}

/** An invocation that ends early has something to tell all the same. */
export async function tellStatusAtEnd(run: Run): Promise<void> {
  const sinceMs = run.deps.clock.now() - (run.memory.statusToldAtMs ?? Number.NEGATIVE_INFINITY);
  if (run.deps.limits.lingerMs !== undefined && sinceMs >= INTERVAL_MS) await tellStatus(run);
}

async function tellStatus(run: Run): Promise<void> {
  const { deps, memory } = run;
  const { status, clock, store, telemetry, planner, budget } = deps;
  if (status === undefined) return;
  const nowMs = clock.now();
  try {
    const work = await findWork(run);
    const tally = status.tally.take();
    if (tally.delaysMs.length >= DELAYS_MAX) noteBound(run, 'delays_kept', DELAYS_MAX);
    const next = nextStatus(memory.status ?? (await status.read()), {
      nowMs,
      sinceMs: memory.statusToldAtMs ?? nowMs - FIRST_MS,
      lastCompleteWalkAtMs: lastCompleteWalkAtMs(memory),
      unreadSinceMs: oldestReadingMs(memory, nowMs),
      unread: unreadProjects(memory),
      account_id: store.accountId,
      project_count: memory.projects.size,
      open_operation_count: work.filter(({ operationId }) => operationId !== undefined).length,
      requests_per_minute: status.requestsPerMinute,
      tally,
      learned: { limit: budget.learned(), hints: planner.hintEvidence() },
    });
    memory.statusToldAtMs = nowMs;
    telemetry.measure('UnpublishedAgeMs', await unpublishedAgeMs(run, work));
    await status.write(next);
    memory.status = next;
  } catch (error) {
    telemetry.log('warn', 'status.not_written', { reason: toError(error).name });
  }
}

/** Beyond this many the status says that there are at least as many: counting a backlog would cost more than it says. */
export const WORK_COUNTED_MAX = 5_000;

async function findWork({ deps }: Run): Promise<readonly WorkPlace[]> {
  const { places, next } = await deps.store.findWorkPage({ limit: WORK_COUNTED_MAX });
  if (next !== undefined) deps.telemetry.log('warn', 'work.not_counted', { counted: places.length });
  return places;
}

/** Items that are looked into; what the relay has met beyond them is known besides. */
export const WORK_READ_MAX = 100;

async function unpublishedAgeMs({ deps, leftovers }: Run, work: readonly WorkPlace[]): Promise<number> {
  const { store, clock } = deps;
  const records = await store.readRecords(work.slice(0, WORK_READ_MAX).map(({ key }) => key));
  const oldestAtMs = Math.min(
    oldestPendingMs(records) ?? Number.POSITIVE_INFINITY,
    leftovers.oldestAtMs ?? Number.POSITIVE_INFINITY,
  );
  return Number.isFinite(oldestAtMs) ? Math.max(0, clock.now() - oldestAtMs) : 0;
}

/** The oldest of the latest complete reads; undefined while a project that can be seen has none. */
function lastCompleteWalkAtMs({ projects, completedAtMs, unreachable }: Run['memory']): number | undefined {
  const isUnread = (id: string) => !completedAtMs.has(id) && !unreachable.has(id);
  if (completedAtMs.size === 0 || [...projects.keys()].some(isUnread)) return undefined;
  return Math.min(...completedAtMs.values());
}

async function pause({ deps, stop }: Run, durationMs: number): Promise<void> {
  await deps.clock.sleep(durationMs, stop.signal).catch(() => {});
}
