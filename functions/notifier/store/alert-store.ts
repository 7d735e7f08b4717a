/**
 * Keeps everything of the notifier in the table, as one port for each use. An item that cannot be read is logged and
 * counted.
 */

import { incidentIdOf } from '../../../shared/alerts/alert-items.ts';
import { readOpenIncidents } from '../../../shared/alerts/common-cause.ts';
import type { IncidentRecord } from '../../../shared/alerts/incidents.ts';
import {
  createIncidentStore,
  type IncidentStore,
  readAcknowledged,
} from '../../../shared/alerts/incidents.ts';
import { createConfiguredMutes, readMutesOfAllAccounts } from '../../../shared/alerts/mutes.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Key, Table, TableIndexes } from '../../../shared/store/table.ts';
import type { UnreadableItem } from '../../../shared/store/unreadable.ts';
import type { OlderIncidents } from '../intake/older-notices.ts';
import type { DueReminders } from '../intake/reminders.ts';
import { createDueReminders } from '../intake/reminders.ts';
import type { KeptMutes, NoticeInbox, StoredMutes } from '../intake/store-event.ts';
import type {
  BegunNotices,
  CareRecords,
  ChannelStates,
  IncidentMemory,
  NoticeEnds,
  WaitingNotices,
} from '../sending/channel-state.ts';
import type { ContextDeps } from '../sending/plan-messages.ts';
import type { AcknowledgedIncidents } from '../sending/plan-round.ts';
import { createIncidentItems, createIncidentMemory, createOlderIncidents } from './incidents.ts';
import { createChannelStore } from './items.ts';
import { createNoticeEnds, createNoticeInbox, createWaitingNotices } from './notices.ts';

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
