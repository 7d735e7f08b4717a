/** Decides what an alert says beside its event: how often the action failed in the last hour, and whether other projects fail alike. */

import { keyPart } from '../../../../shared/alerts/incident-key.ts';
import type { IncidentRecord } from '../../../../shared/alerts/incidents/incident-record.ts';
import { HOUR_MS, MINUTE_MS } from '../../../../shared/core/time/durations.ts';
import type { Notice } from '../notices/notice.ts';
import { FAILURES_KEPT_MAX } from './incident-record.ts';
import { isServiceLikely, TOGETHER_MS } from './service-rule.ts';

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
