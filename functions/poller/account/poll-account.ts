/** One invocation: polls the projects of one account, many at once, until it is told to stop. */

import { createRelayLedger } from '../../../shared/protocol/relay-ledger.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import { type Permit, takenPermit } from '../../../shared/upstream/request-budget.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { PollResult } from '../planner/poll-planner.ts';
import { emptyMemory, type ProjectMemory } from '../project/poll.ts';
import { type PollReport, pollProject } from '../project/poll-project.ts';
import { noteGoodAnswer, noteHealth, noteOperationsRead } from './account-health.ts';
import { discoverProjects, isListingDue } from './discover-projects.ts';
import { endWhenQuiet } from './end-when-quiet.ts';
import { noLeftovers } from './leftovers.ts';
import { noteAnsweringProject, noteMissingProject, restOf } from './lose-projects.ts';
import { noteNotRead, noteRead, oldestReadingMs } from './note-reading.ts';
import { readListPage } from './read-list-page.ts';
import { relayLeftovers } from './relay-leftovers.ts';
import type { AccountDeps, AccountMemory, Run } from './run.ts';
import { shareWithCommands } from './share-with-commands.ts';
import { recallStatus, tellStatusAtEnd, tellStatusRepeatedly } from './tell-status.ts';
import { watchForWork } from './watch-for-work.ts';
import { rejectKey, watchKey } from './watch-key.ts';
import { release, reportAtEnd, untilLoopsEnd } from './wind-up.ts';

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
  const run = startRun(deps, memory, signal);
  if (!(await acquireLease(run, leaseMs))) {
    deps.telemetry.log('info', 'lease.held', { account_id: deps.store.accountId });
    return summarise(run, 'lease_held');
  }
  try {
    await recallStatus(run);
    await recallOrigin(run);
    const account = await unlessUnreadable(deps.store.readAccount());
    run.isDegraded = account?.degraded_reason !== undefined;
    await pollUntilStopped(run);
    await reportAtEnd(run, { health: () => noteHealth(run), status: () => tellStatusAtEnd(run) });
  } finally {
    measureRun(run);
    await release(run);
  }
  return summarise(run, memory.isKeyRejected ? 'key_rejected' : 'stopped');
}

/** The invocation of the last minute may still be ending: without a wait, the whole minute would be lost. */
const LEASE_WAIT_MS_MAX = 5_000;
const LEASE_LOOK_MS = 250;

async function acquireLease(run: Run, leaseMs: number): Promise<boolean> {
  const { lease, clock } = run.deps;
  const giveUpAtMs = clock.now() + LEASE_WAIT_MS_MAX;
  for (;;) {
    if (await lease.acquire(leaseMs)) return true;
    if (clock.now() >= giveUpAtMs || run.stop.signal.aborted) return false;
    await pause(run, LEASE_LOOK_MS);
  }
}

function startRun(deps: AccountDeps, memory: AccountMemory, signal: AbortSignal): Run {
  const stop = new AbortController();
  if (signal.aborted) stop.abort(signal.reason);
  signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true, signal: stop.signal });
  const counts = { pollCount: 0, recordedCount: 0, publishedCount: 0, unpublishedCount: 0 };
  memory.boundsMet.clear();
  return {
    deps: { ...deps, ledger: createRelayLedger() },
    memory,
    stop,
    addedNow: new Set(),
    bootAt: undefined,
    isOriginUnreadable: false,
    isDegraded: false,
    ...counts,
    leftovers: noLeftovers(),
  };
}

async function recallOrigin(run: Run): Promise<void> {
  const origin = await run.deps.store.readOrigin();
  if (origin === 'unreadable') run.isOriginUnreadable = true;
  else run.bootAt = origin?.boot_at;
}

async function pollUntilStopped(run: Run): Promise<void> {
  const { pollsAtOnce } = run.deps.limits;
  const workers = Array.from({ length: pollsAtOnce }, () => pollInTurn(run));
  await untilLoopsEnd(run, [
    relayLeftovers(run),
    discoverRepeatedly(run),
    watchForWork(run),
    shareWithCommands(run),
    watchKey(run),
    endWhenQuiet(run),
    ...(run.deps.status === undefined ? [] : [tellStatusRepeatedly(run)]),
    ...workers,
  ]);
}

/** Whenever something needs the whole list; its pages have turns of their own besides. */
async function discoverRepeatedly(run: Run): Promise<void> {
  while (!run.stop.signal.aborted) {
    if (!run.memory.isKeyRejected && isListingDue(run))
      await guard(run, () => discoverProjects(run).then(() => noteGoodAnswer(run, 'list')));
    await pause(run, DISCOVERY_LOOK_MS);
  }
}

