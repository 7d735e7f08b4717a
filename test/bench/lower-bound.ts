/**
 * Computes the mean delay that a poller without hints cannot beat, whatever it has learned. Sessions start as a
 * Poisson process, so even spacing at the optimal rates is the best; a poll also finds what remains of the session's
 * burst. Suspends are bounded as if they had the whole budget for themselves. Both parts get the full budget, so the
 * bound itself cannot be reached.
 */

import { seededRandom } from '../../shared/runtime/random.ts';
import { DURATIONS, logNormal, SCHEDULING, USE_S_MEAN, type Workload } from './workload.ts';

const QUANTILE_COUNT = 200;
const RATE_COUNT = 4_000;
const RATE_MIN = 1e-6;
const RATE_MAX = 50;
const SUSPEND_SAMPLES = 4_000;

export function lowerBoundS(workload: Workload, requestsPerSecond: number): number {
  const { rates: sessionRates, offsets, suspendCount } = workload;
  const quantiles = quantilesOf(offsets);
  const costs = costTable(quantiles);
  const optimal = (price: number) => sessionRates.map((rate) => rateAt(costs, price / rate));
  let low = 1e-12;
  let high = 1e12;
  for (let step = 0; step < 100; step++) {
    const middle = Math.sqrt(low * high);
    if (sum(optimal(middle)) > requestsPerSecond) low = middle;
    else high = middle;
  }
  const polled = optimal(high);
  const burst =
    sum(sessionRates.map((rate, place) => rate * costOf(quantiles, polled[place] ?? 0))) / sum(sessionRates);
  const suspend = suspendCostS(workload, requestsPerSecond);
  return (offsets.length * burst + 3 * suspendCount * suspend) / (offsets.length + 3 * suspendCount);
}

/** Derives the mean delay of transitions at `offsets` after a start that falls uniformly between two polls. */
function costOf(offsets: readonly number[], rate: number): number {
  return sum(offsets.map((offset) => Math.max(0, 1 - rate * offset) ** 2)) / offsets.length / (2 * rate);
}

interface CostTable {
  readonly logRates: readonly number[];
  /** One more request a second saves this many seconds of delay; the number falls as the rate rises. */
  readonly gains: readonly number[];
}

function costTable(quantiles: readonly number[]): CostTable {
  const ratio = Math.log(RATE_MAX / RATE_MIN) / (RATE_COUNT - 1);
  const rates = Array.from({ length: RATE_COUNT }, (_, place) => RATE_MIN * Math.exp(ratio * place));
  const costs = rates.map((rate) => costOf(quantiles, rate));
  const gains = rates.map((_, place) => {
    const before = Math.max(0, place - 1);
    const after = Math.min(RATE_COUNT - 1, place + 1);
    return ((costs[before] ?? 0) - (costs[after] ?? 0)) / ((rates[after] ?? 1) - (rates[before] ?? 0));
  });
  for (let place = RATE_COUNT - 2; place >= 0; place--)
    gains[place] = Math.max(gains[place] ?? 0, gains[place + 1] ?? 0);
  return { logRates: rates.map(Math.log), gains };
}

/** Finds the rate at which one more request saves exactly its price. */
function rateAt({ logRates, gains }: CostTable, price: number): number {
  let low = 0;
  let high = RATE_COUNT - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((gains[middle] ?? 0) > price) low = middle;
    else high = middle;
  }
  const [above, below] = [Math.log(gains[low] ?? 1), Math.log(Math.max(1e-300, gains[high] ?? 0))];
  const share = above === below ? 0 : Math.min(1, Math.max(0, (above - Math.log(price)) / (above - below)));
  return Math.exp((logRates[low] ?? 0) + share * ((logRates[high] ?? 0) - (logRates[low] ?? 0)));
}

function suspendCostS({ suspendCount, startS, endS }: Workload, requestsPerSecond: number): number {
  const intervalS = (USE_S_MEAN * suspendCount) / (endS - startS) / requestsPerSecond;
  const random = seededRandom(0);
  const missed = (offset: number) => Math.max(0, intervalS - offset) ** 2 / (2 * intervalS);
  const ends = Array.from({ length: SUSPEND_SAMPLES }, () =>
    missed(SCHEDULING[0] + logNormal(DURATIONS.suspend_compute, random)),
  );
  return (missed(0) + missed(SCHEDULING[0]) + sum(ends) / SUSPEND_SAMPLES) / 3;
}

function quantilesOf(values: readonly number[]): readonly number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return Array.from({ length: QUANTILE_COUNT }, (_, place) => {
    const at = (0.0025 + (0.995 * place) / (QUANTILE_COUNT - 1)) * (sorted.length - 1);
    const low = sorted[Math.floor(at)] ?? 0;
    return low + (at % 1) * ((sorted[Math.ceil(at)] ?? low) - low);
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
