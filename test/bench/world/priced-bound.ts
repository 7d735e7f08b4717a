/**
 * Computes a tighter bound of the mean delay than `lower-bound.ts`, which gives the whole budget to each kind of burst: here one price of a
 * request is shared by starts and suspends. For any price,
 *
 *   delays of all transitions >= sum over projects and time of the least (delays + price x polls) - price x budget
 *
 * because a poller that keeps to the budget can only gain by paying it. The best price gives the bound. As for the other bound, the poller
 * is assumed to know the rates, the hours of the day, when a deployment begins, and at each instant which computes can be suspended; a poll shows all
 * of its project, and what follows in a burst counts as seen at once.
 *
 * One correction is subtracted. A poll just after the rate of a project has risen renews the slower gap before the rise for nothing. With
 * q, the root of the rate before over the rate after, that spares at most price x (1 - q) / (1 + q): it is the minimum of
 * x^2 / 2 + y^2 / 2 + q x y + price - sqrt(2 price) (x + y) over the parts x and y of a gap before and after the rise, both in units of the rate.
 * Gaps over several rises are argued in the same way, one rise after the other, and not proved.
 *
 * Each hour has a price of its own, because permits cannot be saved for hours; that a gap may reach from one hour into the next is neglected. Where
 * deployments come, the budget of their minutes alone can be the tighter bound, so the greater of both bounds counts.
 */

import { createPollCosts } from './best-rates.ts';
import { changesOf, countAt, leastHandlingMs, lowerBoundS, suspendOffsets } from './lower-bound.ts';
import { cycleAt, deploymentsUntil, type Workload } from './workload.ts';

const STATES_PER_SUSPEND = 3;

/** The intensities are taken at some instants, each for its part of the time: in all projects together about this often, within bounds. */
const SAMPLE_COUNT = 50_000;
const [INSTANTS_MIN, INSTANTS_MAX] = [12, 400];

/** Polls of a project come at one of so many rates, from one in eleven days on. */
const RATE_COUNT = 400;
const RATE_MIN = 1e-6;

/** The best price is looked for between these, in seconds of delay for a request, until it is known to a hundredth. */
const [PRICE_MIN, PRICE_MAX, PRICE_STEPS] = [1e-5, 1e5, 40];

/** Each of these parts of the time has a price of its own. */
const PART_S = 3_600;

export function pricedBoundS(workload: Workload, requestsPerSecond: number): number {
  const { world, offsets, commandedCount, suspendable, startS, endS } = workload;
  const spanS = endS - startS;
  const suspendCount = suspendable.flat().filter(({ toS }) => toS >= startS && toS < endS).length;
  const count = offsets.length + commandedCount + STATES_PER_SUSPEND * suspendCount;
  const instantCount = Math.min(
    INSTANTS_MAX,
    Math.max(INSTANTS_MIN, Math.round(SAMPLE_COUNT / workload.projectCount)),
  );
  const { moments, rises } = intensitiesOf(workload, STATES_PER_SUSPEND * suspendCount, instantCount);
  const least = leastCost(workload, requestsPerSecond);
  const partCount = Math.max(1, Math.round(spanS / PART_S));
  const isIn =
    (part: number) =>
    ({ atS }: Timed) =>
      Math.min(partCount - 1, Math.floor(((atS - startS) / spanS) * partCount)) === part;
  const delaysOf = (part: number) => {
    const [own, risen] = [moments.filter(isIn(part)), rises.filter(isIn(part))];
    const ownS = (own.length * spanS) / moments.length;
    return greatest((price) => {
      const spent = sum(own.map(({ starts, suspends }) => least(starts, suspends, price)));
      const spared = sum(risen.map(({ root }) => (price * (1 - root)) / (1 + root)));
      return spent * (spanS / instantCount) - spared - price * requestsPerSecond * ownS;
    });
  };
  const delays = sum(Array.from({ length: partCount }, (_, part) => delaysOf(part)));
  const pricedS = delays / count + leastHandlingMs(world.delays) / 1_000;
  return Math.max(pricedS, lowerBoundS(workload, requestsPerSecond));
}

interface Timed {
  readonly atS: number;
}

