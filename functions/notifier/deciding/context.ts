/**
 * Decides what an alert says beside its event: how often the action failed in the last hour, and whether projects
 * fail alike because of the service.
 */

import { keyPart } from '../../../shared/alerts/alert-items.ts';
import type { IncidentRecord } from '../../../shared/alerts/incidents.ts';
import { HOUR_MS, MINUTE_MS } from '../../../shared/core/time.ts';
import type { DayInsights } from '../../../shared/insights/day-insights.ts';
import { type CountedHour, hourStartMs } from '../../../shared/insights/hour-counts.ts';
import { FAILURES_KEPT_MAX } from './incident-record.ts';
import type { Notice } from './notice.ts';

/** A fault of the service shows in all projects within minutes, so only incidents that began this close together count. */
export const TOGETHER_MS = 10 * MINUTE_MS;

/** Two projects can fail together because one person changed both. */
const PROJECTS_MIN = 3;

/** A person on call trusts the alert only if it is hardly ever wrong. */
const CHANCE_MAX = 0.001;

/** An hour can be busier, and a day worse, than those before, without the service being at fault. */
const MARGIN = 2;

/** From fewer operations than this, no share of failures is derived. */
const OPERATIONS_MIN = 50;

/** The first minutes of an hour are too few to derive a rate from. */
const ELAPSED_MS_MIN = 10 * MINUTE_MS;

/**
 * Returns whether `projectCount` projects are unlikely to have begun to fail independently of each other: less than once
 * in a thousand times, even if twice as many failed as usual. `usualCount` is how many usually do in such a time.
 */
export function isServiceLikely(projectCount: number, usualCount: number): boolean {
  return projectCount >= PROJECTS_MIN && chanceOfAtLeast(projectCount, MARGIN * usualCount) < CHANCE_MAX;
}

/** Returns the chance of `count` or more events when `mean` are expected and they are independent (Poisson distribution). */
function chanceOfAtLeast(count: number, mean: number): number {
  if (mean >= count) return 1;
  let logTerm = -mean;
  let below = 0;
  for (let each = 0; each < count; each++) {
    below += Math.exp(logTerm);
    logTerm += Math.log(mean / (each + 1));
  }
  return Math.max(0, 1 - below);
}

/**
 * Returns how many operations of the action usually begin to fail within a minute in the whole account: how many begin
 * now, times the share of the action among all, times the share of it that fails. The shares are those of seven days.
 * `hours` are the present hour and the one before. Returns undefined while too little is known.
 */
export function usualFailuresPerMinute(
  action: string,
  days: readonly DayInsights[],
  hours: readonly CountedHour[],
  nowMs: number,
): number | undefined {
  const bins = days.flatMap((day) => [...day].map(([name, { attempts }]) => ({ name, attempts })));
  const endedCount = sumOf(bins.map(({ attempts }) => sumOf(Object.values(attempts))));
  const own = bins.filter(({ name }) => name === action);
  const ownCount = sumOf(own.map(({ attempts }) => sumOf(Object.values(attempts))));
  if (ownCount < OPERATIONS_MIN) return undefined;
  // The bin 0 has the operations that needed one attempt.
  const failedCount = ownCount - sumOf(own.map(({ attempts }) => attempts['0'] ?? 0));
  // One failure more than was seen keeps the share above zero.
  const failingShare = (failedCount + 1) / (ownCount + 1);
  return startsPerMinute(hours, nowMs) * (ownCount / endedCount) * failingShare;
}

