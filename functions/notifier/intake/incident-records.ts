/** Keeps the records of incidents up to date with the notices that come in, whether or not a channel reports them. */

import { incidentIdOf, incidentOf } from '../../../shared/alerts/incident-key.ts';
import type { IncidentStore } from '../../../shared/alerts/incidents/incident-store.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { incidentAfter } from '../deciding/incidents/incident-record.ts';
import { saysHowItStands } from '../deciding/incidents/operation-standing.ts';
import type { Notice } from '../deciding/notices/notice.ts';

export interface IncidentRecordDeps {
  readonly store: { readonly incidentsOf: (accountId: string) => Pick<IncidentStore, 'change'> };
  readonly clock: Clock;
}

/** Applying a notice twice gives the same record. Rejects when the table does; the queue then repeats the event. */
export async function recordIncident({ store, clock }: IncidentRecordDeps, notice: Notice): Promise<void> {
  if (!saysHowItStands(notice)) return;
  const incidentId = incidentIdOf(incidentOf(notice));
  await store
    .incidentsOf(notice.account_id)
    .change(incidentId, (found) => incidentAfter(found, notice, clock.now()));
}
