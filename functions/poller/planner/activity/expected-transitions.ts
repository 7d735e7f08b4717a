/**
 * Derives how many transitions per millisecond are expected of a project, given what its last poll showed. The poll
 * rate is proportional to the square root of that number, which minimises the mean delay of all transitions under one
 * budget (ADR 0006).
 */

import { DAY_MS } from '../../../../shared/core/time/durations.ts';
import type { ArrivalHistory, ProjectActivity } from './project-activity.ts';

/**
 * One operation is scheduled, runs and ends, and often another one follows it. This is the mean number of their
 * transitions.
 */
const TRANSITIONS_PER_ARRIVAL = 3.75;

/** An operation that suspends a compute shows three states. */
const TRANSITIONS_PER_SUSPEND = 3;

/** A compute is suspended five minutes after its last use (specification, "Compute endpoint"), and never before. */
const SUSPEND_AFTER_MS = 300_000;

/**
 * A compute is used for this long on average after it could first be suspended. Its suspend comes at the end of that
 * use.
 */
const USE_MS_MEAN = 240_000;

/**
 * A compute may be suspended from five minutes after its start. One that was not suspended within this time after
 * that is in steady use or never suspends, so the planner expects no suspend of it any more.
 */
const SUSPEND_WINDOW_MS_MAX = 30 * 60_000;

/**
 * An operation of age t ends at a rate of about 1 / t, because durations are heavy-tailed. This offset keeps the rate
 * of a new operation finite.
 */
const OPEN_AGE_OFFSET_MS = 1_500;

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

/** Returns the transitions per millisecond that the open operation and the running computes add. */
export function hotIntensity(activity: ProjectActivity | undefined, nowMs: number): number {
  if (activity === undefined) return 0;
  const { openSinceMs, activeSinceMs } = activity;
  const suspendable = activeSinceMs.filter((sinceMs) => isSuspendable(sinceMs, nowMs)).length;
  const suspending = (suspendable * TRANSITIONS_PER_SUSPEND) / USE_MS_MEAN;
  if (openSinceMs === undefined) return suspending;
  return suspending + 1 / (OPEN_AGE_OFFSET_MS + Math.max(0, nowMs - openSinceMs));
}

/**
 * Returns the next instant at which `hotIntensity` rises by itself, in milliseconds since the epoch, or undefined
 * when there is none.
 */
export function nextRiseMs(activity: ProjectActivity | undefined, nowMs: number): number | undefined {
  const rises = (activity?.activeSinceMs ?? []).map((sinceMs) => sinceMs + SUSPEND_AFTER_MS);
  const next = Math.min(...rises.filter((riseMs) => riseMs > nowMs));
  return Number.isFinite(next) ? next : undefined;
}

function isSuspendable(activeSinceMs: number, nowMs: number): boolean {
  const ageMs = nowMs - activeSinceMs;
  return ageMs >= SUSPEND_AFTER_MS && ageMs < SUSPEND_AFTER_MS + SUSPEND_WINDOW_MS_MAX;
}
