/**
 * Learns, for all projects of an account together, how long computes are used and how long operations of each action take. Both are read
 * from the pages that are polled anyway: the first page of a project shows what lasted how long in the last day, so a new process
 * knows it after one round, and nothing is stored.
 *
 * Ages are divided into spans. In each span the ends are counted, and the time that was watched there:
 *
 *   ends per millisecond = (ends + scale x assumed x prior) / (watched time + prior)
 *   scale                = (all ends + 4) / (ends that the assumption expects in all watched time + 4)
 *
 * The prior of a span is the watched time in which the assumption expects one end. So an account with little evidence leans on the
 * assumption, scaled to what was seen at all ages together, and a single outlier counts once, in its own span.
 */

import type { Lifetime } from './project-activity.ts';

/** Says how likely something is to end at each age, such as an operation or the use of a compute. */
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

export interface LearnedDurations {
  /** Learns from a page what has happened since the page of the project before. */
  learn(shown: readonly Lifetime[], before: PageBefore, nowMs: number): void;
  /** Returns the suspends that are expected of a compute between two times since its start. */
  suspendsBetween(fromAgeMs: number, toAgeMs: number): number;
  /** Returns after how long a compute can usually be suspended. */
  suspendableAfterMs(): number;
  /** Returns the ends that are expected of an operation between two ages. */
  endsBetween(action: string | undefined, fromAgeMs: number, toAgeMs: number): number;
}

/** Says how far the page before has been learned from. */
export interface PageBefore {
  /** The page before was read at this time, by our clock. It is -Infinity when there was no page. */
  readonly learnedMs: number;
  /** The last end that the page before showed, by the upstream's clock, so that clocks that differ let no end count twice. */
  readonly shownEndMs: number;
}

const MINUTE_MS = 60_000;

/** A compute is suspended five minutes after its last use unless it was set otherwise (specification, "Compute state"). */
const SUSPEND_AFTER_MS = 5 * MINUTE_MS;

/** A compute is assumed to be used for four minutes on average beyond its start, until the account shows otherwise. */
export const USE_MS_ASSUMED = 4 * MINUTE_MS;

/** Each of the first minutes has a span of its own, because people set the time until a suspend in whole minutes. */
const USE_EDGES_MIN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 45, 60, 90, 120, 240, 480];

const COMPUTE_USE: AssumedEnds = {
  edgesMs: USE_EDGES_MIN.map((minutes) => minutes * MINUTE_MS),
  perMs: (ageMs) => (ageMs >= SUSPEND_AFTER_MS ? 1 / USE_MS_ASSUMED : 0),
  priorMs: USE_MS_ASSUMED,
};

/** Rows show whole seconds, so shorter spans would show nothing. */
const OPERATION_EDGES_S = [
  0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1_024, 4_096, 16_384,
];

/** An operation of age t ends at a rate of about 1 / t, because durations are heavy-tailed. This keeps the rate of a new one finite. */
const OPEN_AGE_OFFSET_MS = 1_500;

const OPERATION: AssumedEnds = {
  edgesMs: OPERATION_EDGES_S.map((seconds) => seconds * 1_000),
  perMs: (ageMs) => 1 / (OPEN_AGE_OFFSET_MS + Math.max(0, ageMs)),
  priorMs: OPEN_AGE_OFFSET_MS,
};

/** The service has a dozen actions. The durations of at most this number are learned; further ones count as one action. */
const ACTIONS_MAX = 32;

export function createLearnedDurations(): LearnedDurations {
  const use = createLearnedEnds(COMPUTE_USE);
  const operations = new Map<string, LearnedEnds>();
  const unknown = createLearnedEnds(OPERATION);

  return {
    learn(shown, { learnedMs, shownEndMs }, nowMs) {
      for (const { action, beganMs, endedMs } of shown) {
        const isNew = endedMs !== undefined && endedMs > shownEndMs;
        if (action !== undefined) {
          if (isNew) endsOf(action).note(0, endedMs - beganMs, true);
          continue;
        }
        const fromMs = Math.max(0, learnedMs - beganMs);
        const toMs = Math.max(0, (endedMs ?? nowMs) - beganMs);
        if (isNew || toMs > fromMs) use.note(Math.min(fromMs, toMs), toMs, isNew);
      }
    },
    suspendsBetween: (fromAgeMs, toAgeMs) => use.between(fromAgeMs, toAgeMs),
    suspendableAfterMs: () => use.firstRiseMs() ?? 0,
    endsBetween: (action, fromAgeMs, toAgeMs) =>
      (operations.get(action ?? '') ?? unknown).between(fromAgeMs, toAgeMs),
  };

  function endsOf(action: string): LearnedEnds {
    const known = operations.get(action);
    if (known !== undefined || operations.size >= ACTIONS_MAX) return known ?? unknown;
    const created = createLearnedEnds(OPERATION);
    operations.set(action, created);
    return created;
  }
}
