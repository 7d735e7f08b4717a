/** Runs one invocation: it polls the projects of one account, many at once, until its signal aborts. */

import { createRelayLedger } from '../../../shared/protocol/relay-records.ts';
import { isoTimeIfKnown } from '../../../shared/records/account-status.ts';
import { stoppedBy } from '../../../shared/runtime/concurrency.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import { measurePublished } from '../project/poll-project.ts';
import { emptyMemory, mustReadStore } from '../project/project-memory.ts';
import {
  type Repairing,
  type Replaying,
  repairRepeatedly,
  replayRepeatedly,
} from '../repairs-and-replays.ts';
import { shareWithCommands } from './account-budget.ts';
import type { AccountDeps, InvocationDeps } from './account-deps.ts';
import { watchKey } from './account-key.ts';
import { type AccountMemory, type InvocationCounts, type Listings, noCounts } from './account-memory.ts';
import { keepNamesRepeatedly } from './discovery/keep-names.ts';
import { type KnownProjects, rememberProject, visibleIdsOf } from './discovery/known-projects.ts';
import { recordedProjects } from './discovery/list-page.ts';
import { readOrigin } from './discovery/origin.ts';
import { discoverRepeatedly } from './discovery/project-list.ts';
import { waitForLease } from './lease.ts';
import { type LeftoverEvents, type Leftovers, leftoversAtStart, relayLeftovers } from './relay-leftovers.ts';
import {
  forgetReadings,
  lastCompleteWalkAtMs,
  oldestReadingMs,
  startReadingAges,
  unreadProjects,
} from './status/project-readings.ts';
import {
  publishFirstSightRepeatedly,
  publishHealthAtEnd,
  readHealth,
  surviveFailure,
  troubleOf,
} from './status/publish-health.ts';
import {
  publishStatusIfDue,
  publishStatusRepeatedly,
  recallStatus,
  type StatusSources,
} from './status/publish-status.ts';
import { createBoundReports } from './status/report-bound.ts';
import { watchUsageRepeatedly } from './usage.ts';
import { endWhenQuiet, watchForWork } from './watch-for-work.ts';
import { release, reportAtEnd, STOP_RESERVE_MS, untilLoopsEnd } from './wind-up.ts';
import { pollUntilStopped, type WorkerState } from './worker.ts';

export interface AccountReport extends Readonly<InvocationCounts> {
  readonly outcome: 'stopped' | 'lease_held' | 'key_rejected';
}

export interface Invocation {
  /** It ends the invocation early, at the deadline or when the process must stop. */
  readonly signal: AbortSignal;
  /** The lease ends by itself after this long, so that an invocation that was killed blocks no other for longer. */
  readonly leaseMs: number;
}

export async function pollAccount(
  accountDeps: AccountDeps,
  memory: AccountMemory,
  { signal, leaseMs }: Invocation,
): Promise<AccountReport> {
  const stop = stoppedBy(signal);
  const deps = depsOfInvocation(accountDeps, memory, stop.signal);
  const counts = noCounts();
  const overAtMs = deps.clock.now() + leaseMs + STOP_RESERVE_MS;
  if (!(await waitForLease(deps, leaseMs))) {
    deps.telemetry.log('info', 'lease.held', { account_id: deps.store.accountId });
    return { outcome: 'lease_held', ...counts };
  }
  try {
    await pollWithLease(deps, memory, { counts, stop, overAtMs });
  } finally {
    measureInvocation(deps, memory, counts);
    await release(deps);
  }
  return { outcome: memory.health.isKeyRejected ? 'key_rejected' : 'stopped', ...counts };
}

function depsOfInvocation(
  deps: AccountDeps,
  { readings, triedRecords }: AccountMemory,
  signal: AbortSignal,
): InvocationDeps {
  return {
    ...deps,
    ledger: createRelayLedger(triedRecords),
    bounds: createBoundReports(deps.telemetry),
    onPublished: measurePublished(deps),
    onLost: (projectId) => forgetReadings(readings, projectId),
    signal,
  };
}

/** Describes an invocation that holds the lease. */
interface Running {
  readonly counts: InvocationCounts;
  readonly stop: AbortController;
  /** The time-out kills an invocation of AWS Lambda at this time at the latest. */
  readonly overAtMs: number;
}

async function pollWithLease(
  deps: InvocationDeps,
  memory: AccountMemory,
  { counts, stop, overAtMs }: Running,
): Promise<void> {
  const { projects, listings, health } = memory;
  // A lane reads them in one call.
  const [origin] = await Promise.all([
    readOrigin(deps, listings),
    readHealth(deps, health),
    recallStatus(deps, memory.status, memory),
  ]);
  const leftovers = leftoversAtStart();
  const sources = statusSources(memory, leftovers, () => troubleOf(deps, health));
  const discovery = { projects, listings, origin, addedNow: new Set<string>() };
  const survive = (task: () => Promise<void>) => surviveFailure(deps, health, task);
  const replaying: Replaying = { isBusy: false, survive };
  await untilLoopsEnd(deps, [
    repairRepeatedly(deps, {
      survive,
      readAgain: readingAgain(deps.planner, projects),
      walkedFromMs: (id) => projects.memories.get(id)?.walkedFromMs,
    }),
    replayRepeatedly(deps, replaying),
    ...startLoops(deps, memory, { discovery, origin, leftovers, counts }),
    endWhenQuiet(
      deps,
      stop,
      // A listing that every invocation interrupts would never say which projects there are.
      () => !listings.hasEnded || leftovers.areDraining || replaying.isBusy || deps.usage.isBusy(),
    ),
    publishStatusRepeatedly(deps, memory.status, sources),
  ]);
  await reportAtEnd(deps, {
    health: () => publishHealthAtEnd(deps, health, { pollCount: counts.pollCount, overAtMs }),
    status: async () => {
      const isEarly = deps.limits.lingerMs !== undefined;
      if (isEarly) await publishStatusIfDue(deps, memory.status, sources);
    },
  });
}