interface Intensities {
  /** The transitions per second that are to be expected of each project at each instant. */
  readonly moments: readonly (Timed & { readonly starts: number; readonly suspends: number })[];
  /** For each rise, the root of the intensity before it over that after it. */
  readonly rises: readonly (Timed & { readonly root: number })[];
}

function intensitiesOf(workload: Workload, suspendTransitions: number, instantCount: number): Intensities {
  const { world, rates, offsets, suspendable, startS, endS } = workload;
  const partS = (endS - startS) / instantCount;
  const instants = Array.from({ length: instantCount }, (_, place) => startS + (place + 0.5) * partS);
  const deployed = changesOf(deploymentsUntil(world, endS));
  const changes = suspendable.map(changesOf);
  const deployedPerS = (atS: number) => {
    if (world.deployments === undefined || countAt(deployed, atS) === 0) return 0;
    return world.deployments.sessionsPerProject / world.deployments.durationS;
  };
  const sessions = sum(
    instants.flatMap((atS) => rates.map((rate) => (rate * cycleAt(world, atS) + deployedPerS(atS)) * partS)),
  );
  const perSession = sessions === 0 ? 0 : offsets.length / sessions;
  const suspendableS = sum(
    suspendable.flat().map(({ fromS, toS }) => Math.max(0, Math.min(toS, endS) - Math.max(fromS, startS))),
  );
  const perCompute = suspendableS === 0 ? 0 : suspendTransitions / suspendableS;
  const moments = instants.flatMap((atS) => {
    const [cycle, beyond] = [cycleAt(world, atS), deployedPerS(atS)];
    return rates.map((rate, project) => ({
      atS,
      starts: perSession * (rate * cycle + beyond),
      suspends: perCompute * suspendableAt(project, atS),
    }));
  });
  const rises = suspendable.flatMap((periods, project) => {
    const cold = perSession * (rates[project] ?? 0);
    const begins = periods.filter(({ fromS }) => fromS > startS && fromS < endS);
    return begins.map(({ fromS }) => {
      const after = suspendableAt(project, fromS);
      const root = Math.sqrt((cold + (after - 1) * perCompute) / (cold + after * perCompute));
      return { atS: fromS, root };
    });
  });
  return { moments, rises };

  function suspendableAt(project: number, atS: number): number {
    const own = changes[project];
    return own === undefined ? 0 : countAt(own, atS);
  }
}

/** Returns the least sum of delays and priced polls in a second of a project with these intensities. */
function leastCost({ offsets, world }: Workload, requestsPerSecond: number) {
  const ratio = Math.log(requestsPerSecond / RATE_MIN) / (RATE_COUNT - 1);
  const polls = Float64Array.from({ length: RATE_COUNT }, (_, place) => RATE_MIN * Math.exp(ratio * place));
  const costsOf = (each: readonly number[]) => {
    const costs = createPollCosts(each, requestsPerSecond);
    return polls.map((rate) => costs.costS(rate));
  };
  const [startCosts, suspendCosts] = [costsOf(offsets), costsOf(suspendOffsets(world.durationFactor))];
  return (starts: number, suspends: number, price: number): number => {
    const at = (place: number) =>
      starts * (startCosts[place] ?? 0) + suspends * (suspendCosts[place] ?? 0) + price * (polls[place] ?? 0);
    let [low, high] = [0, RATE_COUNT - 1];
    while (high - low > 2) {
      const [left, right] = [low + Math.floor((high - low) / 3), high - Math.floor((high - low) / 3)];
      if (at(left) <= at(right)) high = right;
      else low = left;
    }
    return Math.min(at(low), at((low + high) >> 1), at(high));
  };
}

/** The bound is a concave function of the price. */
function greatest(boundAt: (price: number) => number): number {
  let [low, high] = [Math.log(PRICE_MIN), Math.log(PRICE_MAX)];
  for (let step = 0; step < PRICE_STEPS && high - low > 0.01; step++) {
    const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
    if (boundAt(Math.exp(left)) < boundAt(Math.exp(right))) low = left;
    else high = right;
  }
  return boundAt(Math.exp((low + high) / 2));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
