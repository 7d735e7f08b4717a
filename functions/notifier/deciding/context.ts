/** Decides what an alert says beside its event: how often the action failed in the last hour, and whether other projects fail alike. */

import { keyPart } from '../../../shared/alerts/incident-key.ts';
import type { IncidentRecord } from '../../../shared/alerts/incidents/incident-record.ts';
import { HOUR_MS } from '../../../shared/core/time/durations.ts';
import { FAILURES_KEPT_MAX } from './incident-record.ts';
import type { Notice } from './notice.ts';

/** Incidents that began within this time and have not ended count as failing alike. */
export const ALIKE_MS = HOUR_MS;

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

/** Returns the fields that the notice gets when it is sent. One about which nothing is known is missing. */
export function contextOf(
  notice: Notice,
  record: IncidentRecord | undefined,
  { incidents, isCut }: OpenIncidents,
  nowMs: number,
): Pick<Notice, 'last_hour' | 'alike'> {
  const recent = (record?.failures ?? []).filter(({ at_ms }) => at_ms > nowMs - HOUR_MS);
  const others = incidents.filter(
    ({ project_id, action }) =>
      action === keyPart(notice.action ?? '') && project_id !== keyPart(notice.project_id ?? ''),
  );
  const [since] = others.map(({ began_at }) => began_at).toSorted();
  return {
    ...(recent.length > 0 && {
      last_hour: {
        attempt_count: recent.reduce((sum, { attempt_count }) => sum + attempt_count, 0),
        ...(recent.length >= FAILURES_KEPT_MAX && { is_least: true }),
      },
    }),
    ...(since !== undefined && {
      alike: {
        project_count: new Set(others.map(({ project_id }) => project_id)).size,
        since,
        ...(isCut && { is_least: true }),
      },
    }),
  };
}