async function publishFirstSightOnce(deps: InvocationDeps, memory: AccountMemory): Promise<void> {
  if (memory.isFirstSightPublished) return;
  const { projects, listings, readings } = memory;
  memory.isFirstSightPublished = await publishFirstSightRepeatedly(deps, () => ({
    areProjectsKnown: listings.hasEnded && (listings.hasReadWholeList || deps.fixedProjectIds !== undefined),
    visibleIds: visibleIdsOf(projects),
    readings,
  }));
}

function startLoops(
  deps: InvocationDeps,
  memory: AccountMemory,
  state: WorkerState,
): readonly Promise<void>[] {
  return [
    relayLeftovers(deps, state.leftovers, leftoverEvents(deps, memory, state.counts)),
    discoverRepeatedly(deps, memory, state.discovery),
    watchForWork({ ...deps, planner: rereadingPlanner(deps.planner, memory.projects) }, (ids) =>
      meetRecorded(deps, memory.projects, ids),
    ),
    shareWithCommands(deps),
    watchKey(deps, memory.health),
    publishFirstSightOnce(deps, memory),
    deps.insights.writeRepeatedly(deps),
    keepNamesRepeatedly(deps, state.discovery),
    watchUsageRepeatedly(deps, state.discovery),
    pollUntilStopped(deps, memory, state),
  ];
}

/** Lets the next poll of a project read the table when another process has left something for the project there. */
function rereadingPlanner(planner: PollPlanner, { memories }: KnownProjects): PollPlanner {
  return {
    ...planner,
    askAtOnce(projectId) {
      mustReadStore(memories.get(projectId));
      planner.askAtOnce(projectId);
    },
    wish(projectId) {
      mustReadStore(memories.get(projectId));
      planner.wish(projectId);
    },
  };
}

/** Lets the next poll of a project read everything again that the process remembers of it, and lets it come soon. */
function readingAgain(planner: PollPlanner, { memories }: KnownProjects): Repairing['readAgain'] {
  return (projectId) => {
    const memory = memories.get(projectId);
    if (memory !== undefined) Object.assign(memory, { ...emptyMemory(), isStoreChanged: true });
    planner.wish(projectId);
  };
}

/** A command may be older than the first sight of its project, which alone says what is history there. */
async function meetRecorded(
  deps: InvocationDeps,
  projects: KnownProjects,
  projectIds: readonly string[],
): Promise<void> {
  const unknown = projectIds.filter((id) => !projects.memories.has(id));
  const met = unknown.length === 0 ? [] : await recordedProjects(deps.store, unknown);
  for (const id of met) rememberProject(projects, id);
  if (met.length > 0) deps.planner.addProjects(met);
}

function leftoverEvents(
  deps: InvocationDeps,
  { projects }: AccountMemory,
  counts: InvocationCounts,
): LeftoverEvents {
  const isCold = projects.memories.size === 0;
  return {
    /** After a cold start these projects are all that is known until the list is read, and the list may fail. */
    async onProjects(projectIds) {
      // Another poller may have worked on these projects since the invocation before this one.
      for (const id of projectIds) mustReadStore(projects.memories.get(id));
      if (isCold) await meetRecorded(deps, projects, projectIds);
    },
    isVisible: (id) => projects.memories.has(id) && !projects.unreachable.has(id),
    onPublished(eventCount) {
      counts.publishedCount += eventCount;
    },
  };
}

function measureInvocation(
  { clock, telemetry }: InvocationDeps,
  { projects, listings, readings, health }: AccountMemory,
  { pollCount }: InvocationCounts,
): void {
  const nowMs = clock.now();
  const visibleIds = visibleIdsOf(projects);
  startReadingAges(readings, visibleIds, listings.hasEnded, nowMs);
  // An account that is known to have no project is not behind.
  const isKnown = visibleIds.length > 0 || listings.hasEnded;
  if (isKnown) telemetry.measure('WalkAgeMs', nowMs - (oldestReadingMs(readings, visibleIds) ?? nowMs));
  telemetry.measure('ProjectsPolled', pollCount);
  if (health.isKeyRejected) telemetry.measure('KeyRejected', 1);
}

export function statusSources(
  { projects, listings, readings, health }: AccountMemory,
  leftovers: Leftovers,
  trouble: StatusSources['trouble'],
): StatusSources {
  return {
    summarise(nowMs) {
      const visibleIds = visibleIdsOf(projects);
      const areListed = listings.hasEnded;
      startReadingAges(readings, visibleIds, areListed, nowMs);
      return {
        project_count: projects.memories.size,
        lastCompleteWalkAtMs: lastCompleteWalkAtMs(readings, visibleIds, areListed),
        unreadSinceMs: oldestReadingMs(readings, visibleIds),
        unread: unreadProjects(readings, (id) => isStillKnown(projects, listings, id)),
        failing_since: isoTimeIfKnown(health.failingSinceMs),
      };
    },
    trouble,
    oldestLeftoverAtMs: () => leftovers.oldestAtMs,
  };
}

/** Before the projects are listed, only the report of the previous process says which projects there are. */
function isStillKnown({ memories, unreachable }: KnownProjects, { hasEnded }: Listings, id: string): boolean {
  return (!hasEnded || memories.has(id)) && !unreachable.has(id);
}
