/**
 * Learns, for all projects of an account together, how long computes are used and how long operations of each action
 * take. Both are read from the pages that are polled anyway: the first page of a project shows what lasted how long in
 * the last day, so a new process knows it after one round, and nothing is stored.
 */

import { type AgedHazard, type AssumedHazard, createAgedHazard } from './aged-hazard.ts';
import type { Lifetime } from './lifetimes.ts';

export interface LearnedLifetimes {
  /** Learns from a page what has happened since the page of the project before. */
  learn(shown: readonly Lifetime[], before: PageBefore, nowMs: number): void;
  /** Returns the suspends per millisecond that are expected of a compute that has run for `ageMs`. */
  suspendPerMs(ageMs: number): number;
  /** Returns the first later age of a compute at which its suspend becomes much more likely, or undefined. */
  nextSuspendRiseMs(ageMs: number): number | undefined;
  /** Returns the ends per millisecond that are expected of an operation that has been open for `ageMs`. */
  endPerMs(action: string | undefined, ageMs: number): number;
}

/** Says how far the page before has been learned from. */
interface PageBefore {
  /** It was read at this time, by our clock, or was undefined when there was none. */
  readonly learnedAtMs: number | undefined;
  /** The last end that it showed, by the upstream's clock, so that clocks that differ let no end count twice. */
  readonly shownEndMs: number;
}

const MINUTE_MS = 60_000;

/** A compute is suspended five minutes after its last use unless it was set otherwise (specification, "Compute state"). */
const SUSPEND_AFTER_MS = 5 * MINUTE_MS;

/** A compute is assumed to be used for four minutes on average beyond its start, until the account shows otherwise. */
const USE_MS_ASSUMED = 4 * MINUTE_MS;

/** Each of the first minutes has a span of its own, because people set the time until a suspend in whole minutes. */
const USE_EDGES_MIN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 45, 60, 90, 120, 240, 480];

const COMPUTE_USE: AssumedHazard = {
  edgesMs: USE_EDGES_MIN.map((minutes) => minutes * MINUTE_MS),
  perMs: (ageMs) => (ageMs >= SUSPEND_AFTER_MS ? 1 / USE_MS_ASSUMED : 0),
  priorMs: USE_MS_ASSUMED,
};

/** Rows show whole seconds, so shorter spans would show nothing. */
const OPERATION_EDGES_S = [
  0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1_024, 4_096, 16_384,
];

/**
 * An operation of age t ends at a rate of about 1 / t, because durations are heavy-tailed. This offset keeps the rate
 * of a new operation finite.
 */
const OPEN_AGE_OFFSET_MS = 1_500;

const OPERATION: AssumedHazard = {
  edgesMs: OPERATION_EDGES_S.map((seconds) => seconds * 1_000),
  perMs: (ageMs) => 1 / (OPEN_AGE_OFFSET_MS + Math.max(0, ageMs)),
  priorMs: OPEN_AGE_OFFSET_MS,
};

/** The service has a dozen actions. The durations of at most this number of actions are learned; further ones keep the assumption. */
const ACTIONS_MAX = 32;

export function createLearnedLifetimes(): LearnedLifetimes {
  const use = createAgedHazard(COMPUTE_USE);
  const operations = new Map<string, AgedHazard>();

  return {
    learn(shown, { learnedAtMs = Number.NEGATIVE_INFINITY, shownEndMs }, nowMs) {
      for (const lifetime of shown) {
        const { action, beganMs, endedMs } = lifetime;
        const isNew = endedMs !== undefined && endedMs > shownEndMs;
        if (action !== undefined) {
          if (isNew) hazardOf(action)?.note(0, endedMs - beganMs, true);
        } else {
          const fromMs = Math.max(0, learnedAtMs - beganMs);
          const toMs = Math.max(0, (endedMs ?? nowMs) - beganMs);
          if (isNew || toMs > fromMs) use.note(Math.min(fromMs, toMs), toMs, isNew);
        }
      }
    },
    suspendPerMs: (ageMs) => use.perMs(ageMs),
    nextSuspendRiseMs: (ageMs) => use.nextRiseMs(ageMs),
    endPerMs: (action, ageMs) =>
      (action === undefined ? undefined : operations.get(action)?.perMs(ageMs)) ?? OPERATION.perMs(ageMs),
  };

  function hazardOf(action: string): AgedHazard | undefined {
    const known = operations.get(action);
    if (known !== undefined || operations.size >= ACTIONS_MAX) return known;
    const created = createAgedHazard(OPERATION);
    operations.set(action, created);
    return created;
  }
}