/** Before the first listing hardly a project is known, so a failed one is tried again soon. */
const DISCOVERY_LOOK_MS = 5_000;

/** Polls end up here when nothing is due; short, because a discovery or another poll can change what is. */
const IDLE_WAIT_MS_MAX = 1_000;

async function pollInTurn(run: Run): Promise<void> {
  const { planner, clock } = run.deps;
  while (!run.stop.signal.aborted) {
    const isBooted = run.bootAt !== undefined || run.isOriginUnreadable;
    if (!isBooted || run.memory.isKeyRejected || !(await tookPermit(run))) {
      await pause(run, IDLE_WAIT_MS_MAX);
      continue;
    }
    const decision = planner.next(clock.now());
    const permit = takenPermit();
    if (decision.kind === 'poll') await guard(run, () => pollOne(run, decision.projectId, permit));
    else if (decision.kind === 'list')
      await guard(run, () => readListPage(run, decision, permit).then(() => noteGoodAnswer(run, 'list')));
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
    const onRead = () => noteOperationsRead(run);
    const request = { projectId, bootAt, signal: stop.signal, permit, history, onRead };
    report = await pollProject(deps, request, memoryOf(memory, projectId));
    await notePoll(run, report);
    if (report.failure === 'not_found') await noteMissingProject(run, projectId);
    else if (report.failure === undefined) await noteAnsweringProject(run, projectId);
    if (report.outcome === 'complete') await noteComplete(run, projectId, report);
    else await noteNotRead(run, projectId, { report });
  } catch (error) {
    if (report === undefined) await noteNotRead(run, projectId, { error });
    throw error;
  } finally {
    deps.planner.report(projectId, resultOf(report, restOf(run, projectId)), deps.clock.now());
  }
}

function resultOf(report: PollReport | undefined, restMs: number | undefined): PollResult {
  const { failure } = report ?? {};
  return {
    hasFailed: report === undefined || (failure !== undefined && failure !== 'cancelled'),
    foundTransition: (report?.recordedCount ?? 0) > 0,
    hasLeftovers: (report?.relay.unpublishedCount ?? 0) > 0,
    activity: report?.activity,
    restMs,
  };
}

async function noteComplete(run: Run, projectId: string, { project }: PollReport): Promise<void> {
  const { deps, memory } = run;
  const isFirst = !memory.completedAtMs.has(projectId);
  deps.telemetry.measure('WalksCompleted', 1);
  if (isFirst) deps.telemetry.log('info', 'project.read', { project_id: projectId });
  await noteRead(run, projectId, project);
}

async function notePoll(run: Run, report: PollReport): Promise<void> {
  const { deps, memory } = run;
  run.pollCount += 1;
  run.recordedCount += report.recordedCount;
  run.publishedCount += report.relay.publishedCount;
  run.unpublishedCount += report.relay.unpublishedCount;
  if (report.relay.unpublishedCount + report.leftoverCount > 0) run.leftovers.areExpected = true;
  deps.telemetry.measure('EventsPublished', report.relay.publishedCount);
  deps.telemetry.measure('UnpublishedBacklog', report.relay.unpublishedCount);
  if (report.failure === undefined) return noteGoodAnswer(run, 'poll');
  if (report.failure === 'cancelled') return;
  // A project that cannot be seen says nothing of the upstream's health.
  if (report.failure !== 'not_found') memory.failingSinceMs ??= deps.clock.now();
  if (report.failure === 'unauthorized') await noteRejectedKey(run);
  else deps.telemetry.log('warn', 'poll.interrupted', { reason: report.failure });
}

async function noteRejectedKey(run: Run): Promise<void> {
  if (run.memory.isKeyRejected) return;
  rejectKey(run);
  await noteHealth(run);
}

/** A failure of one poll or of one table call ends that poll, not the invocation: the next turn comes. */
async function guard(run: Run, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (isUpstreamError(error) && error.kind === 'unauthorized') return noteRejectedKey(run);
    if (isUpstreamError(error) && error.kind === 'cancelled') return;
    if (isUpstreamError(error)) run.memory.failingSinceMs ??= run.deps.clock.now();
    const { name, message } = toError(error);
    run.deps.telemetry.log('error', 'poll.failed', { reason: name, message });
  }
}

function measureRun(run: Run): void {
  const { deps, memory } = run;
  const nowMs = deps.clock.now();
  const oldestMs = oldestReadingMs(memory, nowMs);
  if (oldestMs !== undefined) deps.telemetry.measure('WalkAgeMs', nowMs - oldestMs);
  deps.telemetry.measure('ProjectsPolled', run.pollCount);
  if (memory.isKeyRejected) deps.telemetry.measure('KeyRejected', 1);
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
