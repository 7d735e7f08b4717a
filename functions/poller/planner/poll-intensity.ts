/**
 * How many transitions a second are to be expected of a project, given what its last poll showed. The poll rate goes
 * with the square root of it: that minimises the mean delay of all transitions under one budget (ADR 0006).
 */

import type { ArrivalHistory, ProjectActivity } from './project-activity.ts';

/** Scheduling, running and the end of one operation, and a part of the next one that often follows. */
const TRANSITIONS_PER_ARRIVAL = 3.75;

/** A suspend shows three states. */
const TRANSITIONS_PER_SUSPEND = 3;

/** A compute is suspended five minutes after its last use ("Compute endpoint"): before, no suspend is to be expected. */
export const SUSPEND_AFTER_MS = 300_000;

/** How long the use itself goes on, on average; the suspend comes so long after it has become possible. */
const USE_MS_MEAN = 240_000;

/** A compute whose suspend did not come for this long is in steady use or never suspends: it is no sign any more. */
const SUSPEND_WINDOW_MS_MAX = 30 * 60_000;

/** Durations are heavy-tailed: an operation that is open for so long ends at a rate of about one in so long. */
const OPEN_AGE_OFFSET_MS = 1_500;

const DAY_MS = 24 * 3_600_000;

/** What is assumed before anything was seen: eight operations a day. */
export const ARRIVALS_PER_MS_ASSUMED = 8 / DAY_MS;

/** Nobody is polled as if nothing could ever happen there. */
const INTENSITY_PER_MS_MIN = TRANSITIONS_PER_ARRIVAL * 1e-3 * ARRIVALS_PER_MS_ASSUMED;

/** The mean of the Gamma posterior: half an operation of prior belief, spread at the account's mean rate. */
export function coldIntensity(history: ArrivalHistory | undefined, arrivalsPerMsMean: number): number {
  const { arrivalCount, observedMs } = history ?? { arrivalCount: 0, observedMs: 0 };
  const arrivalsPerMs = (arrivalCount + 0.5) / (observedMs + 0.5 / arrivalsPerMsMean);
  return Math.max(INTENSITY_PER_MS_MIN, arrivalsPerMs * TRANSITIONS_PER_ARRIVAL);
}

/** What the open operation and the running computes add to it. */
export function hotIntensity(activity: ProjectActivity | undefined, nowMs: number): number {
  if (activity === undefined) return 0;
  const { openSinceMs, activeSinceMs } = activity;
  const suspendable = activeSinceMs.filter((sinceMs) => isSuspendable(sinceMs, nowMs)).length;
  const suspending = (suspendable * TRANSITIONS_PER_SUSPEND) / USE_MS_MEAN;
  if (openSinceMs === undefined) return suspending;
  return suspending + 1 / (OPEN_AGE_OFFSET_MS + Math.max(0, nowMs - openSinceMs));
}

/** The next instant at which `hotIntensity` rises by itself. */
export function nextRiseMs(activity: ProjectActivity | undefined, nowMs: number): number | undefined {
  const rises = (activity?.activeSinceMs ?? []).map((sinceMs) => sinceMs + SUSPEND_AFTER_MS);
  const next = Math.min(...rises.filter((riseMs) => riseMs > nowMs));
  return Number.isFinite(next) ? next : undefined;
}

function isSuspendable(activeSinceMs: number, nowMs: number): boolean {
  const ageMs = nowMs - activeSinceMs;
  return ageMs >= SUSPEND_AFTER_MS && ageMs < SUSPEND_AFTER_MS + SUSPEND_WINDOW_MS_MAX;
}
