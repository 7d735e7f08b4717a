/** Everything that the notifier keeps in the table, through one door. An item that cannot be read is named and counted. */

import type { Clock } from '../../shared/runtime/clock.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { Key, Table, TableIndexes } from '../../shared/store/table.ts';
import { type ChannelStore, createChannelStore } from './channel-store.ts';
import { createIncidentStore, type IncidentStore } from './incident-store.ts';
import { createNoticeStore, type NoticeStore } from './notice-store.ts';

export interface AlertStore {
  readonly notices: NoticeStore;
  readonly incidents: IncidentStore;
  readonly channels: ChannelStore;
}

export function createAlertStore(
  table: Table,
  indexes: TableIndexes,
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry: Telemetry },
): AlertStore {
  const onUnreadable = ({ pk, sk }: Key) => {
    telemetry.log('error', 'alert.item_unreadable', { pk, sk });
    telemetry.measure('AlertItemsUnreadable', 1);
  };
  const parts = { clock, onUnreadable };
  return {
    notices: createNoticeStore(table, indexes, parts),
    incidents: createIncidentStore(table, indexes, parts),
    channels: createChannelStore(table),
  };
}
