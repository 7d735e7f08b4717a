/**
 * Takes a permit, asks the planner what to send with it, sends that, and reports to the memory of the account and to the planner
 * how the poll ended.
 */

import { type Permit, takenPermit } from '../../../shared/upstream/request-budget.ts';
import { isUpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import type { ComputesReading, PollDecision, PollResult } from '../planner/poll-planner.ts';
import { type PollReport, pollProject } from '../project/poll-project.ts';
import type { InvocationDeps } from './account-deps.ts';
import { type AccountMemory, countPoll, type InvocationCounts } from './account-memory.ts';
import { type KnownProjects, rememberProject } from './discovery/known-projects.ts';
import { countNotFound, endAbsence, forget, restMsOf } from './discovery/lose-projects.ts';
import { type AccountOrigin, type Discovery, readOriginAgain } from './discovery/origin.ts';
import { readListPage } from './discovery/project-list.ts';
import type { Leftovers } from './relay-leftovers.ts';
import {
  isOnlyTried,
  markRead,
  markUnread,
  type OtherRequests,
  unreadReason,
} from './status/project-readings.ts';
import {
  type AccountHealth,
  failingMs,
  markFailed,
  markOperationsRead,
  publishRecovery,
  publishRejectedKey,
  shownByList,
  surviveFailure,
} from './status/publish-health.ts';

/** When nothing is due, the planner is asked again this soon, because a discovery or a poll that ends can change what is due. */
const LOOK_MS_MAX = 250;

export interface WorkerState extends PollingState {
  readonly discovery: Discovery;
}

/**
 * Begins what the planner chooses, at most `pollsAtOnce` at a time. The permit comes first: a project that is chosen now is
 * read now, however long requests wait for the rate limit.
 */
export async function pollUntilStopped(
  deps: InvocationDeps,
  memory: AccountMemory,
  state: WorkerState,
): Promise<void> {
  const { planner, budget, clock, limits, signal } = deps;
  const { health } = memory;
  const underWay = new Set<Promise<void>>();
  const pause = (durationMs: number) => clock.sleep(durationMs, signal).catch(() => {});
  while (!signal.aborted) {
    if (underWay.size >= limits.pollsAtOnce) {
      await Promise.race(underWay);
      continue;
    }
    if (health.isKeyRejected || !(await tookPermit(deps))) {
      await pause(LOOK_MS_MAX);
      continue;
    }
    // The key may have been refused during the wait for the permit, and then no project may lose its turn to it.
    const decision = health.isKeyRejected ? undefined : planner.next(clock.now());
    if (decision === undefined || decision.kind === 'wait') {
      budget.giveBack();
      const waitMs = decision === undefined ? 0 : decision.untilMs - clock.now();
      await pause(Math.max(0, Math.min(waitMs, LOOK_MS_MAX)));
      continue;
    }
    const turn = surviveFailure(deps, health, () => takeTurn(deps, memory, state, decision)).finally(() =>
      underWay.delete(turn),
    );
    underWay.add(turn);
  }
  await Promise.all(underWay);
}

async function tookPermit({ budget, signal }: InvocationDeps): Promise<boolean> {
  return budget.take(signal).then(
    () => true,
    () => false,
  );
}

async function takeTurn(
  deps: InvocationDeps,
  memory: AccountMemory,
  state: WorkerState,
  decision: Exclude<PollDecision, { kind: 'wait' }>,
): Promise<void> {
  const permit = takenPermit();
  switch (decision.kind) {
    case 'poll':
      return pollOneProject(deps, memory, state, { projectId: decision.projectId, permit });
    case 'list':
      await readListPage(deps, state.discovery, decision, permit);
      return publishRecovery(deps, memory.health, shownByList(memory.projects));
    case 'computes':
      return readComputes(deps, decision.projectId, permit);
  }
}

/** The polls of one invocation share this state. */
interface PollingState {
  readonly origin: AccountOrigin;
  readonly leftovers: Leftovers;
  readonly counts: InvocationCounts;
}

export interface ProjectTurn {
  readonly projectId: string;
  /** The first request of the poll leaves with this permit. */
  readonly permit: Permit;
}

export async function pollOneProject(
  deps: InvocationDeps,
  memory: AccountMemory,
  { origin, leftovers, counts }: PollingState,
  { projectId, permit }: ProjectTurn,
): Promise<void> {
  const { planner, clock, signal } = deps;
  const { projects } = memory;
  let report: PollReport | undefined;
  try {
    // A project that is recorded proves that its account is, too, and the record of the account says since when operations are news.
    if (origin.bootAt === undefined && !origin.isUnreadable)
      await readOriginAgain(deps, origin, memory.listings);
    const history = planner.historyOf(projectId);
    const onRead = () => markOperationsRead(memory.health, clock.now());
    const request = { projectId, bootAt: origin.bootAt, signal, permit, history, onRead };
    report = await pollProject(deps, request, rememberProject(projects, projectId));
    countPoll(counts, report);
    if (report.project?.moved_to !== undefined) {
      forget(deps, projects, projectId);
      if (deps.fixedProjectIds === undefined) return;
      report = { ...report, failure: await lookForMoved(deps, projects, { projectId, permit }) };
      return await judgeHealth(deps, memory.health, report);
    }
    deps.telemetry.measure('EventsPublished', report.relay.publishedCount);
    const { unpublishedCount, underivedCount } = report.relay;
    if (unpublishedCount + underivedCount + report.leftoverCount > 0) leftovers.areExpected = true;
    await judgeHealth(deps, memory.health, report);
    if (report.failure === 'not_found') await countNotFound(deps, projects, projectId, report.project);
    else if (report.failure === undefined) await endAbsence(deps, projects, projectId);
    await judgeReading(deps, memory, projectId, report);
  } catch (error) {
    if (report === undefined)
      await judgeFailedReading(deps, memory, projectId, unreadReason(undefined, error));
    throw error;
  } finally {
    const restMs = restMsOf(projects, projectId, deps.limits.requestsPerMinute);
    planner.report(projectId, resultOf(report, restMs), clock.now());
  }
}

/**
 * Another account has the project, and no list shows when a fixed one is back. When it answers, the next looks decide whose it is, and
 * until then nothing of it is recorded. Resolves to why it could not be read, or to undefined when it could.
 */
async function lookForMoved(
  { upstream, clock, signal }: InvocationDeps,
  { awaited }: KnownProjects,
  { projectId, permit }: ProjectTurn,
): Promise<UpstreamErrorKind | undefined> {
  try {
    await upstream.listOperations({ projectId, limit: 1 }, { signal, permit });
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    if (error.kind === 'not_found') awaited.delete(projectId);
    return error.kind;
  }
  const nowMs = clock.now();
  const waiting = { fromMs: nowMs, lookedAtMs: nowMs, since: undefined };
  if (!awaited.has(projectId)) awaited.set(projectId, waiting);
  return undefined;
}

function resultOf(report: PollReport | undefined, restMs: number | undefined): PollResult {
  const { failure } = report ?? {};
  return {
    hasFailed: report === undefined || (failure !== undefined && failure !== 'cancelled'),
    foundTransition: (report?.recordedCount ?? 0) > 0,
    hasLeftovers: (report?.relay.unpublishedCount ?? 0) > 0,
    activity: report?.activity,
    wasCutShort: failure === 'cancelled',
    restMs,
  };
}

/** Derives from the end of a poll how the upstream answers the whole account. */
async function judgeHealth(
  deps: InvocationDeps,
  health: AccountHealth,
  { failure }: PollReport,
): Promise<void> {
  if (failure === undefined) return publishRecovery(deps, health, 'poll');
  if (failure === 'cancelled') return;
  // A project that cannot be seen says nothing of the upstream's health.
  if (failure !== 'not_found') markFailed(health, deps.clock.now());
  if (failure === 'unauthorized') await publishRejectedKey(deps, health);
  else deps.telemetry.log('warn', 'poll.interrupted', { reason: failure });
}

/** Notes whether the project was read to its end. */
async function judgeReading(
  deps: InvocationDeps,
  memory: AccountMemory,
  projectId: string,
  report: PollReport,
): Promise<void> {
  if (report.outcome !== 'complete')
    return judgeFailedReading(deps, memory, projectId, unreadReason(report, undefined));
  deps.telemetry.measure('WalksCompleted', 1);
  if (!memory.readings.completedAtMs.has(projectId))
    deps.telemetry.log('info', 'project.read', { project_id: projectId });
  await markRead(deps, memory.readings, projectId, report.project);
}

async function judgeFailedReading(
  deps: InvocationDeps,
  { projects, readings, health }: AccountMemory,
  projectId: string,
  reason: string,
): Promise<void> {
  // The end of an invocation is no failure, and a project that is gone is not read any more.
  if (reason === 'cancelled' || !projects.memories.has(projectId)) return;
  const isOnly = isOnlyTried(readings, projectId, (id) => projects.memories.has(id));
  const others = otherRequests(deps, health, isOnly);
  await markUnread(deps, readings, { projectId, reason, others });
}

/**
 * The project list is read every minute, and at least every five minutes, so an upstream that works has answered
 * within this time.
 */
const ANSWER_AGE_MS_MAX = 5 * 60_000;

/** While no other project was tried, the project list is the evidence, where it is read. */
function otherRequests(
  { clock, limits }: InvocationDeps,
  health: AccountHealth,
  isOnly: boolean,
): OtherRequests {
  const nowMs = clock.now();
  const { answeredAtMs } = health;
  const isAnswered = answeredAtMs !== undefined && nowMs - answeredAtMs <= ANSWER_AGE_MS_MAX;
  const isFailing = failingMs(health, nowMs) >= limits.failingMsMax;
  if (isAnswered && (isOnly || !isFailing)) return 'answered';
  return isFailing ? 'failing' : 'unknown';
}

/**
 * A refusal does not count as a failure of the project, not even when the key has no right to read computes. Polls of operations notice a
 * key that is rejected. Rejects only when the key could not be read from its secret.
 */
export async function readComputes(
  { upstream, planner, clock, signal }: InvocationDeps,
  projectId: string,
  permit: Permit,
): Promise<void> {
  let reading: ComputesReading = 'unreadable';
  try {
    reading = await upstream.listRunningComputes({ projectId }, { signal, permit });
  } catch (error) {
    if (!isUpstreamError(error)) throw error;
    if (error.kind === 'cancelled') reading = 'cut_short';
  } finally {
    planner.reportComputes(projectId, reading, clock.now());
  }
}
