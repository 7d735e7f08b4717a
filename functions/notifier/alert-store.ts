/**
 * Keeps everything of the notifier in the table, as one port for each use. Notices are items of their own: a copy is refused by its
 * item, the list index finds those that wait, and what became of each is noted. An item that cannot be read is logged and counted.
 */

import { type OpenIncidents, readOpenIncidents } from '../../shared/alerts/common-cause.ts';
import {
  createIncidentStore,
  type IncidentRecord,
  type IncidentStore,
  incidentIdOf,
  keyPart,
  type NoticeOutcome,
  readAcknowledged,
  waitingNotice,
} from '../../shared/alerts/incidents.ts';
import { createConfiguredMutes, type Mute, readMutesOfAllAccounts } from '../../shared/alerts/mutes.ts';
import { isoTimeOf } from '../../shared/records/time.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import {
  accountItemKey,
  alertListOf,
  alertNoticeKey,
  alertParkedKey,
  projectKey,
} from '../../shared/store/keys.ts';
import {
  type IndexPage,
  type IndexPosition,
  type Item,
  type Key,
  LIST_INDEX,
  LISTED,
  listed,
  type Table,
  type TableIndexes,
} from '../../shared/store/table.ts';
import type { UnreadableItem } from '../../shared/store/unreadable.ts';
import {
  type ChannelStates,
  createChannelStore,
  createDueReminders,
  createIncidentItems,
  createIncidentMemory,
  createOlderIncidents,
  type DueReminders,
  expiresAt,
  type IncidentMemory,
  type OlderIncidents,
} from './channel-memory.ts';
import type { Channel } from './channels/channel.ts';
import {
  type KeyFields,
  type Notice,
  noticeOfKey,
  noticeSchema,
  type PendingNotice,
  parsePending,
  type Severity,
  storedAtMsOf,
  type WaitingNotice,
} from './deciding/notice.ts';
import type { AlertPolicy, Mutes } from './deciding/policy.ts';

/** Everything that the notifier works with, passed whole. */
export interface NotifierDeps {
  readonly store: AlertStore;
  readonly policy: AlertPolicy & Mutes;
  readonly channels: readonly Channel[];
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Resolves to undefined when no list has shown the name yet. */
  readonly projectNameOf: (accountId: string, projectId: string) => Promise<string | undefined>;
  /** Resolves to undefined when too little is known of the action. */
  readonly usualDurationOf: (
    accountId: string,
    projectId: string,
    action: string,
  ) => Promise<Notice['usual_duration']>;
  /**
   * Resolves to how many operations of the action usually begin to fail within a minute in the account, and to undefined
   * while too little is known.
   */
  readonly usualFailuresOf: (accountId: string, action: string) => Promise<number | undefined>;
}

/** The notifier reaches everything that it stores through this. */
export interface AlertStore {
  readonly inbox: NoticeInbox;
  readonly waiting: WaitingNotices;
  readonly ends: NoticeEnds;
  readonly incidents: IncidentMemory;
  readonly reminders: DueReminders;
  readonly older: OlderIncidents;
  readonly channels: ChannelStates;
  readonly mutes: StoredMutes;
  /** Returns the records of the account's incidents, which all channels share. */
  readonly incidentsOf: (accountId: string) => IncidentStore;
  /** Resolves to incidents of the account that have not ended and began after this time, the oldest first. */
  readonly openIncidents: (accountId: string, sinceMs: number) => Promise<OpenIncidents>;
  /** Resolves to incidents of the account that are open, at most one page of the index. */
  readonly readOpenRecords: (accountId: string) => Promise<readonly IncidentRecord[]>;
  /**
   * Resolves to the incidents of all accounts that people have acknowledged: the open ones, and those whose
   * acknowledgement has changed within a day.
   */
  readonly readAcknowledged: () => Promise<readonly IncidentRecord[]>;
  /** Resolves to whether a person has removed the account. One that the configuration names is never removed. */
  readonly isRemoved: (accountId: string) => Promise<boolean>;
  /** Resolves to the account to which the project has moved from this one, and to undefined when it has not. */
  readonly movedTo: (accountId: string, projectId: string) => Promise<string | undefined>;
}

interface NoticeInbox {
  /**
   * Stores the notice for the channel until it is reported. Resolves to undefined when it is a copy of one that was
   * stored before.
   */
  add(channel: string, notice: Notice): Promise<PendingNotice | undefined>;
}

interface WaitingNotices {
  /**
   * Resolves to waiting notices that are wanted, the most severe first and then the oldest: at most `countMax` and a
   * little more.
   */
  list(
    channel: string,
    countMax: number,
    isWanted: (pending: PendingNotice) => boolean,
  ): Promise<readonly PendingNotice[]>;
  /** Reads the items. The index may lag behind, so notices that were sent in the meantime are left out. */
  read(channel: string, pendings: readonly PendingNotice[]): Promise<readonly WaitingNotice[]>;
  /** Resolves to the notices with these sort keys that are stored still. `stored_at_ms` is 0 for one that no longer waits. */
  readKnown(channel: string, sks: readonly string[]): Promise<readonly KnownNotice[]>;
}

export interface KnownNotice extends WaitingNotice {
  /** When false, it has an outcome. */
  readonly isWaiting: boolean;
}

interface NoticeEnds {
  /** Notes the outcome of the notices whose items have these sort keys. They no longer wait. */
  settle(
    channel: string,
    sks: readonly string[],
    end: { readonly outcome: NoticeOutcome; readonly reason?: string | undefined },
  ): Promise<void>;
  /** Keeps which notices a channel refused for good and why, for a person to look at. */
  park(channel: string, notices: readonly Notice[], reason: string): Promise<void>;
}

interface StoredMutes {
  /** Resolves to the mutes of all accounts, and to those that ended within the last day. */
  readAll(): Promise<readonly Mute[]>;
  /** Writes the mutes of the configuration where the API finds them, once in this process. */
  keepConfigured(mutes: AlertPolicy['mutes']): Promise<void>;
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
    isRemoved: async (accountId) => (await table.get(accountItemKey(accountId)))?.['state'] === 'removed',
    movedTo: async (accountId, projectId) => {
      const movedTo = (await table.get(projectKey(accountId, projectId)))?.['moved_to'];
      return typeof movedTo === 'string' ? movedTo : undefined;
    },
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

/**
 * At most this many writes are under way at once. One message can name 2,000 notices, and the outcome of each is a
 * write of its own.
 */
export const WRITES_AT_ONCE = 25;

function createNoticeEnds(table: Table, clock: Clock): NoticeEnds {
  return {
    async settle(channel, sks, { outcome, reason }) {
      const nowMs = clock.now();
      const end = { outcome, outcome_at_ms: nowMs, reason, expires_at: expiresAt(clock) };
      // What the channel got or refused is listed for people; everything else leaves the list.
      const isAnswered = outcome === 'reported' || outcome === 'refused';
      const list = listed(alertListOf(channel, 'told'), isoTimeOf(nowMs));
      await forEachConcurrently(sks, WRITES_AT_ONCE, async (sk) => {
        const key = { pk: alertNoticeKey(channel, '').pk, sk };
        const remove = isAnswered ? [] : LISTED;
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
): WaitingNotices {
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
      return items.map((item) => {
        const isWaiting = item['outcome'] === undefined;
        const stored_at_ms = isWaiting ? storedAtMsOf(item[LIST_INDEX.sortKey]) || 0 : 0;
        const notice = noticeIn(item, fieldsOfSortKey(item), onUnreadable);
        return { sk: item.sk, stored_at_ms, notice, isWaiting };
      });
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
