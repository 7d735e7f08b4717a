/** Decides which notices are not sent because a person has acknowledged the incident. */

import { incidentIdOf, incidentOf } from '../../../../shared/alerts/incident-key.ts';
import {
  GRAVITIES,
  type IncidentRecord,
  isOpen,
} from '../../../../shared/alerts/incidents/incident-record.ts';
import type { Notice, NoticeKind } from '../notices/notice.ts';
import { gravityOf } from './incident-record.ts';

/** These end what was reported, so they are news to the person who takes care of it. */
const ENDS: ReadonlySet<NoticeKind> = new Set(['recovered', 'cancelled', 'stall_ended', 'account_recovered']);

/**
 * Returns whether the person who acknowledged the incident knows already what the notice says. Something worse than what
 * was known then is reported, even while the record does not show it yet, and so is what happened after the incident
 * had ended with its acknowledgement.
 */
export function isAcknowledged(notice: Notice, record: IncidentRecord): boolean {
  const { acknowledged, gravity } = record;
  if (acknowledged === undefined || notice.kind === 'acknowledged' || ENDS.has(notice.kind)) return false;
  if (incidentIdOf(incidentOf(notice)) !== record.incident_id) return false;
  if (!isOpen(record) && !wasBefore(notice, acknowledged.at)) return false;
  return GRAVITIES.indexOf(gravityOf(notice)) <= GRAVITIES.indexOf(gravity);
}

/** A notice that could not be read whole has no time, and is then no reason to be silent. */
function wasBefore({ observed_at }: Notice, at: string): boolean {
  return observed_at !== '' && observed_at <= at;
}
