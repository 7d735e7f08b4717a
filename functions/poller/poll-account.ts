/** One invocation: polls the projects of one account, many at once, until it is told to stop. */

import type { DegradedReason } from '../../shared/core/account-record.ts';
import { recordHealth } from '../../shared/core/account-record.ts';
import type { PollResult } from '../../shared/core/poll-planner.ts';
import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { settleCommands } from '../../shared/protocol/settle-commands.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { unlessUnreadable } from '../../shared/store/unreadable.ts';
import { type Permit, takenPermit } from '../../shared/upstream/request-budget.ts';
import { isUpstreamError } from '../../shared/upstream/upstream-error.ts';
import { discoverProjects, noteUnreachable, readListPage } from './discover-projects.ts';
import { endWhenQuiet } from './end-when-quiet.ts';
import { noteAnswer, noteNotRead, noteRead, oldestReadingMs } from './note-reading.ts';
import { emptyMemory, type ProjectMemory } from './poll.ts';
import { type PollReport, pollProject } from './poll-project.ts';
import type { AccountDeps, AccountMemory, Run } from './run.ts';
import { shareWithCommands } from './share-with-commands.ts';
import { recallStatus, tellStatusAtEnd, tellStatusRepeatedly } from './tell-status.ts';
import { watchForWork } from './watch-for-work.ts';

export interface AccountReport {
  readonly outcome: 'stopped' | 'lease_held' | 'key_rejected';
  readonly pollCount: number;
  readonly recordedCount: number;
  readonly publishedCount: number;
}

export interface Invocation {
  /** Ends the invocation early: the deadline, or the process is told to stop. */
  readonly signal: AbortSignal;
  /** The lease ends by itself after this long, so that a killed invocation blocks nobody for longer. */
  readonly leaseMs: number;
}

export async function pollAccount(
  deps: AccountDeps,
  memory: AccountMemory,
  { signal, leaseMs }: Invocation,
): Promise<AccountReport> {
  const holder = deps.newId();
  const run = startRun(deps, memory, signal);
  if (!(await acquireLease(run, holder, leaseMs))) {
    deps.telemetry.log('info', 'lease.held', { account_id: deps.store.accountId });
    return summarise(run, 'lease_held');
  }
  try {
    await recallStatus(run);
    await recallOrigin(run);
    await relayLeftovers(run);
    await pollUntilStopped(run);
    await noteHealth(run);
    await tellStatusAtEnd(run);
  } finally {
    await deps.store.releaseLease(holder);
  }
  measureRun(run);
  return summarise(run, run.rejectedKey ? 'key_rejected' : 'stopped');
}

/** The invocation of the last minute may still be ending: without a wait, the whole minute would be lost. */
const LEASE_WAIT_MS_MAX = 5_000;
const LEASE_LOOK_MS = 250;

async function acquireLease(run: Run, holder: string, leaseMs: number): Promise<boolean> {
  const { store, clock } = run.deps;
  const giveUpAtMs = clock.now() + LEASE_WAIT_MS_MAX;
  for (;;) {
    if (await store.acquireLease(holder, leaseMs)) return true;
    if (clock.now() >= giveUpAtMs || run.stop.signal.aborted) return false;
    await pause(run, LEASE_LOOK_MS);
  }
}

function startRun(deps: AccountDeps, memory: AccountMemory, signal: AbortSignal): Run {
  const stop = new AbortController();
  if (signal.aborted) stop.abort(signal.reason);
  signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true, signal: stop.signal });
  const counts = { pollCount: 0, recordedCount: 0, publishedCount: 0, unpublishedCount: 0 };
  return { deps, memory, stop, bootAt: undefined, isOriginUnreadable: false, rejectedKey: false, ...counts };
}

async function recallOrigin(run: Run): Promise<void> {
  const origin = await run.deps.store.readOrigin();
  if (origin === 'unreadable') run.isOriginUnreadable = true;
  else run.bootAt = origin?.boot_at;
}

