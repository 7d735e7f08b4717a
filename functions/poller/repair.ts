/**
 * Repairs the projects that callers have asked for. A repair is one act: the bound of the project is lowered, and the
 * next walk reads everything above it again and records what is missing. Lowering a bound is always safe (PROTOCOL.md).
 */

import { sinceAfterSecondEdition } from '../../shared/records/project-record.ts';
import { isoTimeOf, MINUTE_MS, secondOf } from '../../shared/records/time.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { BridgeStore } from '../../shared/store/bridge-store.ts';
import type { Repair } from '../../shared/store/wishes.ts';
import { type NudgeBell, pauseOf } from './nudges.ts';

/** Two looks for repairs are this far apart. A look costs half a read unit. */
const LOOK_MS = 5_000;

/** With a bell, a look only finds what was left without a ring. */
const REST_MS = MINUTE_MS;

export interface RepairDeps {
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** It rings when a repair was asked for. Without one the loop looks all the time. */
  readonly bell?: NudgeBell | undefined;
  readonly signal: AbortSignal;
}

export interface Repairing {
  /** Lets the next poll of a project read everything again, and come soon. */
  readonly readAgain: (projectId: string) => void;
  /** Runs a task, and notes its failure without letting it pass. */
  readonly survive: (task: () => Promise<void>) => Promise<void>;
}

export async function repairRepeatedly(deps: RepairDeps, repairing: Repairing): Promise<void> {
  const { store, clock, signal } = deps;
  const pause = pauseOf(deps.bell, clock, { lookMs: LOOK_MS, restMs: REST_MS });
  while (!signal.aborted) {
    let projectIds: readonly string[] = [];
    await repairing.survive(async () => {
      projectIds = await store.findRepairs();
    });
    for (const id of projectIds)
      if (!signal.aborted) await repairing.survive(() => takeStep(deps, repairing, id));
    // A repair that goes on is looked at again soon.
    if (projectIds.length > 0) await clock.sleep(LOOK_MS, signal).catch(() => {});
    else await pause(signal);
  }
}

/** Lowers the bound once, and ends the repair when a walk has come to its end since. */
async function takeStep(
  { store, clock, telemetry }: RepairDeps,
  { readAgain }: Repairing,
  projectId: string,
): Promise<void> {
  const repair = await store.readRepair(projectId);
  if (repair === undefined || repair.ended_at !== undefined) return;
  const isDone =
    repair.lowered_at === undefined ? await lowerBound(store, clock, repair) : await hasWalked(store, repair);
  readAgain(projectId);
  if (!isDone) return;
  const now = isoTimeOf(clock.now());
  if (repair.lowered_at === undefined) return void (await store.saveRepair({ ...repair, lowered_at: now }));
  await store.saveRepair({ ...repair, ended_at: now });
  telemetry.log('info', 'repair.ended', { project_id: projectId, since: repair.since });
}

/** Resolves to false when another process has moved the bound meanwhile. Then the next look lowers it again. */
async function lowerBound(
  store: BridgeStore,
  clock: Clock,
  { project_id, since: low }: Repair,
): Promise<boolean> {
  const project = await store.readProject(project_id);
  const { bound, since, isOfSecondEdition } = project ?? {};
  if (bound === undefined || bound <= low) return true;
  const known = isOfSecondEdition ? sinceAfterSecondEdition(since, bound, secondOf(clock.now())) : undefined;
  const progress = { bound: low, isLowered: true, resume: null, ...(known && { since: known }) } as const;
  return (await store.saveProgress(project_id, progress, bound)) === 'recorded';
}

/** A walk that comes to its end earns a bound of its own, and leaves no place where another one goes on. */
async function hasWalked(store: BridgeStore, { project_id }: Repair): Promise<boolean> {
  const { isLowered, resume } = (await store.readProject(project_id)) ?? {};
  return isLowered !== true && resume === undefined;
}
