/**
 * Divides a budget of polls among projects so that the mean delay is the least. Bursts begin in each project as a
 * Poisson process, so even spacing is the best, and only the rates of the polls are to be chosen.
 */

const QUANTILE_COUNT = 200;
const RATE_COUNT = 2_000;
const RATE_MIN = 1e-7;

/** Says at which rate bursts begin in a project, per second, and in how many projects they begin at this rate. */
export interface BurstRate {
  readonly perSecond: number;
  readonly projectCount: number;
}

/** Knows what polls at a rate cost, for bursts whose transitions happen at given offsets after the beginning. */
export interface PollCosts {
  /** Returns the mean delay of a transition, in seconds, when its project is polled this often a second. */
  costS(pollsPerSecond: number): number;
  /** Returns the rate at which one more poll a second saves this many seconds. */
  rateWorth(savedS: number): number;
}

/**
 * Derives the costs for transitions at `offsets`, in seconds after the beginning of a burst. The first poll after the
 * beginning shows what has happened, and whatever comes later counts as seen at once.
 */
export function createPollCosts(offsets: readonly number[], pollsPerSecondMax: number): PollCosts {
  const quantiles = quantilesOf(offsets);
  const costS = (rate: number) =>
    sum(quantiles.map((offset) => Math.max(0, 1 - rate * offset) ** 2)) / quantiles.length / (2 * rate);
  const { logRates, gains } = gainTable(costS, pollsPerSecondMax);
  return {
    costS,
    rateWorth(savedS) {
      const place = placeOfGain(gains, savedS);
      const [above, below] = [Math.log(gains[place] ?? 1), Math.log(Math.max(1e-300, gains[place + 1] ?? 0))];
      const share =
        above === below ? 0 : Math.min(1, Math.max(0, (above - Math.log(savedS)) / (above - below)));
      const [low = 0, high = low] = [logRates[place], logRates[place + 1]];
      return Math.exp(low + share * (high - low));
    },
  };
}

/** Returns the least mean delay of all transitions, in seconds, that this many polls a second allow. */
export function leastDelayS(rates: readonly BurstRate[], costs: PollCosts, pollsPerSecond: number): number {
  const total = sum(rates.map(({ perSecond, projectCount }) => perSecond * projectCount));
  if (total === 0) return 0;
  const pollsAt = (price: number) => rates.map(({ perSecond }) => costs.rateWorth(price / perSecond));
  let low = 1e-12;
  let high = 1e12;
  for (let step = 0; step < 80; step++) {
    const middle = Math.sqrt(low * high);
    const spent = sum(pollsAt(middle).map((polls, place) => polls * (rates[place]?.projectCount ?? 0)));
    if (spent > pollsPerSecond) low = middle;
    else high = middle;
  }
  const polled = pollsAt(high);
  const spentS = rates.map(
    ({ perSecond, projectCount }, place) => perSecond * projectCount * costs.costS(polled[place] ?? 0),
  );
  return sum(spentS) / total;
}

interface GainTable {
  readonly logRates: readonly number[];
  /** One more poll a second saves this many seconds of delay; the number falls as the rate rises. */
  readonly gains: readonly number[];
}

function gainTable(costS: (rate: number) => number, rateMax: number): GainTable {
  const ratio = Math.log(rateMax / RATE_MIN) / (RATE_COUNT - 1);
  const rates = Array.from({ length: RATE_COUNT }, (_, place) => RATE_MIN * Math.exp(ratio * place));
  const costs = rates.map(costS);
  const gains = rates.map((_, place) => {
    const before = Math.max(0, place - 1);
    const after = Math.min(RATE_COUNT - 1, place + 1);
    return ((costs[before] ?? 0) - (costs[after] ?? 0)) / ((rates[after] ?? 1) - (rates[before] ?? 0));
  });
  for (let place = RATE_COUNT - 2; place >= 0; place--)
    gains[place] = Math.max(gains[place] ?? 0, gains[place + 1] ?? 0);
  return { logRates: rates.map(Math.log), gains };
}

/** Finds the last place whose gain is above `gain`, or the first place. */
function placeOfGain(gains: readonly number[], gain: number): number {
  let low = 0;
  let high = gains.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((gains[middle] ?? 0) > gain) low = middle;
    else high = middle;
  }
  return low;
}

function quantilesOf(values: readonly number[]): readonly number[] {
  const sorted = Float64Array.from(values).toSorted();
  return Array.from({ length: QUANTILE_COUNT }, (_, place) => {
    const at = (0.0025 + (0.995 * place) / (QUANTILE_COUNT - 1)) * (sorted.length - 1);
    const low = sorted[Math.floor(at)] ?? 0;
    return low + (at % 1) * ((sorted[Math.ceil(at)] ?? low) - low);
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
