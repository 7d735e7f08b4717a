/** Decides which notices are not sent because a person has acknowledged the incident. */

import { incidentIdOf, incidentOf } from '../../../shared/alerts/incident-key.ts';
import { GRAVITIES, type IncidentRecord, isOpen } from '../../../shared/alerts/incidents/incident-record.ts';
import { gravityOf } from './incident-record.ts';
import type { Notice, NoticeKind } from './notice.ts';

/** These end what was reported, so they are news to the person who takes care of it. */
const ENDS: ReadonlySet<NoticeKind> = new Set(['recovered', 'cancelled', 'account_recovered']);

/**
 * Returns whether the person who acknowledged the incident knows already what the notice says. Something worse than what
 * was known then is reported, even while the record does not show it yet.
 */
export function isAcknowledged(notice: Notice, record: IncidentRecord): boolean {
  if (notice.kind === 'acknowledged') return false;
  if (record.acknowledged === undefined || !isOpen(record) || ENDS.has(notice.kind)) return false;
  if (incidentIdOf(incidentOf(notice)) !== record.incident_id) return false;
  return GRAVITIES.indexOf(gravityOf(notice)) <= GRAVITIES.indexOf(record.gravity);
}
