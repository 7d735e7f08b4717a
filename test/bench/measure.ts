/** Measures one row of the table: a contender in one world, with one seed or with several that count together. */

import { benchPlanner } from './bridge/bridge-process.ts';
import { createDetections, type Score } from './bridge/detections.ts';
import { runBridge } from './bridge/virtual-bridge.ts';
import type { BenchRow } from './report/performance-page.ts';
import { CONTENDERS, type Contender, type Engine } from './rivals/contenders.ts';
import { runIdealPoller } from './rivals/ideal-poller.ts';
import { plannerOf } from './rivals/planner-of.ts';
import { plannerPolicy } from './rivals/planner-policy.ts';
import { worldNamed } from './world/drawn-world.ts';
import { lowerBoundS } from './world/lower-bound.ts';
import { pricedBoundS } from './world/priced-bound.ts';
import { createWorkload, type Workload } from './world/workload.ts';

export interface Row {
  readonly world: string;
  readonly policy: string;
  readonly projects: number;
  readonly seed: number;
  /** The row has this seed and those that follow it, as many as this says; it is one by default. */
  readonly seedCount?: number | undefined;
  /** The hours that are measured with each seed. */
  readonly hours: number;
  readonly requestsPerMinute: number;
  /** It is the usual engine of the policy when this is undefined. */
  readonly engine?: Engine | undefined;
}

export interface Figures extends BenchRow {
  readonly engine: Engine;
  readonly max_s: number;
  readonly requests_per_second: number;
  readonly requests_per_transition: number;
  /** This share of the transitions was detected; the other ones were passed over between two reads. */
  readonly states_detected: number;
  readonly over_bound: number;
  readonly p99_over_round: number;
  /** It is undefined for the ideal engine, which has no table and no bus, and for a row of several seeds. */
  readonly bridge: BridgeFigures | undefined;
}

interface BridgeFigures {
  /** The last state was detected for this share of the operations. */
  readonly complete: number;
  /** No project went unread for more seconds than this. */
  readonly stalest_s: number;
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
}

/** At this hour of its day the reference workload has its mean rate. */
const MEAN_HOUR = 6;

/** Before the measurement every project is read for the first time; the quietest one is read within four rounds. */
const WARM_UP_HOURS_MIN = 0.25;
const WARM_UP_ROUNDS = 4;

export async function measure(row: Row, onHour?: (hour: number) => void): Promise<Figures> {
  const measured: Measured[] = [];
  for (let place = 0; place < (row.seedCount ?? 1); place++)
    measured.push(await measureSeed({ ...row, seed: row.seed + place }, onHour));
  const [first] = measured;
  if (first === undefined) throw new RangeError('A row has at least one seed');
  const score = pooledScore(measured);
  const seconds = sumOf(measured, ({ measuredS }) => measuredS);
  const requestCount = sumOf(measured, (each) => each.requestCount);
  return {
    ...delayFigures(
      row,
      score,
      pooledBoundS(measured, ({ boundS }) => boundS),
    ),
    tight_bound_s: pooledBoundS(measured, ({ tightBoundS }) => tightBoundS),
    engine: first.engine,
    requests_per_second: requestCount / seconds,
    requests_per_transition: requestCount / score.delaysS.length,
    bridge: measured.length > 1 ? undefined : first.bridge,
  };
}

/** What one seed has brought. */
interface Measured {
  readonly engine: Engine;
  readonly score: Score;
  /** The lower bound of the mean in this seed's world, in seconds. */
  readonly boundS: number;
  readonly tightBoundS: number;
  readonly measuredS: number;
  readonly requestCount: number;
  readonly bridge: BridgeFigures | undefined;
}

async function measureSeed(row: Row, onHour: ((hour: number) => void) | undefined): Promise<Measured> {
  const contender = contenderOf(row);
  const warmUpHours = warmUpHoursOf(row, contender);
  const span = { hours: row.hours + warmUpHours, fromHour: MEAN_HOUR - row.hours / 2 - warmUpHours };
  const workload = createWorkload(worldNamed(row.world), row.projects, row.seed, span);
  const measuredFromS = workload.startS + warmUpHours * 3_600;
  const detections = createDetections(workload, measuredFromS);
  const run = { workload, detections, measuredFromS, row };
  const engine = row.engine ?? contender.engine;
  const { requestCount, bridge } =
    engine === 'ideal' ? measureIdeal(run, contender) : await measureWhole(run, contender, onHour);
  const score = detections.score();
  return {
    engine,
    score,
    boundS: lowerBoundS(workload, row.requestsPerMinute / 60),
    tightBoundS: pricedBoundS(workload, row.requestsPerMinute / 60),
    measuredS: workload.endS - measuredFromS,
    requestCount,
    bridge: bridge && { ...bridge, complete: score.complete },
  };
}

