/** Measures one row of the table: a contender within the whole bridge, against the workload of one seed. */

import { type Contender, contenders, scenarios } from './contenders.ts';
import { createDetections } from './detections.ts';
import { plannerOf } from './policies.ts';
import { runBridge } from './virtual-bridge.ts';
import { lowerBoundS } from './world/lower-bound.ts';
import { createWorkload, type Workload } from './world/workload.ts';
import { WORLDS, type World } from './world/world.ts';

export interface Row {
  readonly world: string;
  readonly policy: string;
  readonly projects: number;
  readonly seed: number;
  readonly hours: number;
  readonly requestsPerMinute: number;
}

export interface Figures {
  readonly world: string;
  readonly policy: string;
  readonly projects: number;
  readonly seed: number;
  readonly requests_per_minute: number;
  readonly transitions: number;
  readonly mean_s: number;
  readonly p50_s: number;
  readonly p95_s: number;
  readonly p99_s: number;
  readonly max_s: number;
  /** No project went unread for more seconds than this. */
  readonly stalest_s: number;
  readonly requests_per_second: number;
  readonly requests_per_transition: number;
  /** This share of the transitions was detected; the other ones were passed over between two reads. */
  readonly states_detected: number;
  /** The last state was detected for this share of the operations. */
  readonly complete: number;
  /** Counts the requests that were answered 429. */
  readonly refused: number;
  readonly refused_by_hour: readonly number[];
  readonly other_refused: number;
  /**
   * A published event costs this many write units of the table. `index_units` counts those of the work index, which
   * come on top.
   */
  readonly write_units: number;
  readonly index_units: number;
  readonly duplicates: number;
  /** An invocation was alive for this share of the time. */
  readonly alive: number;
  readonly bound_s: number;
  readonly over_bound: number;
  readonly p99_over_round: number;
}

/** At this hour of its day the reference workload has its mean rate. */
const MEAN_HOUR = 6;

/** Before the measurement every project is read for the first time; the quietest one is read within four rounds. */
const WARM_UP_HOURS_MIN = 0.25;
const WARM_UP_ROUNDS = 4;

function warmUpHoursOf({ projects, requestsPerMinute }: Row): number {
  // The result is in whole minutes because an invocation starts every minute.
  return Math.max(WARM_UP_HOURS_MIN, Math.ceil((WARM_UP_ROUNDS * projects) / requestsPerMinute) / 60);
}

export async function measure(row: Row, onHour?: (hour: number) => void): Promise<Figures> {
  const { requestsPerMinute, seed } = row;
  const contender = contenderOf(row);
  const { decide, learningHours = 0 } = contender;
  const warmUpHours = Math.max(learningHours, warmUpHoursOf(row));
  const fromHour = MEAN_HOUR - row.hours / 2 - warmUpHours;
  const span = { hours: row.hours + warmUpHours, fromHour };
  const workload = createWorkload(worldOf(row), row.projects, seed, span);
  const measuredFromS = workload.startS + warmUpHours * 3_600;
  const detections = createDetections(workload, measuredFromS);
  const scenario = {
    pollIntervalMs: 1_000,
    hasHints: false,
    recall: contender.recall,
    ...contender.bridge,
    requestsPerMinute,
    warmUpMs: warmUpHours * 3_600_000,
    ...(decide && { planner: () => plannerOf(decide(workload, requestsPerMinute)) }),
  };
  const outcome = await runBridge(workload, detections, { scenario, seed, onHour });
  const { delaysS, stateCount, complete } = detections.score();
  const measuredS = workload.endS - measuredFromS;
  return {
    ...delayFigures(row, workload, delaysS),
    transitions: delaysS.length,
    states_detected: stateCount / delaysS.length,
    complete,
    stalest_s: outcome.stalestS,
    requests_per_second: outcome.requestCount / measuredS,
    requests_per_transition: outcome.requestCount / delaysS.length,
    refused: outcome.refusedCount,
    refused_by_hour: outcome.refusedByHour,
    other_refused: outcome.otherRefusedCount / Math.max(1, outcome.otherCount),
    write_units: outcome.writes / outcome.eventCount,
    index_units: outcome.workIndexWrites / outcome.eventCount,
    duplicates: outcome.duplicateCount,
    alive: outcome.aliveS / measuredS,
  };
}

function contenderOf({ policy }: Row): Contender {
  const all = [...contenders, ...scenarios];
  const found = all.find(({ name }) => name === policy);
  if (found !== undefined) return found;
  throw new RangeError(
    `There is no policy "${policy}"; the policies are ${all.map(({ name }) => name).join(', ')}`,
  );
}

function worldOf({ world }: Row): World {
  const found = WORLDS.find(({ name }) => name === world);
  if (found !== undefined) return found;
  throw new RangeError(
    `There is no world "${world}"; the worlds are ${WORLDS.map(({ name }) => name).join(', ')}`,
  );
}

function delayFigures(row: Row, workload: Workload, delaysS: Float64Array) {
  const at = (share: number) =>
    delaysS[Math.min(delaysS.length - 1, Math.floor(share * delaysS.length))] ?? 0;
  const mean_s = delaysS.reduce((sum, delay) => sum + delay, 0) / delaysS.length;
  const bound_s = lowerBoundS(workload, row.requestsPerMinute / 60);
  return {
    world: row.world,
    policy: row.policy,
    projects: row.projects,
    seed: row.seed,
    requests_per_minute: row.requestsPerMinute,
    mean_s,
    p50_s: at(0.5),
    p95_s: at(0.95),
    p99_s: at(0.99),
    max_s: at(1),
    bound_s,
    over_bound: mean_s / bound_s,
    p99_over_round: at(0.99) / (row.projects / (row.requestsPerMinute / 60)),
  };
}