/** What a crash left behind leaves first, also of projects that are not polled any more. */
async function relayLeftovers(run: Run): Promise<void> {
  const { store, planner } = run.deps;
  const places = await store.findWork();
  const records = await store.readRecords(places.map(({ key }) => key));
  // Also those whose project nobody polls any more: their deadline is kept here.
  const open = records.filter((record) => record.kind === 'command');
  const settled = await settleCommands(run.deps, open);
  const pending = [...records.filter((record) => record.published < record.revision), ...settled];
  const relay = await relayRecords(run.deps, pending);
  run.publishedCount += relay.publishedCount;
  if (pending.length > 0)
    run.deps.telemetry.log('info', 'leftovers.relayed', { event_count: relay.publishedCount });
  const projectIds = places.flatMap(({ projectId }) => projectId ?? []);
  // After a cold start these are all that is known until the projects are listed, and the list may fail.
  if (run.memory.projects.size === 0) planner.setProjects(projectIds);
  for (const projectId of projectIds) planner.markHot(projectId);
}

async function pollUntilStopped(run: Run): Promise<void> {
  const { pollsAtOnce } = run.deps.limits;
  const workers = Array.from({ length: pollsAtOnce }, () => pollInTurn(run));
  const results = await Promise.allSettled([
    discoverAtFirst(run),
    watchForWork(run),
    shareWithCommands(run),
    endWhenQuiet(run),
    ...(run.deps.status === undefined ? [] : [tellStatusRepeatedly(run)]),
    ...workers,
  ]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Until the list was whole once: from then on the planner reads its pages. */
async function discoverAtFirst(run: Run): Promise<void> {
  const { deps, memory, stop } = run;
  const { clock, limits } = deps;
  while (!stop.signal.aborted && !memory.areSightingsNews) {
    const sinceMs = clock.now() - (memory.discoveredAtMs ?? Number.NEGATIVE_INFINITY);
    if (sinceMs >= limits.discoveryIntervalMs) await guard(run, () => discoverProjects(run));
    const hasEverListed = memory.discoveredAtMs !== undefined;
    await pause(run, hasEverListed ? limits.discoveryIntervalMs : RETRY_DISCOVERY_MS);
  }
}

/** Before the first listing hardly a project is known, so it is tried again soon. */
const RETRY_DISCOVERY_MS = 5_000;

/** Polls end up here when nothing is due; short, because a discovery or another poll can change what is. */
const IDLE_WAIT_MS_MAX = 1_000;

async function pollInTurn(run: Run): Promise<void> {
  const { planner, clock } = run.deps;
  while (!run.stop.signal.aborted) {
    const isBooted = run.bootAt !== undefined || run.isOriginUnreadable;
    if (!isBooted || !(await tookPermit(run))) {
      await pause(run, IDLE_WAIT_MS_MAX);
      continue;
    }
    const decision = planner.next(clock.now());
    const permit = takenPermit();
    if (decision.kind === 'poll') await guard(run, () => pollOne(run, decision.projectId, permit));
    else if (decision.kind === 'list') await guard(run, () => readListPage(run, decision, permit));
    else await idleUntil(run, decision.untilMs);
  }
}

/** The permit comes first: a project that is chosen now is read now, whatever queue there is for the rate limit. */
async function tookPermit({ deps, stop }: Run): Promise<boolean> {
  return deps.budget.take(stop.signal).then(
    () => true,
    () => false,
  );
}

async function idleUntil(run: Run, untilMs: number): Promise<void> {
  const { budget, clock } = run.deps;
  budget.giveBack();
  await pause(run, Math.min(untilMs - clock.now(), IDLE_WAIT_MS_MAX));
}

async function pollOne(run: Run, projectId: string, permit: Permit): Promise<void> {
  const { deps, memory, bootAt, stop } = run;
  let report: PollReport | undefined;
  try {
    const history = deps.planner.historyOf(projectId);
    const request = { projectId, bootAt, signal: stop.signal, permit, history };
    report = await pollProject(deps, request, memoryOf(memory, projectId));
    notePoll(run, report);
    if (report.failure === 'not_found') await noteUnreachable(run, projectId);
    else memory.notFoundCounts.delete(projectId);
    if (report.outcome === 'complete') await noteComplete(run, projectId, report);
    else await noteNotRead(run, projectId, { report });
  } catch (error) {
    if (report === undefined) await noteNotRead(run, projectId, { error });
    throw error;
  } finally {
    deps.planner.report(projectId, resultOf(report), deps.clock.now());
  }
}

function resultOf(report: PollReport | undefined): PollResult {
  const { failure } = report ?? {};
  return {
    hasFailed: report === undefined || (failure !== undefined && failure !== 'cancelled'),
    foundTransition: (report?.recordedCount ?? 0) > 0,
    hasLeftovers: (report?.relay.unpublishedCount ?? 0) > 0,
    activity: report?.activity,
  };
}

async function noteComplete(run: Run, projectId: string, { project }: PollReport): Promise<void> {
  const { deps, memory } = run;
  const isFirst = !memory.completedAtMs.has(projectId);
  deps.telemetry.measure('WalksCompleted', 1);
  if (isFirst) deps.telemetry.log('info', 'project.read', { project_id: projectId });
  await noteRead(run, projectId, project);
}

function notePoll(run: Run, report: PollReport): void {
  const { deps, memory } = run;
  run.pollCount += 1;
  run.recordedCount += report.recordedCount;
  run.publishedCount += report.relay.publishedCount;
  run.unpublishedCount += report.relay.unpublishedCount;
  deps.telemetry.measure('EventsPublished', report.relay.publishedCount);
  deps.telemetry.measure('UnpublishedBacklog', report.relay.unpublishedCount);
  if (report.failure === undefined) {
    memory.failingSinceMs = undefined;
    noteAnswer(run);
    return;
  }
  if (report.failure === 'cancelled') return;
  memory.failingSinceMs ??= deps.clock.now();
  if (report.failure === 'unauthorized') rejectKey(run);
  else deps.telemetry.log('warn', 'poll.interrupted', { reason: report.failure });
}

function rejectKey(run: Run): void {
  run.rejectedKey = true;
  run.deps.telemetry.measure('KeyRejected', 1);
  run.deps.telemetry.log('error', 'key.rejected', {
    account_id: run.deps.store.accountId,
    advice: 'The upstream refused the key after a fresh read of the secret. Put a valid key into the secret.',
  });
  run.stop.abort(new Error('The upstream rejected the key'));
}

/** A failure of one poll or of one table call ends that poll, not the invocation: the next turn comes. */
async function guard(run: Run, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (isUpstreamError(error) && error.kind === 'unauthorized') return rejectKey(run);
    if (isUpstreamError(error) && error.kind === 'cancelled') return;
    if (isUpstreamError(error)) run.memory.failingSinceMs ??= run.deps.clock.now();
    const { name, message } = toError(error);
    run.deps.telemetry.log('error', 'poll.failed', { reason: name, message });
  }
}

/** Tells subscribers that events will be late, once, and once that they are on time again. */
async function noteHealth(run: Run): Promise<void> {
  const { store, clock } = run.deps;
  const record = await unlessUnreadable(store.readAccount());
  if (record === undefined) return;
  const next = recordHealth(record, degradedReason(run), clock.now());
  const isUndecided = run.pollCount === 0 && run.memory.failingSinceMs === undefined && !run.rejectedKey;
  if (next === undefined || isUndecided) return;
  if ((await store.record(next, record.revision)) === 'recorded') await relayRecords(run.deps, [next]);
}

function degradedReason({ rejectedKey, memory, deps }: Run): DegradedReason | undefined {
  if (rejectedKey) return 'key_rejected';
  const failingMs = memory.failingSinceMs === undefined ? 0 : deps.clock.now() - memory.failingSinceMs;
  return failingMs >= deps.limits.failingMsMax ? 'upstream_failing' : undefined;
}

function measureRun(run: Run): void {
  const { deps, memory } = run;
  const nowMs = deps.clock.now();
  const oldestMs = oldestReadingMs(memory, nowMs);
  if (oldestMs !== undefined) deps.telemetry.measure('WalkAgeMs', nowMs - oldestMs);
  deps.telemetry.measure('ProjectsPolled', run.pollCount);
}

async function pause(run: Run, durationMs: number): Promise<void> {
  try {
    await run.deps.clock.sleep(Math.max(0, durationMs), run.stop.signal);
  } catch {
    // The sleep was cut short because the run stops; the loop's condition sees that.
  }
}

function memoryOf(memory: AccountMemory, projectId: string): ProjectMemory {
  const known = memory.projects.get(projectId) ?? emptyMemory();
  memory.projects.set(projectId, known);
  return known;
}

function summarise(run: Run, outcome: AccountReport['outcome']): AccountReport {
  const { pollCount, recordedCount, publishedCount } = run;
  return { outcome, pollCount, recordedCount, publishedCount };
}
