/** Which events of an operation were reported to people, by the notifier's items. */

import { incidentOf, keyPart } from '../../../shared/alerts/incident-key.ts';
import type { NoticeOutcome } from '../../../shared/alerts/notice-outcome.ts';
import { olderNotices } from '../../../shared/alerts/older-notices.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { alertIncidentKey, alertNoticeKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';

export interface ReportedAlerts {
  readonly channel: string;
  /** How many events of the operation were reported on the channel. */
  readonly reportedCount: number;
  /** How many wait to be reported. */
  readonly waitingCount: number;
  /** How many the channel refused for good, so that they were not shown to anybody there. */
  readonly refusedCount: number;
}

/** Only the latest events are looked up: an operation that fails all day has more than a page can show. */
const EVENTS_MAX = 50;

/** Channels that had nothing to report of this operation are left out. */
export async function readAlertHistory(
  table: Pick<Table, 'get'>,
  channels: readonly string[],
  record: OperationRecord,
): Promise<readonly ReportedAlerts[]> {
  const ids = record.entries.slice(-EVENTS_MAX).map(({ id }) => id);
  const found = await Promise.all(channels.map((channel) => readChannel(table, channel, { record, ids })));
  return found.filter(
    ({ reportedCount, waitingCount, refusedCount }) => reportedCount + waitingCount + refusedCount > 0,
  );
}

async function readChannel(
  table: Pick<Table, 'get'>,
  channel: string,
  { record, ids }: { readonly record: OperationRecord; readonly ids: readonly string[] },
): Promise<ReportedAlerts> {
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
    reportedCount: countOf('reported', 'copy'),
    waitingCount: countOf('waiting'),
    refusedCount: countOf('refused'),
  };
}

/** Versions before 2026-11 kept ids of reported notices, and waiting notices, in the item of the incident. */
async function readOlder(
  table: Pick<Table, 'get'>,
  channel: string,
  { account_id, project_id, action }: OperationRecord,
) {
  const item = await table.get(alertIncidentKey(channel, incidentOf({ account_id, project_id, action })));
  const { told_ids = [], pending = [] } = olderNotices.safeParse(item?.['body']).data ?? {};
  return { told: new Set(told_ids), waiting: new Set(pending.map((notice) => Object(notice)['id'])) };
}
