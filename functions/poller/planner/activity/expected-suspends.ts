/**
 * Says when a running compute is expected to be suspended, given what a list of the project's computes showed: the service
 * suspends a compute when its time-out has passed since its last activity.
 *
 * The service does not say how exact `last_active` is, so it is measured: each suspend that a page shows is compared with the
 * instant that was expected, for all projects of the account together. Where most instants were wrong, `isTrusted` says so.
 */

import type { RunningCompute } from '../../../../shared/core/records/running-compute.ts';
import { type AgedHazard, type AssumedHazard, createAgedHazard } from './aged-hazard.ts';
import type { Lifetime } from './lifetimes.ts';

/** Says what is expected of one compute. All times are in milliseconds since the epoch. */
export interface ExpectedSuspend {
  /** The list of computes was read at this time. */
  readonly readAtMs: number;
  /**
   * The compute is suspended at this time unless it is used until then. It is infinite when no suspend is expected at all,
   * and undefined when the list does not say anything that can be true.
   */
  readonly suspendAtMs: number | undefined;
  /** The service knew of no activity in the minute before the reading, so the compute is taken to be unused. */
  readonly isUnused: boolean;
  /** Whatever happened before this time has been learned. */
  readonly learnedToMs: number;
}

export interface ExpectedSuspends {
  /** Learns from a page of operations which of the expected suspends have come. Returns those that are still expected. */
  learn(expected: KnownComputes, shown: readonly Lifetime[], nowMs: number): KnownComputes;
  /** Learns how far a list of computes can be believed. `expected` is undefined when the list could not be read. */
  judge(expected: Iterable<ExpectedSuspend> | undefined): void;
  /** Returns the suspends per millisecond, or undefined when nothing is known of this compute. */
  perMs(expected: ExpectedSuspend, nowMs: number): number | undefined;
  /** Returns the next instant at which the suspend becomes much more likely, or undefined when there is none. */
  nextRiseMs(expected: ExpectedSuspend, nowMs: number): number | undefined;
  /** Says whether at least half of what lists of computes have said was true. */
  isTrusted(): boolean;
}

/** Maps the id of a compute to what is expected of it. */
export type KnownComputes = ReadonlyMap<string, ExpectedSuspend>;

export const NO_COMPUTES: KnownComputes = new Map();

/** Activity that is younger may be activity that goes on, because the service need not notice each use at once. */
const RECENT_MS = 60_000;

/** A compute that still runs this long after its instant contradicts the list that shows no activity since. */
const CONTRADICTED_AFTER_MS = 120_000;

/** Ages are counted from this long before the expected instant, because suspends may come too early, too. */
const EARLY_MS = 300_000;

/** The spans begin at these seconds after the expected instant. They are short where most suspends come. */
const EDGES_S = [-300, -30, -5, 0, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600];

/** An unused compute is assumed to be suspended within about this time of its instant, and for a minute after it. */
const SUSPEND_MS_ASSUMED = 15_000;
const SUSPENDING_MS = 60_000;

/** A compute that goes on is used for four minutes on average (`learned-lifetimes.ts`). */
const USE_MS_ASSUMED = 240_000;

const UNUSED = assumedHazard((lateMs) => (lateMs < SUSPENDING_MS ? SUSPEND_MS_ASSUMED : USE_MS_ASSUMED));
const USED = assumedHazard(() => USE_MS_ASSUMED);

function assumedHazard(meanMsAt: (lateMs: number) => number): AssumedHazard {
  return {
    edgesMs: EDGES_S.map((seconds) => seconds * 1_000 + EARLY_MS),
    perMs: (ageMs) => (ageMs < EARLY_MS ? 0 : 1 / meanMsAt(ageMs - EARLY_MS)),
    priorMs: USE_MS_ASSUMED,
  };
}

/** A suspend this much before or after its instant proves the list right. */
const KEPT_EARLY_MS = 30_000;
const KEPT_LATE_MS = 60_000;

/** Lists are believed as if this many instants had been right before any was seen. */
const PRIOR_KEPT = 4;

/** After this many instants all of them count half, so that a service that changes is believed again, or no longer. */
const JUDGED_MAX = 40;

