/**
 * Learns how likely something is to end at each age, such as an operation or the use of a compute. The ages are divided
 * into spans. In each span the ends are counted, and the time that was watched there:
 *
 *   ends per millisecond = (ends + scale x assumed x prior) / (watched time + prior)
 *   scale                = (all ends + 4) / (ends that the assumption expects in all watched time + 4)
 *
 * The prior of a span is the watched time in which the assumption expects one end. So an account with little evidence
 * leans on the assumption, scaled to what was seen at all ages together. A single outlier counts once, in its own span.
 * Things that never end add watched time without ends, and the longer they last the less is expected of them.
 */

export interface AgedHazard {
  /** Counts that something was watched from one age to another, in milliseconds, and whether it ended at the second. */
  note(fromMs: number, toMs: number, hasEnded: boolean): void;
  /** Returns the ends per millisecond that are expected of something of this age. */
  perMs(ageMs: number): number;
  /** Returns the first later age at which at least twice as many ends are expected, or undefined when there is none. */
  nextRiseMs(ageMs: number): number | undefined;
}

export interface AssumedHazard {
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
 * After this many ends, seen or assumed, all evidence counts half. So a change of the account is learned after about as
 * many new ones, which are a few hours of a large account.
 */
const ENDS_KEPT_MAX = 2_000;

/** A smaller rise than to twice as many ends is mostly chance. */
const RISE_MIN = 2;

export function createAgedHazard(assumed: AssumedHazard): AgedHazard {
  const { edgesMs } = assumed;
  const assumedPerMs = Float64Array.from(edgesMs, (_, span) => assumed.perMs(middleOf(edgesMs, span)));
  const priorMs = assumedPerMs.map((perMs) => (perMs > 0 ? 1 / perMs : assumed.priorMs));
  const ends = new Float64Array(edgesMs.length);
  const watchedMs = new Float64Array(edgesMs.length);
  const hazards = Float64Array.from(assumedPerMs);
  let hasNews = false;

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
    perMs(ageMs) {
      if (hasNews) learn();
      return hazards[spanOf(edgesMs, ageMs)] ?? 0;
    },
    nextRiseMs(ageMs) {
      if (hasNews) learn();
      const span = spanOf(edgesMs, ageMs);
      const wanted = Math.max(Number.MIN_VALUE, RISE_MIN * (hazards[span] ?? 0));
      for (let later = span + 1; later < edgesMs.length; later++)
        if ((hazards[later] ?? 0) >= wanted) return edgesMs[later];
      return undefined;
    },
  };

  function learn(): void {
    let endCount = 0;
    let assumedCount = 0;
    for (let span = 0; span < hazards.length; span++) {
      const perMs = assumedPerMs[span] ?? 0;
      // What ends where no end was assumed says nothing about the other spans.
      if (perMs > 0) endCount += ends[span] ?? 0;
      assumedCount += perMs * (watchedMs[span] ?? 0);
    }
    const scale = (endCount + PRIOR_ENDS) / (assumedCount + PRIOR_ENDS);
    for (let span = 0; span < hazards.length; span++) {
      const prior = priorMs[span] ?? 0;
      const expected = scale * (assumedPerMs[span] ?? 0) * prior;
      hazards[span] = ((ends[span] ?? 0) + expected) / ((watchedMs[span] ?? 0) + prior);
    }
    hasNews = false;
    if (Math.max(endCount, assumedCount) > ENDS_KEPT_MAX) halve();
  }

  function halve(): void {
    for (let span = 0; span < hazards.length; span++) {
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

/** Ages below 0 come from clocks that differ, and count as 0. */
function spanOf(edgesMs: readonly number[], ageMs: number): number {
  let span = 0;
  while (span + 1 < edgesMs.length && ageMs >= (edgesMs[span + 1] ?? 0)) span += 1;
  return span;
}
