/** Whether people were told of events, as the notifier's own items say. */

import { incidentSchema } from '../../../shared/alerts/incident.ts';
import { incidentOf, keyPart } from '../../../shared/alerts/pending-notice.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { alertIncidentKey, alertNoticeKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';

export interface ToldAlert {
  readonly channel: string;
  /** Events of the operation that went out on it, and those that still wait. */
  readonly toldCount: number;
  readonly waitingCount: number;
  /** What the channel refused for good: nobody has seen it there. */
  readonly refusedCount: number;
}

/** As the notifier names them. */
const CHANNELS = ['slack', 'email'] as const;

/** An operation that fails all day has more events than a page can show. */
const EVENTS_MAX = 50;

/** Channels that have had nothing to report of this operation are left out. */
export async function readAlertHistory(table: Table, record: OperationRecord): Promise<readonly ToldAlert[]> {
  const ids = record.entries.slice(-EVENTS_MAX).map(({ id }) => id);
  const found = await Promise.all(CHANNELS.map((channel) => readChannel(table, channel, { record, ids })));
  return found.filter(
    ({ toldCount, waitingCount, refusedCount }) => toldCount + waitingCount + refusedCount > 0,
  );
}

async function readChannel(
  table: Table,
  channel: string,
  { record, ids }: { readonly record: OperationRecord; readonly ids: readonly string[] },
): Promise<ToldAlert> {
  const [items, older] = await Promise.all([
    Promise.all(ids.map((id) => table.get(alertNoticeKey(channel, keyPart(id))))),
    readOlder(table, channel, record),
  ]);
  const outcomes = ids.map((id, place) => {
    const item = items[place];
    if (item !== undefined) return item['outcome'] ?? 'waiting';
    return older.told.has(id) ? 'reported' : older.waiting.has(id) && 'waiting';
  });
  const countOf = (...wanted: readonly unknown[]) => outcomes.filter((one) => wanted.includes(one)).length;
  return {
    channel,
    toldCount: countOf('reported', 'copy'),
    waitingCount: countOf('waiting'),
    refusedCount: countOf('refused'),
  };
}

/** Versions before 2026-11 kept both in the item of the incident. */
async function readOlder(table: Table, channel: string, { account_id, project_id, action }: OperationRecord) {
  const item = await table.get(alertIncidentKey(channel, incidentOf({ account_id, project_id, action })));
  const { told_ids = [], pending = [] } = incidentSchema.safeParse(item?.['body']).data ?? {};
  return { told: new Set(told_ids), waiting: new Set(pending.map((notice) => Object(notice)['id'])) };
}
