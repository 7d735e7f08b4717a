/** Runs the loop of one worker: it takes a permit, asks the planner what to send with it, and sends that. */

import { type PollerBudget, takenPermit } from '../../../shared/upstream/request-budget.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import type { AccountMemory } from './account-memory.ts';
import type { Discovery } from './discovery/discovery.ts';
import { type ListReadingDeps, readListPage } from './discovery/read-list-page.ts';
import { type PollingState, type ProjectPollDeps, pollOneProject } from './poll-one-project.ts';
import { readComputes } from './read-computes.ts';
import { publishRecovery, shownByList } from './status/publish-health.ts';
import { surviveFailure } from './survive-failure.ts';

/** A worker waits at most this long when nothing is due, because a discovery or another poll can change what is due. */
const IDLE_WAIT_MS_MAX = 1_000;

/**
 * When nothing is due, this many workers of an account ask the planner once a second. The others would only find the
 * same, and a lane has a dozen workers for each of a hundred accounts.
 */
const WATCHFUL_WORKERS = 4;

/** The other workers of an account for which nothing is due ask the planner this often. */
const RESTING_WAIT_MS = 10_000;

export interface WorkerDeps extends ProjectPollDeps, ListReadingDeps {
  readonly upstream: ProjectPollDeps['upstream'];
  readonly store: ProjectPollDeps['store'];
  readonly clock: ProjectPollDeps['clock'];
  readonly telemetry: ProjectPollDeps['telemetry'];
  readonly limits: ProjectPollDeps['limits'];
  readonly planner: PollPlanner;
  readonly budget: Pick<PollerBudget, 'take' | 'giveBack'>;
  /** Takes by how many milliseconds a worker woke up later than it had decided to. */
  readonly lateness?: { note(lateMs: number): void } | undefined;
}

export interface WorkerState extends PollingState {
  readonly discovery: Discovery;
}

/** `place` numbers the workers of the account from 0. */
export async function pollUntilStopped(
  deps: WorkerDeps,
  memory: AccountMemory,
  state: WorkerState,
  place: number,
): Promise<void> {
  const { planner, clock, signal } = deps;
  const isWatchful = place < WATCHFUL_WORKERS;
  while (!signal.aborted) {
    const isBooted = state.origin.bootAt !== undefined || state.origin.isUnreadable;
    if (!isBooted || memory.health.isKeyRejected || !(await tookPermit(deps))) {
      await idle(deps, IDLE_WAIT_MS_MAX);
      continue;
    }
    // The key may have been refused while this worker waited for its permit, and then no project may lose its turn to it.
    if (memory.health.isKeyRejected) {
      deps.budget.giveBack();
      continue;
    }
    const decision = planner.next(clock.now());
    const permit = takenPermit();
    if (decision.kind === 'poll') {
      const turn = { projectId: decision.projectId, permit };
      await surviveFailure(deps, memory.health, () => pollOneProject(deps, memory, state, turn));
    } else if (decision.kind === 'list') {
      await surviveFailure(deps, memory.health, async () => {
        await readListPage(deps, state.discovery, decision, permit);
        await publishRecovery(deps, memory.health, shownByList(memory.projects));
      });
    } else if (decision.kind === 'computes') {
      await surviveFailure(deps, memory.health, () => readComputes(deps, decision.projectId, permit));
    } else {
      deps.budget.giveBack();
      const waitMs = Math.min(decision.untilMs - clock.now(), IDLE_WAIT_MS_MAX);
      const beganMs = clock.now();
      await idle(deps, isWatchful ? waitMs : restingWaitMs(decision, waitMs, place));
      if (isWatchful && !signal.aborted) deps.lateness?.note(clock.now() - beganMs - Math.max(0, waitMs));
    }
  }
}

/**
 * While a permit is kept for what the list shows next, there is something to read for every worker. The workers come
 * back one after the other, so that together they ask the planner about as often as permits come.
 */
function restingWaitMs({ keepsPermit }: { keepsPermit?: boolean }, waitMs: number, place: number): number {
  return keepsPermit === true ? Math.min(RESTING_WAIT_MS, place * waitMs) : RESTING_WAIT_MS;
}

/** The permit comes first: a project that is chosen now is read now, however long requests wait for the rate limit. */
async function tookPermit({ budget, signal }: Pick<WorkerDeps, 'budget' | 'signal'>): Promise<boolean> {
  return budget.take(signal).then(
    () => true,
    () => false,
  );
}

async function idle(
  { clock, signal }: Pick<WorkerDeps, 'clock' | 'signal'>,
  durationMs: number,
): Promise<void> {
  await clock.sleep(Math.max(0, durationMs), signal).catch(() => {});
}
