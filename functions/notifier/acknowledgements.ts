/** Informs pagers that a person takes care of an incident, so that they do not wake another person for it. */

import { incidentOf } from '../../shared/alerts/alert-items.ts';
import { type IncidentRecord, withoutAnnouncement } from '../../shared/alerts/incidents.ts';
import type { Channel } from './channels/channel.ts';
import { wasReported } from './deciding/incident.ts';
import type { Notice } from './deciding/notice.ts';
import type { IncidentMemory } from './sending/channel-state.ts';
import type { IncidentRecordDeps, NoticeInbox } from './store-event.ts';

export interface AcknowledgementDeps extends IncidentRecordDeps {
  readonly store: IncidentRecordDeps['store'] & {
    readonly inbox: NoticeInbox;
    readonly incidents: IncidentMemory;
  };
}

/** Adds each acknowledgement once, and only on a channel that has reported the incident. */
export async function addAcknowledgements(
  { store }: AcknowledgementDeps,
  channel: Channel,
  records: readonly IncidentRecord[],
): Promise<void> {
  if (channel.hearsOfAcknowledgements !== true) return;
  const remembered = await store.incidents.readMany(channel.name, records.map(incidentOf));
  for (const record of records) {
    const notice = noticeOf(record);
    const incident = remembered.get(incidentOf(record))?.incident;
    if (notice === undefined || incident === undefined) continue;
    const isKnown = Object.keys(incident.operations).length > 0;
    if (isKnown && !wasReported(incident, notice)) await store.inbox.add(channel.name, notice);
  }
}

/** Takes the incidents out of which every channel has had a day to learn. */
export async function endAnnouncements(
  { store, clock }: IncidentRecordDeps,
  records: readonly IncidentRecord[],
): Promise<void> {
  for (const record of records) {
    if (withoutAnnouncement(record, clock.now()) === undefined) continue;
    await store
      .incidentsOf(record.account_id)
      .change(record.incident_id, (found) => found && withoutAnnouncement(found, clock.now()));
  }
}

/**
 * Returns the same notice, with the same id, however often the sweep comes by. What has recovered is reported by its
 * end.
 */
function noticeOf(record: IncidentRecord): Notice | undefined {
  const { incident_id, account_id, project_id, action, acknowledged, gravity, state } = record;
  if (acknowledged === undefined || state === 'recovered') return undefined;
  return {
    id: `acknowledged ${incident_id} ${acknowledged.at}`,
    kind: 'acknowledged',
    severity: 'info',
    account_id,
    observed_at: acknowledged.at,
    acknowledged_by: acknowledged.client_id,
    acknowledged_gravity: gravity,
    ...(project_id !== undefined && { project_id }),
    ...(action !== undefined && { action }),
  };
}
