/** Reads from the notifier's items which alerts about an operation were sent, by channel. */

import { incidentOf, keyPart } from '../../../../../shared/alerts/incident-key.ts';
import type { NoticeOutcome } from '../../../../../shared/alerts/notice-outcome.ts';
import { olderIncidentFields } from '../../../../../shared/alerts/older-incident-fields.ts';
import type { OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import { alertIncidentKey, alertNoticeKey } from '../../../../../shared/store/keys.ts';
import type { Table } from '../../../../../shared/store/table.ts';

export interface SentAlerts {
  readonly channel: string;
  /** Counts the events of the operation that were sent on the channel. */
  readonly sentCount: number;
  /** Counts the events that wait for the channel or for a digest. */
  readonly waitingCount: number;
  /** Counts the events that the channel refused for good and therefore does not show. */
  readonly refusedCount: number;
}

/**
 * At most this many latest events are looked up, because an operation that fails all day has more than a page can
 * show.
 */
const EVENTS_MAX = 50;

/** Returns one entry per channel that had an alert about this operation. */
export async function readAlertHistory(
  table: Table,
  channels: readonly string[],
  record: OperationRecord,
): Promise<readonly SentAlerts[]> {
  const ids = record.entries.slice(-EVENTS_MAX).map(({ id }) => id);
  const found = await Promise.all(channels.map((channel) => readChannel(table, channel, { record, ids })));
  return found.filter(
    ({ sentCount, waitingCount, refusedCount }) => sentCount + waitingCount + refusedCount > 0,
  );
}

async function readChannel(
  table: Table,
  channel: string,
  { record, ids }: { readonly record: OperationRecord; readonly ids: readonly string[] },
): Promise<SentAlerts> {
  const [items, older] = await Promise.all([
    Promise.all(ids.map((id) => table.get(alertNoticeKey(channel, keyPart(id))))),
    readOlder(table, channel, record),
  ]);
  const outcomes = ids.map((id, place) => {
    const item = items[place];
    if (item !== undefined) return item['outcome'] ?? 'waiting';
    return older.told.has(id) ? 'reported' : older.waiting.has(id) && 'waiting';
  });
  const countOf = (...wanted: readonly (NoticeOutcome | 'waiting')[]) =>
    outcomes.filter((one) => wanted.some((each) => each === one)).length;
  return {
    channel,
    sentCount: countOf('reported', 'copy'),
    waitingCount: countOf('waiting'),
    refusedCount: countOf('refused'),
  };
}

/**
 * Reads what versions before 2026-11 kept in the item of the incident: the alerts that were sent, and those that
 * wait.
 */
async function readOlder(table: Table, channel: string, { account_id, project_id, action }: OperationRecord) {
  const item = await table.get(alertIncidentKey(channel, incidentOf({ account_id, project_id, action })));
  const { told_ids = [], pending = [] } = olderIncidentFields.safeParse(item?.['body']).data ?? {};
  return { told: new Set(told_ids), waiting: new Set(pending.map((notice) => Object(notice)['id'])) };
}
