/**
 * Derives how many transitions per millisecond are expected of a project, given what its last poll showed. The poll
 * rate is proportional to the square root of that number, which minimises the mean delay of all transitions under one
 * budget (ADR 0006).
 */

import { DAY_MS } from '../../../../shared/core/time/durations.ts';
import type { ArrivalHistory } from './arrival-history.ts';
import type { ExpectedSuspend, ExpectedSuspends, KnownComputes } from './expected-suspends.ts';
import type { LearnedLifetimes } from './learned-lifetimes.ts';
import type { ProjectActivity } from './project-activity.ts';

/**
 * One operation is scheduled, runs and ends, and often another one follows it. This is the mean number of their
 * transitions.
 */
const TRANSITIONS_PER_ARRIVAL = 3.75;

/** An operation that suspends a compute shows three states. */
const TRANSITIONS_PER_SUSPEND = 3;

/** The bridge assumes eight operations a day before it has seen any. */
export const ARRIVALS_PER_MS_ASSUMED = 8 / DAY_MS;

/** This is the least that is expected of any project: in each of them something can happen at any time. */
const INTENSITY_PER_MS_MIN = TRANSITIONS_PER_ARRIVAL * 1e-3 * ARRIVALS_PER_MS_ASSUMED;

/**
 * Returns the transitions per millisecond that are expected of a project in which nothing is open or running. It is
 * the mean of the Gamma posterior, with half an operation of prior belief at the account's mean rate.
 */
export function coldIntensity(history: ArrivalHistory | undefined, arrivalsPerMsMean: number): number {
  const { arrivalCount, observedMs } = history ?? { arrivalCount: 0, observedMs: 0 };
  const arrivalsPerMs = (arrivalCount + 0.5) / (observedMs + 0.5 / arrivalsPerMsMean);
  return Math.max(INTENSITY_PER_MS_MIN, arrivalsPerMs * TRANSITIONS_PER_ARRIVAL);
}

/** Says what a list of the project's computes has shown, and what that means. */
export interface SuspendKnowledge {
  readonly computes: KnownComputes;
  readonly suspends: Pick<ExpectedSuspends, 'perMs' | 'nextRiseMs'>;
}

/** Returns the transitions per millisecond that the open operation and the running computes add. */
export function hotIntensity(
  activity: ProjectActivity | undefined,
  lifetimes: Pick<LearnedLifetimes, 'suspendPerMs' | 'endPerMs'>,
  nowMs: number,
  known: SuspendKnowledge,
): number {
  if (activity === undefined) return 0;
  const { openSinceMs, openAction, activeSinceMs } = activity;
  let suspendsPerMs = 0;
  for (const [place, sinceMs] of activeSinceMs.entries()) {
    const expected = expectedAt(place, activity, known);
    const expectedPerMs = expected && known.suspends.perMs(expected, nowMs);
    suspendsPerMs += expectedPerMs ?? lifetimes.suspendPerMs(nowMs - sinceMs);
  }
  const suspending = suspendsPerMs * TRANSITIONS_PER_SUSPEND;
  if (openSinceMs === undefined) return suspending;
  return suspending + lifetimes.endPerMs(openAction, Math.max(0, nowMs - openSinceMs));
}

/**
 * Returns the next instant at which `hotIntensity` rises by itself, in milliseconds since the epoch, or undefined
 * when there is none.
 */
export function nextRiseMs(
  activity: ProjectActivity | undefined,
  lifetimes: Pick<LearnedLifetimes, 'nextSuspendRiseMs'>,
  nowMs: number,
  known: SuspendKnowledge,
): number | undefined {
  if (activity === undefined) return undefined;
  let next = Number.POSITIVE_INFINITY;
  for (const [place, sinceMs] of activity.activeSinceMs.entries())
    next = Math.min(next, riseMs(expectedAt(place, activity, known), sinceMs) ?? next);
  return Number.isFinite(next) ? next : undefined;

  function riseMs(expected: ExpectedSuspend | undefined, sinceMs: number): number | undefined {
    if (expected?.suspendAtMs !== undefined) return known.suspends.nextRiseMs(expected, nowMs);
    const ageMs = lifetimes.nextSuspendRiseMs(nowMs - sinceMs);
    return ageMs === undefined ? undefined : sinceMs + ageMs;
  }
}

/** Returns what a list has shown of the running compute at this place, or undefined when it has shown nothing. */
function expectedAt(
  place: number,
  { activeIds }: ProjectActivity,
  { computes }: SuspendKnowledge,
): ExpectedSuspend | undefined {
  return computes.get(activeIds?.[place] ?? '');
}