/** Returns the higher rate of the two hours, because the present one may have just begun, and so may the bridge. */
function startsPerMinute(hours: readonly CountedHour[], nowMs: number): number {
  const rates = hours.map(({ hour, counts }) => {
    const elapsedMs = Math.min(60 * MINUTE_MS, nowMs - hourStartMs(hour));
    return elapsedMs < ELAPSED_MS_MIN ? 0 : counts.started_count / (elapsedMs / MINUTE_MS);
  });
  return Math.max(0, ...rates);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** An incident of the account that has not ended, as its place in the list of open ones says. */
export interface OpenIncident {
  readonly began_at: string;
  /** Both are parts of a key: texts of the upstream, or hashes of unusual ones. */
  readonly project_id?: string | undefined;
  readonly action?: string | undefined;
}

export interface OpenIncidents {
  readonly incidents: readonly OpenIncident[];
  /** When true, there are more of them than were read. */
  readonly isCut: boolean;
}

/** Returns whether people have use for the context: the alert is about an action of a project, and about something bad. */
export function hasContext({ project_id, action, severity, kind }: Notice): boolean {
  return project_id !== undefined && action !== undefined && severity !== 'info' && kind !== 'unreadable';
}

export interface Surroundings {
  /** It is undefined when the incident of the notice is not known. */
  readonly record: IncidentRecord | undefined;
  readonly open: OpenIncidents;
  /** This number of operations of the action usually begins to fail within a minute. It is undefined while too little is known. */
  readonly usualPerMinute: number | undefined;
}

/** Returns when the incident of the notice began, in milliseconds since the epoch. */
export function beganMsOf({ changed_at, observed_at }: Notice, record: IncidentRecord | undefined): number {
  return Date.parse(record?.began_at ?? changed_at ?? observed_at);
}

/** Returns the fields that the notice gets when it is sent. One about which nothing is known is missing. */
export function contextOf(
  notice: Notice,
  { record, open, usualPerMinute }: Surroundings,
  nowMs: number,
): Pick<Notice, 'last_hour' | 'alike'> {
  const recent = (record?.failures ?? []).filter(({ at_ms }) => at_ms > nowMs - HOUR_MS);
  const alike = alikeOf(notice, { record, open, usualPerMinute }, nowMs);
  return {
    ...(recent.length > 0 && {
      last_hour: {
        attempt_count: recent.reduce((sum, { attempt_count }) => sum + attempt_count, 0),
        ...(recent.length >= FAILURES_KEPT_MAX && { is_least: true }),
      },
    }),
    ...(alike && { alike }),
  };
}

/**
 * Returns the notices of a message, those with the common cause that the rule finds. All of them are of one action and
 * account, and the earliest stands for them.
 */
export function withCommonCause(
  notices: readonly Notice[],
  around: Omit<Surroundings, 'record'>,
  nowMs: number,
): readonly Notice[] {
  const [earliest] = notices.toSorted((a, b) => beganMsOf(a, undefined) - beganMsOf(b, undefined));
  const alike = earliest && alikeOf(earliest, { record: undefined, ...around }, nowMs);
  if (earliest === undefined || !alike?.is_service) return notices;
  const lastMs = beganMsOf(earliest, undefined) + TOGETHER_MS;
  return notices.map((notice) => (beganMsOf(notice, undefined) <= lastMs ? { ...notice, alike } : notice));
}

/** Counts the other projects in which the action began to fail at about the same time, and fails still. */
function alikeOf(
  notice: Notice,
  { record, open, usualPerMinute }: Surroundings,
  nowMs: number,
): Notice['alike'] {
  const beganMs = beganMsOf(notice, record);
  const others = open.incidents.filter(
    ({ project_id, action, began_at }) =>
      action === keyPart(notice.action ?? '') &&
      project_id !== keyPart(notice.project_id ?? '') &&
      Math.abs(Date.parse(began_at) - beganMs) <= TOGETHER_MS,
  );
  const [since] = others.map(({ began_at }) => began_at).toSorted();
  if (since === undefined) return undefined;
  const project_count = new Set(others.map(({ project_id }) => project_id)).size;
  const spanMs = Math.max(0, Math.min(nowMs, beganMs + TOGETHER_MS) - (beganMs - TOGETHER_MS));
  const usual_count = usualPerMinute === undefined ? undefined : usualPerMinute * (spanMs / MINUTE_MS);
  return {
    project_count,
    since,
    ...(open.isCut && { is_least: true }),
    ...(usual_count !== undefined && {
      usual_count: Math.round(usual_count * 10) / 10,
      ...(isServiceLikely(project_count, usual_count) && { is_service: true }),
    }),
  };
}
