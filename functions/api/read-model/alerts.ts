/**
 * Reads what became of alerts: which were sent about an operation, which a mute or an acknowledgement holds back, and
 * which channels are deaf.
 */

import * as z from 'zod';
import {
  type Acknowledgement,
  DEAF_MS,
  deafMsOf,
  type IncidentStore,
  incidentIdOf,
  incidentOf,
  keyPart,
  type NoticeOutcome,
  olderIncidentFields,
} from '../../../shared/alerts/incidents.ts';
import { isInScope, type Mute, type MuteStore } from '../../../shared/alerts/mutes.ts';
import type { OperationRecord } from '../../../shared/records/operation-record.ts';
import {
  alertChannelKey,
  alertIncidentKey,
  alertListOf,
  alertNoticeKey,
} from '../../../shared/store/keys.ts';
import { LIST_INDEX, type Table, type TableIndexes } from '../../../shared/store/table.ts';

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

/** The lists of what waits on a channel, and of what it was told. */
export const ALERT_LISTS = ['critical', 'warning', 'info', 'told'] as const;

/** People look at no more than this many of a list. */
export const LISTED_ALERTS_MAX = 100;

const toldNotice = z.object({
  outcome: z.enum(['reported', 'refused']),
  outcome_at_ms: z.number(),
  reason: z.string().optional(),
  notice: z.object({
    kind: z.string(),
    severity: z.enum(['info', 'warning', 'critical']),
    account_id: z.string(),
    project_id: z.string().optional(),
    operation_id: z.string().optional(),
    action: z.string().optional(),
    error: z.string().optional(),
    reason: z.string().optional(),
    is_test: z.boolean().optional(),
  }),
});

export interface ToldAlert extends z.output<typeof toldNotice> {
  readonly channel: string;
}

export interface ChannelStanding {
  readonly channel: string;
  /** The latest first; at most `LISTED_ALERTS_MAX`, as are those that wait. */
  readonly told: readonly ToldAlert[];
  readonly waitingCount: number;
  readonly oldestWaitingAt: string | undefined;
  /** A message has been due since this time, and the channel has taken none, with this answer. */
  readonly waitingSinceMs: number | undefined;
  readonly lastReason: string | undefined;
}

export async function readChannelStanding(
  table: Table,
  indexes: TableIndexes,
  channel: string,
): Promise<ChannelStanding> {
  const keysOf = (list: (typeof ALERT_LISTS)[number]) =>
    indexes.query({
      index: LIST_INDEX,
      partition: alertListOf(channel, list),
      newestFirst: list === 'told',
      limit: LISTED_ALERTS_MAX,
    });
  const [item, ...lists] = await Promise.all([
    table.get(alertChannelKey(channel)),
    ...ALERT_LISTS.map(keysOf),
  ]);
  const waiting = lists.slice(0, -1).flatMap(({ keys }) => keys.map(({ sortKey }) => sortKey));
  const told = await table.getMany(lists.at(-1)?.keys ?? []);
  const [sinceMs, reason] = [item?.['waiting_since_ms'], item?.['last_reason']];
  return {
    channel,
    told: told
      .flatMap((one) => toldNotice.safeParse(one).data ?? [])
      .map((one) => ({ ...one, channel }))
      .toSorted((one, other) => other.outcome_at_ms - one.outcome_at_ms),
    waitingCount: waiting.length,
    oldestWaitingAt: waiting.toSorted((one, other) => (one < other ? -1 : 1))[0]?.split(' ')[0],
    waitingSinceMs: typeof sinceMs === 'number' ? sinceMs : undefined,
    lastReason: typeof reason === 'string' ? reason : undefined,
  };
}

interface Place {
  readonly project_id: string;
  readonly action: string;
}

export interface HeldBack {
  /** Of the mutes that cover the place, this one ends last. */
  readonly mute: Mute | undefined;
  /** It is undefined once all has recovered. */
  readonly acknowledged: Acknowledgement | undefined;
  /** The incident of the place has this id, also before the notifier has seen a failure. */
  readonly incident_id: string;
}

export interface HeldBackReader {
  /** Resolves to the same places in the same order. Mutes of the configuration are not known here. */
  withHeldBack<P extends Place>(places: readonly P[]): Promise<readonly (P & { held_back: HeldBack })[]>;
}

export function createHeldBack(
  accountId: string,
  mutes: MuteStore,
  incidents: IncidentStore,
): HeldBackReader {
  return {
    async withHeldBack(places) {
      if (places.length === 0) return [];
      const subjects = places.map(({ project_id, action }) => {
        const place = { account_id: accountId, project_id, action };
        return { ...place, incident_id: incidentIdOf(incidentOf(place)) };
      });
      const [active, records] = await Promise.all([
        mutes.readActive(),
        incidents.readMany(subjects.map(({ incident_id }) => incident_id)),
      ]);
      const unended = records.filter(({ state }) => state !== 'recovered');
      const incidentsById = new Map(unended.map((one) => [one.incident_id, one]));
      return subjects.map((subject, index) => {
        const { incident_id } = subject;
        const acknowledged = incidentsById.get(incident_id)?.acknowledged;
        const mute = active.findLast((each) => isInScope(each, subject));
        const held_back = { mute, acknowledged, incident_id };
        return { ...(places[index] as (typeof places)[number]), held_back };
      });
    },
  };
}

/**
 * Resolves to a sentence for each channel that accepts nothing. A channel that is not set up has no item, and is not
 * deaf.
 */
export async function deafChannelReasons(
  table: Table,
  channels: readonly string[],
  nowMs: number,
): Promise<readonly string[]> {
  const reasons = await Promise.all(channels.map((channel) => reasonOf(table, channel, nowMs)));
  return reasons.filter((reason) => reason !== undefined);
}

async function reasonOf(table: Table, channel: string, nowMs: number): Promise<string | undefined> {
  const item = await table.get(alertChannelKey(channel));
  const [sinceMs, reason] = [item?.['waiting_since_ms'], item?.['last_reason']];
  const deafMs = deafMsOf({ waiting_since_ms: typeof sinceMs === 'number' ? sinceMs : undefined }, nowMs);
  if (deafMs < DEAF_MS) return undefined;
  const answer = typeof reason === 'string' ? ` (${reason})` : '';
  return `The alert channel ${channel} has taken nothing for ${Math.round(deafMs / 60_000)} min although alerts wait for it${answer}: see channel-deaf in the runbook.`;
}
