/**
 * Keeps everything of the notifier in the table, as one port for each use. Notices are items of their own: a copy is refused by its
 * item, the list index finds those that wait, and what became of each is noted. An item that cannot be read is logged and counted.
 */

import { readOpenIncidents } from '../../shared/alerts/common-cause.ts';
import {
  createIncidentStore,
  type IncidentRecord,
  type IncidentStore,
  incidentIdOf,
  keyPart,
  readAcknowledged,
  waitingNotice,
} from '../../shared/alerts/incidents.ts';
import { createConfiguredMutes, readMutesOfAllAccounts } from '../../shared/alerts/mutes.ts';
import { isoTimeOf } from '../../shared/records/time.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { alertListOf, alertNoticeKey, alertParkedKey } from '../../shared/store/keys.ts';
import {
  type IndexPage,
  type IndexPosition,
  type Item,
  type Key,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../shared/store/table.ts';
import type { UnreadableItem } from '../../shared/store/unreadable.ts';
import {
  type KeyFields,
  type Notice,
  noticeOfKey,
  noticeSchema,
  type PendingNotice,
  parsePending,
  type Severity,
} from './deciding/notice.ts';
import {
  createChannelStore,
  createIncidentItems,
  createIncidentMemory,
  createOlderIncidents,
  expiresAt,
  type OlderIncidents,
} from './incidents.ts';
import { createDueReminders, type DueReminders } from './reminders.ts';
import {
  type CareRecords,
  type ChannelStates,
  type IncidentMemory,
  type KnownNotices,
  type NoticeEnds,
  type WaitingNotices,
  WRITES_AT_ONCE,
} from './sending/channel-state.ts';
import type { ContextDeps } from './sending/plan-messages.ts';
import type { AcknowledgedIncidents } from './sending/turn.ts';
import type { KeptMutes, NoticeInbox, StoredMutes } from './store-event.ts';

export interface AlertStore {
  readonly inbox: NoticeInbox;
  readonly waiting: WaitingNotices & KnownNotices;
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

function createNoticeInbox(table: Table, clock: Clock): NoticeInbox {
  return {
    /** The item has no `expires_at`, because a notice that waits never expires. */
    async add(channel, notice) {
      const { order, ...write } = waitingNotice(channel, notice, clock.now());
      const result = await table.update(write);
      return result === 'applied' ? parsePending(write.key.sk, order, notice.severity) : undefined;
    },
  };
}

function createNoticeEnds(table: Table, clock: Clock): NoticeEnds {
  return {
    async settle(channel, sks, { outcome, reason }) {
      const nowMs = clock.now();
      const end = { outcome, outcome_at_ms: nowMs, reason, expires_at: expiresAt(clock) };
      const { partitionKey, sortKey } = LIST_INDEX;
      // What the channel got or refused is listed for people; everything else leaves the list.
      const isAnswered = outcome === 'reported' || outcome === 'refused';
      const list = { [partitionKey]: alertListOf(channel, 'told'), [sortKey]: isoTimeOf(nowMs) };
      await forEachConcurrently(sks, WRITES_AT_ONCE, async (sk) => {
        const key = { pk: alertNoticeKey(channel, '').pk, sk };
        const remove = isAnswered ? [] : [partitionKey, sortKey];
        await table.update({ key, set: { ...end, ...(isAnswered && list) }, remove });
      });
    },

    async park(channel, notices, reason) {
      await table.update({
        key: alertParkedKey(channel, keyPart(notices[0]?.id ?? '')),
        set: {
          kind: 'parked_alert',
          reason,
          notice_ids: notices.map(({ id }) => id),
          expires_at: expiresAt(clock),
        },
      });
    },
  };
}

const SEVEREST_FIRST: readonly Severity[] = ['critical', 'warning', 'info'];

/** A key takes about 200 bytes, so a page of the index stays well below DynamoDB's 1 MB. */
const PAGE_KEYS = 1_000;

function createWaitingNotices(
  table: Table,
  indexes: TableIndexes,
  onUnreadable: (key: Key) => void,
): WaitingNotices & KnownNotices {
  return {
    async list(channel, countMax, isWanted) {
      const found: PendingNotice[] = [];
      for (const severity of SEVEREST_FIRST) {
        let start: IndexPosition | undefined;
        do {
          const partition = alertListOf(channel, severity);
          const page = await indexes.query({ index: LIST_INDEX, partition, limit: PAGE_KEYS, start });
          found.push(...pendingIn(page, severity, onUnreadable).filter(isWanted));
          start = page.next;
        } while (start !== undefined && found.length < countMax);
        if (found.length >= countMax) break;
      }
      return found;
    },

    async read(channel, pendings) {
      const bySk = new Map(pendings.map((pending) => [pending.sk, pending]));
      const items = await readItems(table, channel, [...bySk.keys()]);
      return items.flatMap((item) => {
        const pending = bySk.get(item.sk);
        if (pending === undefined || item['outcome'] !== undefined) return [];
        const notice = noticeIn(item, pending, onUnreadable);
        return [{ sk: item.sk, stored_at_ms: pending.stored_at_ms, notice }];
      });
    },

    async readKnown(channel, sks) {
      const items = await readItems(table, channel, sks);
      return items.map((item) => ({
        sk: item.sk,
        stored_at_ms: 0,
        notice: noticeIn(item, fieldsOfSortKey(item), onUnreadable),
        isWaiting: item['outcome'] === undefined,
      }));
    },
  };
}

function readItems(table: Table, channel: string, sks: readonly string[]): Promise<readonly Item[]> {
  const { pk } = alertNoticeKey(channel, '');
  return sks.length === 0 ? Promise.resolve([]) : table.getMany(sks.map((sk) => ({ pk, sk })));
}

function noticeIn(item: Item, fields: KeyFields, onUnreadable: (key: Key) => void): Notice {
  const parsed = noticeSchema.safeParse(item['notice']);
  if (parsed.success) return parsed.data;
  onUnreadable(item);
  return noticeOfKey(fields);
}

function pendingIn(
  { keys }: IndexPage,
  severity: Severity,
  onUnreadable: (key: Key) => void,
): readonly PendingNotice[] {
  return keys.flatMap((key) => {
    const pending = parsePending(key.sk, key.sortKey, severity);
    if (pending === undefined) onUnreadable(key);
    return pending ?? [];
  });
}

function fieldsOfSortKey({ sk }: Key): KeyFields {
  const id = sk.replace(/^NOTICE#/, '');
  return { id, severity: 'warning', account_id: 'unknown', project_id: '', action: '' };
}
