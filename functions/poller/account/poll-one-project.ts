/** Polls one project in its turn, and reports to the account's memory and to the planner how the poll ended. */

import type { Permit } from '../../../shared/upstream/request-budget.ts';
import type { PollPlanner, PollResult } from '../planner/poll-planner.ts';
import type { PollDeps } from '../project/poll-deps.ts';
import { type PollReport, pollProject } from '../project/poll-project.ts';
import type { AccountLimits } from './account-deps.ts';
import type { AccountMemory } from './account-memory.ts';
import type { AccountOrigin } from './discovery/account-origin.ts';
import { rememberProject } from './discovery/known-projects.ts';
import { countNotFound, endAbsence, type LossDeps, restMsOf } from './discovery/lose-projects.ts';
import { countPoll, type InvocationCounts } from './invocation-counts.ts';
import { type Leftovers, measureRelay } from './relay/leftovers.ts';
import {
  isOnlyTried,
  markRead,
  markUnread,
  type OtherRequests,
  type ReadingDeps,
  unreadReason,
} from './status/project-readings.ts';
import {
  type AccountHealth,
  failingMs,
  type HealthDeps,
  markFailed,
  markOperationsRead,
  publishRecovery,
  publishRejectedKey,
} from './status/publish-health.ts';

export interface ProjectPollDeps extends PollDeps, LossDeps, HealthDeps, ReadingDeps {
  readonly store: PollDeps['store'];
  readonly clock: PollDeps['clock'];
  readonly planner: LossDeps['planner'] & Pick<PollPlanner, 'historyOf' | 'report'>;
  readonly limits: AccountLimits;
}

/** The polls of one invocation share this state. */
export interface PollingState {
  readonly origin: AccountOrigin;
  readonly leftovers: Leftovers;
  readonly counts: InvocationCounts;
}

export type PolledMemory = Pick<AccountMemory, 'projects' | 'readings' | 'health'>;

export interface ProjectTurn {
  readonly projectId: string;
  /** The first request of the poll leaves with this permit. */
  readonly permit: Permit;
}

export async function pollOneProject(
  deps: ProjectPollDeps,
  memory: PolledMemory,
  { origin, leftovers, counts }: PollingState,
  { projectId, permit }: ProjectTurn,
): Promise<void> {
  const { planner, clock, signal } = deps;
  const { projects } = memory;
  let report: PollReport | undefined;
  try {
    const history = planner.historyOf(projectId);
    const onRead = () => markOperationsRead(memory.health, clock.now());
    const request = { projectId, bootAt: origin.bootAt, signal, permit, history, onRead };
    report = await pollProject(deps, request, rememberProject(projects, projectId));
    countPoll(counts, report);
    measureRelay(deps.telemetry, report.relay);
    const { unpublishedCount, underivedCount } = report.relay;
    if (unpublishedCount + underivedCount + report.leftoverCount > 0) leftovers.areExpected = true;
    await judgeHealth(deps, memory.health, report);
    if (report.failure === 'not_found') await countNotFound(deps, projects, projectId);
    else if (report.failure === undefined) await endAbsence(deps, projects, projectId);
    await judgeReading(deps, memory, projectId, report);
  } catch (error) {
    if (report === undefined) await judgeFailedReading(deps, memory, projectId, unreadReason(report, error));
    throw error;
  } finally {
    const restMs = restMsOf(projects, projectId, deps.limits.requestsPerMinute);
    planner.report(projectId, resultOf(report, restMs), clock.now());
  }
}

function resultOf(report: PollReport | undefined, restMs: number | undefined): PollResult {
  const { failure } = report ?? {};
  return {
    hasFailed: report === undefined || (failure !== undefined && failure !== 'cancelled'),
    foundTransition: (report?.recordedCount ?? 0) > 0,
    hasLeftovers: (report?.relay.unpublishedCount ?? 0) > 0,
    activity: report?.activity,
    wasCutShort: failure === 'cancelled' && report?.activity === undefined,
    restMs,
  };
}

/** Derives from the end of a poll how the upstream answers the whole account. */
async function judgeHealth(deps: HealthDeps, health: AccountHealth, { failure }: PollReport): Promise<void> {
  if (failure === undefined) return publishRecovery(deps, health, 'poll');
  if (failure === 'cancelled') return;
  // A project that cannot be seen says nothing of the upstream's health.
  if (failure !== 'not_found') markFailed(health, deps.clock.now());
  if (failure === 'unauthorized') await publishRejectedKey(deps, health);
  else deps.telemetry.log('warn', 'poll.interrupted', { reason: failure });
}

/** Notes whether the project was read to its end. */
async function judgeReading(
  deps: ReadingDeps & HealthDeps,
  memory: PolledMemory,
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
  deps: ReadingDeps & HealthDeps,
  { projects, readings, health }: PolledMemory,
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

/** While no other project was tried, the project list is the evidence. */
function otherRequests({ clock, limits }: HealthDeps, health: AccountHealth, isOnly: boolean): OtherRequests {
  const nowMs = clock.now();
  const { answeredAtMs } = health;
  const isAnswered = answeredAtMs !== undefined && nowMs - answeredAtMs <= ANSWER_AGE_MS_MAX;
  const isFailing = failingMs(health, nowMs) >= limits.failingMsMax;
  if (isAnswered && (isOnly || !isFailing)) return 'answered';
  return isFailing ? 'failing' : 'unknown';
}
