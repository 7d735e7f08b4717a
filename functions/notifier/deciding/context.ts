/** Decides what an alert says beside its event: how often the action failed in the last hour, and who fails alike. */

import { alikeOf, type Surroundings, TOGETHER_MS } from '../../../shared/alerts/common-cause.ts';
import type { IncidentRecord } from '../../../shared/alerts/incidents.ts';
import { HOUR_MS } from '../../../shared/records/time.ts';
import { FAILURES_KEPT_MAX } from './incident-record.ts';
import type { Notice } from './notice.ts';

/** Returns whether people have use for the context: the alert is about an action of a project, and about something bad. */
export function hasContext({ project_id, action, severity, kind }: Notice): boolean {
  return project_id !== undefined && action !== undefined && severity !== 'info' && kind !== 'unreadable';
}

/** Returns when the incident of the notice began, in milliseconds since the epoch. */
export function beganMsOf({ changed_at, observed_at }: Notice, record: IncidentRecord | undefined): number {
  return Date.parse(record?.began_at ?? changed_at ?? observed_at);
}

/** Returns the fields that the notice gets when it is sent. One about which nothing is known is missing. */
export function contextOf(
  notice: Notice,
  record: IncidentRecord | undefined,
  { around, nowMs }: { readonly around: Surroundings; readonly nowMs: number },
): { readonly last_hour?: Notice['last_hour']; readonly alike?: Notice['alike'] } {
  const recent = (record?.failures ?? []).filter(({ at_ms }) => at_ms > nowMs - HOUR_MS);
  const alike = alikeOf({ ...notice, beganMs: beganMsOf(notice, record) }, around, nowMs);
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
  around: Surroundings,
  nowMs: number,
): readonly Notice[] {
  const [earliest] = notices.toSorted((a, b) => beganMsOf(a, undefined) - beganMsOf(b, undefined));
  const alike = earliest && alikeOf({ ...earliest, beganMs: beganMsOf(earliest, undefined) }, around, nowMs);
  if (earliest === undefined || !alike?.is_service) return notices;
  const lastMs = beganMsOf(earliest, undefined) + TOGETHER_MS;
  return notices.map((notice) => (beganMsOf(notice, undefined) <= lastMs ? { ...notice, alike } : notice));
}
