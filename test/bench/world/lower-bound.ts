/**
 * Computes the mean delay that no poller can beat which reads operations alone, whatever it knows of the world's rates. A
 * poller that also reads computes sees when one may be suspended, and can come below. There are
 * three kinds of bursts, and each of them gets the whole budget for itself, so the bound itself cannot be reached:
 * 1. Sessions begin as Poisson processes. The daily cycle is the same in all projects, so it does not change the best
 * rates.
 * 2. Deployments start sessions in all projects equally often. The poller is assumed to know when one begins.
 * 3. Computes are suspended after an exponential time of use. The poller is assumed to know at each instant which
 * ones can be suspended; all of one project are seen by the same poll.
 * A poll sees everything that has begun, and what follows in the same burst counts as seen at once, and so does all
 * that commands through the bridge have started. The answer of a poll has to come back and the bus has to take the
 * event, which delays every transition. Table and processor take no time here.
 */

import { seededRandom } from '../../../shared/runtime/random.ts';
import { type BurstRate, createPollCosts, leastDelayS } from './best-rates.ts';
import { logNormal } from './distributions.ts';
import { DURATIONS, type Period, SCHEDULING, type Workload } from './workload.ts';
import { type Delays, upstreamSigma } from './world.ts';

const SUSPEND_SAMPLES = 4_000;
const STATES_PER_SUSPEND = 3;

/** The suspendable computes are counted at this many instants. */
const INSTANT_COUNT = 200;

export function lowerBoundS(workload: Workload, requestsPerSecond: number): number {
  const { offsets, suspendable, startS, endS } = workload;
  const suspendCount = suspendable.flat().filter(({ toS }) => toS >= startS && toS < endS).length;
  const suspendTransitions = STATES_PER_SUSPEND * suspendCount;
  const waited =
    offsets.length * sessionDelayS(workload, requestsPerSecond) +
    suspendTransitions * suspendDelayS(workload, requestsPerSecond);
  const count = offsets.length + workload.commandedCount + suspendTransitions;
  return waited / count + leastHandlingMs(workload.world.delays) / 1_000;
}

/** The upstream looks at its state when half of the call's mean time has passed. */
export function leastHandlingMs(delays: Delays): number {
  const upstreamMsMean = delays.upstreamMsMedian * Math.exp(upstreamSigma(delays) ** 2 / 2);
  return upstreamMsMean / 2 + delays.busMs;
}

function sessionDelayS({ world, rates, offsets, startS, endS }: Workload, requestsPerSecond: number): number {
  const costs = createPollCosts(offsets, requestsPerSecond);
  const unknownShare = 1 - world.commandShare;
  const usual = rates.map((rate) => ({ perSecond: unknownShare * rate, projectCount: 1 }));
  const usualS = leastDelayS(usual, costs, requestsPerSecond);
  if (world.deployments === undefined) return usualS;
  const { perDay, sessionsPerProject } = world.deployments;
  const deployedCount = (rates.length * sessionsPerProject * perDay * (endS - startS)) / 86_400;
  const usualCount = rates.reduce((sum, rate) => sum + rate, 0) * (endS - startS);
  const deployedS = costs.costS(requestsPerSecond / rates.length);
  return (usualCount * usualS + deployedCount * deployedS) / (usualCount + deployedCount);
}

function suspendDelayS(workload: Workload, requestsPerSecond: number): number {
  const { world, startS, endS } = workload;
  const costs = createPollCosts(suspendOffsets(world.durationFactor), requestsPerSecond);
  const changes = workload.suspendable.map(changesOf);
  let [weighted, weight] = [0, 0];
  for (let place = 0; place < INSTANT_COUNT; place++) {
    const atS = startS + ((place + 0.5) / INSTANT_COUNT) * (endS - startS);
    const counts = changes.map((own) => countAt(own, atS)).filter((count) => count > 0);
    const suspendableCount = counts.reduce((sum, count) => sum + count, 0);
    weighted += suspendableCount * leastDelayS(burstRates(counts, world.useSMean), costs, requestsPerSecond);
    weight += suspendableCount;
  }
  return weight === 0 ? 0 : weighted / weight;
}

export function suspendOffsets(durationFactor: number): readonly number[] {
  const random = seededRandom(0);
  const scheduledS = durationFactor * SCHEDULING[0];
  return Array.from({ length: SUSPEND_SAMPLES }, () => [
    0,
    scheduledS,
    scheduledS + durationFactor * logNormal(DURATIONS.suspend_compute, random),
  ]).flat();
}

/** Projects with equally many computes that can be suspended are equal. */
function burstRates(counts: readonly number[], useSMean: number): readonly BurstRate[] {
  return [...Map.groupBy(counts, (count) => count)].map(([count, own]) => ({
    perSecond: count / useSMean,
    projectCount: own.length,
  }));
}

interface Changes {
  readonly fromS: Float64Array;
  readonly toS: Float64Array;
}

export function changesOf(periods: readonly Period[]): Changes {
  return {
    fromS: Float64Array.from(periods, ({ fromS }) => fromS).toSorted(),
    toS: Float64Array.from(periods, ({ toS }) => toS).toSorted(),
  };
}

export function countAt({ fromS, toS }: Changes, atS: number): number {
  return countUpTo(fromS, atS) - countUpTo(toS, atS);
}

function countUpTo(sorted: Float64Array, atS: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) <= atS) low = middle + 1;
    else high = middle;
  }
  return low;
}
