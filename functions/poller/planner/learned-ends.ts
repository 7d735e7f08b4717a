/**
 * Learns, for all projects of an account together, at which age something ends, such as the use of a compute. Ages are divided into
 * spans. In each span the ends are counted, and the time that was watched there:
 *
 *   ends per millisecond = (ends + scale x assumed x prior) / (watched time + prior)
 *   scale                = (all ends + 4) / (ends that the assumption expects in all watched time + 4)
 *
 * The prior of a span is the watched time in which the assumption expects one end. So an account with little evidence leans on the
 * assumption, scaled to what was seen at all ages together, and a single outlier counts once, in its own span.
 */

/** Says how likely something is to end at each age. */
export interface LearnedEnds {
  /** Counts that something was watched from one age to another, in milliseconds, and whether it ended at the second. */
  note(fromMs: number, toMs: number, hasEnded: boolean): void;
  /** Returns the ends that are expected between two ages of something that has not ended before. */
  between(fromMs: number, toMs: number): number;
  /** Returns the first age at which clearly more ends are expected than at the beginning, or undefined when there is none. */
  firstRiseMs(): number | undefined;
}

export interface AssumedEnds {
  /** The spans begin at these ages, in rising order from 0. The last span has no end. */
  readonly edgesMs: readonly number[];
  /** Returns the ends per millisecond that are expected at this age before anything was seen. */
  perMs(ageMs: number): number;
  /** In a span in which no end is assumed, this much watched time counts as much as one end does elsewhere. */
  readonly priorMs: number;
}

/** What is assumed weighs as much as this number of ends that were seen. */
const PRIOR_ENDS = 4;

/**
 * After this many ends, seen or assumed, all evidence counts half. So a change of the account is learned after about as many new ones,
 * which are a few hours of a large account.
 */
const ENDS_KEPT_MAX = 2_000;

/** A smaller rise than to twice as many ends is mostly chance. */
const RISE_MIN = 2;

export function createLearnedEnds(assumption: AssumedEnds): LearnedEnds {
  const { edgesMs, priorMs } = assumption;
  const assumed = Float64Array.from(edgesMs, (_, span) => assumption.perMs(middleOf(edgesMs, span)));
  const priors = assumed.map((perMs) => (perMs > 0 ? 1 / perMs : priorMs));
  const ends = new Float64Array(edgesMs.length);
  const watchedMs = new Float64Array(edgesMs.length);
  const perMs = Float64Array.from(assumed);
  /** The ends that are expected up to the beginning of each span. */
  const before = new Float64Array(edgesMs.length);
  let hasNews = true;

  return {
    note(fromMs, toMs, hasEnded) {
      const last = spanOf(edgesMs, toMs);
      for (let span = spanOf(edgesMs, fromMs); span <= last; span++) {
        const untilMs = Math.min(toMs, edgesMs[span + 1] ?? toMs);
        watchedMs[span] =
          (watchedMs[span] ?? 0) + Math.max(0, untilMs - Math.max(fromMs, edgesMs[span] ?? 0));
      }
      if (hasEnded) ends[last] = (ends[last] ?? 0) + 1;
      hasNews = true;
    },
    between(fromMs, toMs) {
      if (hasNews) learn();
      return upTo(toMs) - upTo(fromMs);
    },
    firstRiseMs() {
      if (hasNews) learn();
      const wanted = Math.max(Number.MIN_VALUE, RISE_MIN * (perMs[0] ?? 0));
      const span = perMs.findIndex((each, place) => place > 0 && each >= wanted);
      return edgesMs[span];
    },
  };

  /** Ages below 0 come from clocks that differ, and count as 0. */
  function upTo(ageMs: number): number {
    const span = spanOf(edgesMs, ageMs);
    return (before[span] ?? 0) + (perMs[span] ?? 0) * Math.max(0, ageMs - (edgesMs[span] ?? 0));
  }

  function learn(): void {
    let endCount = 0;
    let assumedCount = 0;
    for (const [span, each] of assumed.entries()) {
      // What ends where no end was assumed says nothing about the other spans.
      if (each > 0) endCount += ends[span] ?? 0;
      assumedCount += each * (watchedMs[span] ?? 0);
    }
    const scale = (endCount + PRIOR_ENDS) / (assumedCount + PRIOR_ENDS);
    for (const [span, prior] of priors.entries()) {
      const expected = scale * (assumed[span] ?? 0) * prior;
      perMs[span] = ((ends[span] ?? 0) + expected) / ((watchedMs[span] ?? 0) + prior);
      before[span + 1] =
        (before[span] ?? 0) + perMs[span] * ((edgesMs[span + 1] ?? 0) - (edgesMs[span] ?? 0));
    }
    hasNews = false;
    if (Math.max(endCount, assumedCount) <= ENDS_KEPT_MAX) return;
    for (const span of assumed.keys()) {
      ends[span] = (ends[span] ?? 0) / 2;
      watchedMs[span] = (watchedMs[span] ?? 0) / 2;
    }
  }
}

/** The last span is represented by twice the age at which it begins. */
function middleOf(edgesMs: readonly number[], span: number): number {
  const fromMs = edgesMs[span] ?? 0;
  return (fromMs + (edgesMs[span + 1] ?? 3 * fromMs)) / 2;
}

function spanOf(edgesMs: readonly number[], ageMs: number): number {
  let span = 0;
  while (span + 1 < edgesMs.length && ageMs >= (edgesMs[span + 1] ?? 0)) span += 1;
  return span;
}