export function createExpectedSuspends(): ExpectedSuspends {
  const unused = createAgedHazard(UNUSED);
  const used = createAgedHazard(USED);
  const hazardOf = ({ isUnused }: ExpectedSuspend): AgedHazard => (isUnused ? unused : used);
  let keptCount = 0;
  let brokenCount = 0;

  return {
    learn(expected, shown, nowMs) {
      if (expected.size === 0) return expected;
      const ends = endsOf(shown);
      const left = new Map<string, ExpectedSuspend>();
      for (const [id, each] of expected) {
        const endMs = ends.get(id);
        const hasEnded = endMs !== undefined && endMs >= each.readAtMs - RECENT_MS;
        learnOne(each, hasEnded ? endMs : nowMs, hasEnded);
        if (!hasEnded) left.set(id, { ...each, learnedToMs: nowMs });
      }
      return left;
    },
    judge(expected) {
      if (expected === undefined) return count(false);
      for (const { suspendAtMs } of expected) if (suspendAtMs === undefined) count(false);
    },
    perMs(expected, nowMs) {
      const { suspendAtMs } = expected;
      if (suspendAtMs === undefined) return undefined;
      return Number.isFinite(suspendAtMs) ? hazardOf(expected).perMs(ageOf(suspendAtMs, nowMs)) : 0;
    },
    nextRiseMs(expected, nowMs) {
      const { suspendAtMs = Number.POSITIVE_INFINITY } = expected;
      if (!Number.isFinite(suspendAtMs)) return undefined;
      const riseMs = hazardOf(expected).nextRiseMs(ageOf(suspendAtMs, nowMs));
      return riseMs === undefined ? undefined : suspendAtMs + riseMs - EARLY_MS;
    },
    isTrusted: () => keptCount + PRIOR_KEPT >= brokenCount,
  };

  function learnOne(expected: ExpectedSuspend, toMs: number, hasEnded: boolean): void {
    const { suspendAtMs = Number.POSITIVE_INFINITY, learnedToMs } = expected;
    if (!Number.isFinite(suspendAtMs)) return;
    const fromMs = ageOf(suspendAtMs, Math.min(learnedToMs, toMs));
    hazardOf(expected).note(fromMs, ageOf(suspendAtMs, toMs), hasEnded);
    const lateMs = toMs - suspendAtMs;
    // A suspend that comes much later says only that the compute was used again.
    if (hasEnded && lateMs <= KEPT_LATE_MS) count(lateMs >= -KEPT_EARLY_MS);
  }

  function count(isKept: boolean): void {
    if (isKept) keptCount += 1;
    else brokenCount += 1;
    if (keptCount + brokenCount < JUDGED_MAX) return;
    keptCount /= 2;
    brokenCount /= 2;
  }
}

/** Derives from one row of a list of computes what is to be expected. */
export function expectedSuspend(
  { lastActiveMs, suspendAfterMs }: RunningCompute,
  nowMs: number,
): ExpectedSuspend {
  const suspendAtMs =
    suspendAfterMs === Number.POSITIVE_INFINITY
      ? suspendAfterMs
      : (lastActiveMs ?? Number.NaN) + suspendAfterMs;
  const isPossible = suspendAtMs >= nowMs - CONTRADICTED_AFTER_MS;
  return {
    readAtMs: nowMs,
    suspendAtMs: isPossible ? suspendAtMs : undefined,
    isUnused: lastActiveMs !== undefined && nowMs - lastActiveMs > RECENT_MS,
    learnedToMs: nowMs,
  };
}

/** Stands for a compute that the list did not show to run: nothing is known of it until it is looked at again. */
export function nothingKnown(nowMs: number): ExpectedSuspend {
  return { readAtMs: nowMs, suspendAtMs: undefined, isUnused: false, learnedToMs: nowMs };
}

/** Two readings because of one compute are at least this far apart. */
const READING_GAP_MS_MIN = 30_000;

/** An unused compute that runs this long after its instant has been used again, so another reading says something new. */
const USED_AGAIN_AFTER_MS = 45_000;

/** Where a list said nothing that can be true, it is read again after this time. */
const RETRY_AFTER_MS = 600_000;

/** A compute that is never suspended is looked at again after an hour, because its time-out may have been changed. */
const NEVER_FOR_MS = 3_600_000;

/** Returns when another reading of the computes says something new of this one, in milliseconds since the epoch. */
export function staleAtMs({ suspendAtMs, isUnused, readAtMs }: ExpectedSuspend): number {
  if (suspendAtMs === undefined) return readAtMs + RETRY_AFTER_MS;
  if (!Number.isFinite(suspendAtMs)) return readAtMs + NEVER_FOR_MS;
  const usedAgainAtMs = isUnused ? suspendAtMs + USED_AGAIN_AFTER_MS : suspendAtMs;
  return Math.max(usedAgainAtMs, readAtMs + READING_GAP_MS_MIN);
}

/** Returns by the id of a compute when its last suspend began that the page shows. The newest lifetime comes first. */
function endsOf(shown: readonly Lifetime[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { computeId, endedMs } of shown)
    if (computeId !== undefined && endedMs !== undefined && !ends.has(computeId))
      ends.set(computeId, endedMs);
  return ends;
}

/** Ages below 0 belong to the first span. */
function ageOf(suspendAtMs: number, atMs: number): number {
  return Math.max(0, atMs - suspendAtMs + EARLY_MS);
}
