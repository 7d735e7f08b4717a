/**
 * Keeps everything of the notifier in the table, as one port for each use. An item that cannot be read is logged and
 * counted.
 */

import { incidentIdOf } from '../../../shared/alerts/incident-key.ts';
import type { IncidentRecord } from '../../../shared/alerts/incidents/incident-record.ts';
import {
  createIncidentStore,
  type IncidentStore,
  readAcknowledged,
} from '../../../shared/alerts/incidents/incident-store.ts';
import { createConfiguredMutes } from '../../../shared/alerts/mutes/configured-mutes.ts';
import { readMutesOfAllAccounts } from '../../../shared/alerts/mutes/mute-store.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Key, Table, TableIndexes } from '../../../shared/store/table.ts';
import type { UnreadableItem } from '../../../shared/store/unreadable.ts';
import type { NoticeInbox } from '../intake/notice-inbox.ts';
import type { OlderIncidents } from '../intake/older-notices.ts';
import type { DueReminders } from '../intake/reminders.ts';
import type { KeptMutes, StoredMutes } from '../intake/stored-mutes.ts';
import type { AcknowledgedIncidents } from '../sending/acknowledged-notices.ts';
import type { ContextDeps } from '../sending/add-context.ts';
import type { CareRecords } from '../sending/care-records.ts';
import type { ChannelStates } from '../sending/channel-state.ts';
import type { NoticeEnds } from '../sending/notice-ends.ts';
import type { IncidentMemory } from '../sending/stored-incident.ts';
import type { BegunNotices, WaitingNotices } from '../sending/waiting-notices.ts';
import { createChannelStore } from './channel-store.ts';
import { createDueReminders } from './due-reminders.ts';
import { createIncidentItems } from './incident-item.ts';
import { createIncidentMemory } from './incident-memory.ts';
import { createNoticeEnds } from './notice-ends.ts';
import { createNoticeInbox } from './notice-inbox.ts';
import { createOlderIncidents } from './older-incidents.ts';
import { readOpenIncidents } from './open-incidents.ts';
import { createWaitingNotices } from './waiting-notices.ts';

export interface AlertStore {
  readonly inbox: NoticeInbox;
  readonly waiting: WaitingNotices & BegunNotices;
  readonly ends: NoticeEnds;
  readonly incidents: IncidentMemory;
  readonly reminders: DueReminders;
  readonly older: OlderIncidents;
  readonly channels: ChannelStates;
  readonly openIncidents: ContextDeps['store']['openIncidents'];
  readonly readAcknowledged: AcknowledgedIncidents['readAcknowledged'];
  readonly readOpenRecords: CareRecords['readOpenRecords'];
  readonly mutes: StoredMutes & KeptMutes;
  /** Returns the records of the account's incidents, which all channels share. */
  readonly incidentsOf: (accountId: string) => IncidentStore;
}

export function createAlertStore(
  table: Table,
  indexes: TableIndexes,
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry: Telemetry },
): AlertStore {
  const onUnreadable = ({ pk, sk }: Key) => {
    telemetry.log('error', 'alert.item_unreadable', { pk, sk });
    telemetry.measure('ItemsUnreadable', 1);
  };
  const ports = { clock, noteUnreadable: ({ key }: UnreadableItem) => onUnreadable(key) };
  const written = new Map<string, IncidentRecord>();
  const items = createIncidentItems(table, clock, onUnreadable);
  return {
    inbox: createNoticeInbox(table, clock),
    waiting: createWaitingNotices(table, indexes, onUnreadable),
    ends: createNoticeEnds(table, clock),
    incidents: createIncidentMemory(table, items),
    reminders: createDueReminders(indexes, clock, items),
    older: createOlderIncidents(table, items),
    channels: createChannelStore(table),
    incidentsOf: (accountId) => createIncidentStore(table, accountId, { ...ports, written }),
    openIncidents: (accountId, sinceMs) => readOpenIncidents(indexes, accountId, sinceMs),
    readOpenRecords: async (accountId) => {
      const { incidents } = await readOpenIncidents(indexes, accountId, 0);
      return createIncidentStore(table, accountId, ports).readMany(
        incidents.map(({ name }) => incidentIdOf(name)),
      );
    },
    readAcknowledged: () => readAcknowledged(table, ports.noteUnreadable),
    mutes: {
      readAll: () => readMutesOfAllAccounts(table, ports.noteUnreadable),
      keepConfigured: createConfiguredMutes(table).keepConfigured,
    },
  };
}
