/** One row of the table: a contender against the workload of one seed, alone or within the whole bridge. */

import { contenders, scenarios } from './contenders.ts';
import { createDetections } from './detections.ts';
import { lowerBoundS } from './lower-bound.ts';
import { plannerOf } from './policies.ts';
import { runPolicy } from './virtual-account.ts';
import { runBridge } from './virtual-bridge.ts';
import { createWorkload, type Workload } from './workload.ts';

export interface Row {
  readonly policy: string;
  readonly through: 'planner' | 'bridge';
  readonly projects: number;
  readonly seed: number;
  readonly hours: number;
  readonly requestsPerMinute: number;
}

export interface Figures {
  readonly policy: string;
  readonly through: Row['through'];
  readonly projects: number;
  readonly seed: number;
  readonly requests_per_minute: number;
  readonly transitions: number;
  readonly mean_s: number;
  readonly p50_s: number;
  readonly p95_s: number;
  readonly p99_s: number;
  readonly max_s: number;
  /** The longest time that a project was not read for; only where every read is seen. */
  readonly stalest_s?: number;
  readonly requests_per_second: number;
  readonly requests_per_transition: number;
  /** Share of the transitions that were told as such, not passed over between two reads. */
  readonly states_told: number;
  /** Share of the operations whose last state was told; only where something is told. */
  readonly complete?: number;
  /** Answered 429. */
  readonly refused: number;
  readonly refused_by_hour?: readonly number[];
  readonly other_refused?: number;
  /** Per transition told; the index beside it. */
  readonly write_units?: number;
  readonly index_units?: number;
  readonly duplicates?: number;
  /** Share of the time that an invocation was alive. */
  readonly alive?: number;
  readonly bound_s: number;
  readonly over_bound: number;
  readonly p99_over_round: number;
}

/** The reference workload has its mean rate at this hour of its day. */
const MEAN_HOUR = 6;

/** Everything is read for the first time, and nothing is measured. */
const WARM_UP_HOURS = 0.25;

export async function measure(row: Row, onHour?: (hour: number) => void): Promise<Figures> {
  return row.through === 'planner' ? measurePlanner(row) : measureBridge(row, onHour);
}

export function namesOf(through: Row['through']): readonly string[] {
  const alone = contenders.map(({ name }) => name);
  return through === 'planner' ? alone : [...alone, ...scenarios.map(({ name }) => name)];
}

function measurePlanner(row: Row): Figures {
  const contender = contenders.find(({ name }) => name === row.policy);
  if (contender === undefined) throw unknownName(row);
  const { requestsPerMinute, seed } = row;
  const workload = createWorkload(row.projects, seed, row.hours);
  const policy = contender.decide(workload, requestsPerMinute);
  const measuredFromS = workload.startS + Math.min(row.hours / 2, contender.learningHours ?? 0) * 3_600;
  const outcome = runPolicy(workload, policy, {
    requestsPerMinute,
    recall: contender.recall,
    seed,
    measuredFromS,
  });
  return {
    ...delayFigures(row, workload, outcome.delaysS),
    ...requestFigures(outcome, workload.endS - workload.startS),
    stalest_s: outcome.stalestS,
  };
}

async function measureBridge(row: Row, onHour: ((hour: number) => void) | undefined): Promise<Figures> {
  const { requestsPerMinute, seed } = row;
  const found = [...contenders, ...scenarios].find(({ name }) => name === row.policy);
  if (found === undefined) throw unknownName(row);
  const warmUpHours = found.learningHours ?? WARM_UP_HOURS;
  const fromHour = MEAN_HOUR - row.hours / 2 - warmUpHours;
  const workload = createWorkload(row.projects, seed, row.hours + warmUpHours, fromHour);
  // Those of production decide by their settings; the others are put into the planner's place.
  const decide =
    found.bridge === undefined ? contenders.find(({ name }) => name === row.policy)?.decide : undefined;
  const measuredFromS = workload.startS + warmUpHours * 3_600;
  const detections = createDetections(workload, measuredFromS);
  const scenario = {
    pollIntervalMs: 1_000,
    hasHints: false,
    recall: found.recall,
    ...found.bridge,
    requestsPerMinute,
    warmUpMs: warmUpHours * 3_600_000,
    ...(decide && { planner: () => plannerOf(decide(workload, requestsPerMinute)) }),
  };
  const outcome = await runBridge(workload, detections, { scenario, seed, onHour });
  const { delaysS, stateCount, complete } = detections.score();
  const measuredS = workload.endS - measuredFromS;
  const transitionCount = delaysS.length;
  return {
    ...delayFigures(row, workload, delaysS),
    ...requestFigures({ ...outcome, transitionCount, stateCount }, measuredS),
    complete,
    refused_by_hour: outcome.refusedByHour,
    other_refused: outcome.otherRefusedCount / Math.max(1, outcome.otherCount),
    write_units: outcome.writes / outcome.eventCount,
    index_units: outcome.workIndexWrites / outcome.eventCount,
    duplicates: outcome.duplicateCount,
    alive: outcome.aliveS / measuredS,
  };
}

function delayFigures(row: Row, workload: Workload, delaysS: Float64Array) {
  const at = (share: number) =>
    delaysS[Math.min(delaysS.length - 1, Math.floor(share * delaysS.length))] ?? 0;
  const mean_s = delaysS.reduce((sum, delay) => sum + delay, 0) / delaysS.length;
  const bound_s = lowerBoundS(workload, row.requestsPerMinute / 60);
  return {
    policy: row.policy,
    through: row.through,
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

interface Counts {
  readonly requestCount: number;
  readonly refusedCount: number;
  readonly transitionCount: number;
  readonly stateCount: number;
}

function requestFigures(counts: Counts, measuredS: number) {
  return {
    transitions: counts.transitionCount,
    requests_per_second: counts.requestCount / measuredS,
    requests_per_transition: counts.requestCount / counts.transitionCount,
    states_told: counts.stateCount / counts.transitionCount,
    refused: counts.refusedCount,
  };
}

function unknownName({ policy, through }: Row): RangeError {
  return new RangeError(
    `No policy is called "${policy}" through the ${through}; there are ${namesOf(through).join(', ')}`,
  );
}
