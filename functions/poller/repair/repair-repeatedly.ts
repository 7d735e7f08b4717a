/**
 * Works on the repairs that callers have asked for, within a small share of the requests. Projects take turns, so that
 * one that cannot be read delays no other.
 */

import { MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Repair } from '../../../shared/store/adapters/repairs.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { type NudgeBell, pauseOf } from '../nudges/nudge-bell.ts';
import { type RepairDeps, type RepairStep, repairProject } from './repair-project.ts';

/** Two looks for repairs are this far apart. A look costs half a read unit. */
const LOOK_MS = 5_000;

/** With a bell, a look only finds what was left without a ring. */
const REST_MS = MINUTE_MS;

/** Repairs send at most this share of the account's requests: they are rare, and polls must not wait for them. */
export const REPAIR_SHARE = 0.1;

export interface RepairLoopDeps extends RepairDeps {
  readonly store: RepairDeps['store'] & {
    findRepairs(): Promise<readonly string[]>;
    readRepair(projectId: string): Promise<Repair | undefined>;
  };
  readonly clock: Clock;
  readonly limits: { readonly requestsPerMinute: number };
  /** It rings when a repair was asked for. Without one the loop looks all the time. */
  readonly bell?: NudgeBell | undefined;
}

/** What the loop shares with the other loops of its invocation. */
export interface Repairing {
  /** It is true while a repair is in progress, so the invocation must not end early. */
  isBusy: boolean;
  /** Is called after each step, with what it has published. */
  readonly onStep: (step: RepairStep) => void;
  /** Runs a task, and notes its failure without letting it pass. */
  readonly survive: (task: () => Promise<void>) => Promise<void>;
}

export async function repairRepeatedly(
  deps: RepairLoopDeps,
  repairing: Repairing,
  bootAt: () => Timestamp | undefined,
): Promise<void> {
  const { store, clock, signal } = deps;
  const paced = { ...deps, upstream: pacedUpstream(deps) };
  const pause = pauseOf(deps.bell, clock, { lookMs: LOOK_MS, restMs: REST_MS });
  while (!signal.aborted) {
    let isGoingOn = false;
    let isAnyLeft = false;
    const takeTurn = async (projectId: string) => {
      if (await stepOf(paced, repairing, projectId, bootAt())) isGoingOn = true;
    };
    await repairing.survive(async () => {
      for (const projectId of await store.findRepairs()) {
        if (signal.aborted) return;
        repairing.isBusy = true;
        isAnyLeft = true;
        await repairing.survive(() => takeTurn(projectId));
      }
    });
    if (isGoingOn) continue;
    repairing.isBusy = false;
    // A repair whose step has failed is tried again soon.
    if (isAnyLeft) await clock.sleep(LOOK_MS, signal).catch(() => {});
    else await pause(signal);
  }
}

/** Resolves to whether the next step may follow at once. After a failure it waits for the next look. */
async function stepOf(
  deps: RepairLoopDeps,
  { onStep }: Repairing,
  projectId: string,
  bootAt: Timestamp | undefined,
): Promise<boolean> {
  const { store, telemetry } = deps;
  const before = await store.readRepair(projectId);
  if (before === undefined || before.ended_at !== undefined) return false;
  const step = await repairProject(deps, before, bootAt);
  onStep(step);
  const { ended_at, compared_count, repaired_count, unrepaired_count } = step.repair;
  if (ended_at === undefined) return !step.hasFailed;
  const counts = { compared_count, repaired_count, unrepaired_count };
  telemetry.log('info', 'repair.ended', { project_id: projectId, ...counts });
  return true;
}

/** Spaces the requests of repairs, all of which take their permits from the same budget as the polls. */
function pacedUpstream({
  upstream,
  clock,
  limits,
  signal,
}: RepairLoopDeps): Pick<UpstreamClient, 'getOperation' | 'listOperations'> {
  const intervalMs = 60_000 / (limits.requestsPerMinute * REPAIR_SHARE);
  let nextAtMs = clock.now();
  const pace = async () => {
    const atMs = Math.max(clock.now(), nextAtMs);
    nextAtMs = atMs + intervalMs;
    await clock.sleep(atMs - clock.now(), signal).catch(() => {});
  };
  return {
    listOperations: (...args) => pace().then(() => upstream.listOperations(...args)),
    getOperation: (...args) => pace().then(() => upstream.getOperation(...args)),
  };
}
