/** Writes how the account is doing, about once a minute; a failure of it is no failure of the poller. */

import { nextStatus } from '../../shared/core/account-status.ts';
import { type JournalEntry, pendingEntries } from '../../shared/core/journal.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { WorkPlace } from '../../shared/store/bridge-store.ts';
import { oldestReadingMs, recallUnread, unreadProjects } from './note-reading.ts';
import type { Run } from './run.ts';

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

async function tellStatus({ deps, memory }: Run): Promise<void> {
  const { status, clock, store, telemetry, planner, budget } = deps;
  if (status === undefined) return;
  const nowMs = clock.now();
  try {
    const work = await store.findWork();
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
      tally: status.tally.take(),
      learned: { limit: budget.learned(), hints: planner.hintEvidence() },
    });
    memory.statusToldAtMs = nowMs;
    telemetry.measure('UnpublishedAgeMs', await unpublishedAgeMs(deps, work));
    await status.write(next);
    memory.status = next;
  } catch (error) {
    telemetry.log('warn', 'status.not_written', { reason: toError(error).name });
  }
}

/** Items that are looked into: a backlog beyond them is as old as theirs. */
const WORK_READ_MAX = 100;

async function unpublishedAgeMs({ store, clock }: Run['deps'], work: readonly WorkPlace[]): Promise<number> {
  const records = await store.readRecords(work.slice(0, WORK_READ_MAX).map(({ key }) => key));
  const times = records.flatMap((record) =>
    pendingEntries<JournalEntry>(record).map(({ observed_at }) => Date.parse(observed_at)),
  );
  return times.length === 0 ? 0 : Math.max(0, clock.now() - Math.min(...times));
}

/** The oldest of the latest complete reads; undefined while a project has none. */
function lastCompleteWalkAtMs({ projects, completedAtMs }: Run['memory']): number | undefined {
  if (projects.size === 0 || [...projects.keys()].some((id) => !completedAtMs.has(id))) return undefined;
  return Math.min(...completedAtMs.values());
}

async function pause({ deps, stop }: Run, durationMs: number): Promise<void> {
  await deps.clock.sleep(durationMs, stop.signal).catch(() => {});
}