/** Every transition counts the same, whichever seed it is of. */
function pooledScore(measured: readonly Measured[]): Omit<Score, 'complete'> {
  return {
    delaysS: Float64Array.from(measured.flatMap(({ score }) => [...score.delaysS])).toSorted(),
    stateCount: sumOf(measured, ({ score }) => score.stateCount),
    waitingCount: sumOf(measured, ({ score }) => score.waitingCount),
  };
}

/** The bound of a seed counts as often as its transitions, because the mean does so, too. */
function pooledBoundS(measured: readonly Measured[], boundOf: (each: Measured) => number): number {
  const weighted = sumOf(measured, (each) => boundOf(each) * each.score.delaysS.length);
  return weighted / sumOf(measured, ({ score }) => score.delaysS.length);
}

function sumOf(measured: readonly Measured[], of: (each: Measured) => number): number {
  return measured.reduce((sum, each) => sum + of(each), 0);
}

function warmUpHoursOf({ projects, requestsPerMinute }: Row, { learningHours = 0 }: Contender): number {
  // The result is in whole minutes because an invocation starts every minute.
  const roundsHours = Math.ceil((WARM_UP_ROUNDS * projects) / requestsPerMinute) / 60;
  return Math.max(learningHours, WARM_UP_HOURS_MIN, roundsHours);
}

function contenderOf({ policy }: Row): Contender {
  const found = CONTENDERS.find(({ name }) => name === policy);
  if (found !== undefined) return found;
  throw new RangeError(
    `There is no policy "${policy}"; the policies are ${CONTENDERS.map(({ name }) => name).join(', ')}`,
  );
}

interface Run {
  readonly row: Row;
  readonly workload: Workload;
  readonly detections: ReturnType<typeof createDetections>;
  readonly measuredFromS: number;
}

interface Outcome {
  readonly requestCount: number;
  readonly bridge: Omit<BridgeFigures, 'complete'> | undefined;
}

function measureIdeal(
  { row, workload, detections, measuredFromS }: Run,
  { decide, recall, settings }: Contender,
): Outcome {
  const { requestsPerMinute, seed } = row;
  const { requestCount } = runIdealPoller(workload, detections, {
    policy:
      decide?.(workload, requestsPerMinute) ??
      plannerPolicy(benchPlanner({ ...settings, requestsPerMinute }), workload.projectCount),
    requestsPerMinute,
    seed,
    recall,
    countFromMs: measuredFromS * 1_000,
  });
  return { requestCount, bridge: undefined };
}

async function measureWhole(
  { row, workload, detections, measuredFromS }: Run,
  { settings, recall, decide }: Contender,
  onHour: ((hour: number) => void) | undefined,
): Promise<Outcome> {
  const { requestsPerMinute, seed } = row;
  const scenario = {
    ...settings,
    recall,
    requestsPerMinute,
    warmUpMs: (measuredFromS - workload.startS) * 1_000,
    ...(decide && { planner: () => plannerOf(decide(workload, requestsPerMinute)) }),
  };
  const outcome = await runBridge(workload, detections, { scenario, seed, onHour });
  return {
    requestCount: outcome.requestCount,
    bridge: {
      stalest_s: outcome.stalestS,
      refused: outcome.refusedCount,
      refused_by_hour: outcome.refusedByHour,
      other_refused: outcome.otherRefusedCount / Math.max(1, outcome.otherCount),
      write_units: outcome.writes / outcome.eventCount,
      index_units: outcome.workIndexWrites / outcome.eventCount,
      duplicates: outcome.duplicateCount,
      alive: outcome.aliveS / (workload.endS - measuredFromS),
    },
  };
}

function delayFigures(
  row: Row,
  { delaysS, stateCount, waitingCount }: Omit<Score, 'complete'>,
  bound_s: number,
) {
  const at = (share: number) =>
    delaysS[Math.min(delaysS.length - 1, Math.floor(share * delaysS.length))] ?? 0;
  const mean_s = delaysS.reduce((sum, delay) => sum + delay, 0) / delaysS.length;
  return {
    world: row.world,
    policy: row.policy,
    projects: row.projects,
    seed: row.seed,
    seed_count: row.seedCount ?? 1,
    hours: row.hours,
    requests_per_minute: row.requestsPerMinute,
    transitions: delaysS.length,
    waiting: waitingCount,
    states_detected: stateCount / delaysS.length,
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
