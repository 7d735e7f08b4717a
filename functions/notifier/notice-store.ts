/** Notices in the table, an item each: what waits has no bound but the table, and a copy is known as long as its item lives. */

import { type Notice, noticeSchema, type Severity } from '../../shared/alerts/notice.ts';
import {
  keyPart,
  noticeOfKey,
  type PendingNotice,
  parsePending,
  pendingOrderOf,
} from '../../shared/alerts/pending-notice.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import { alertListOf, alertNoticeKey, alertParkedKey } from '../../shared/store/keys.ts';
import {
  type IndexPosition,
  type Item,
  type Key,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../shared/store/table.ts';

/** Longer than any watch: what was reported is known as long as a copy or a retry could come. */
export const KEPT_SECONDS = 40 * 86_400;

const SEVEREST_FIRST: readonly Severity[] = ['critical', 'warning', 'info'];

/** A key has about 200 bytes: a page of the index stays well below DynamoDB's 1 MB. */
const PAGE_KEYS = 1_000;

/** One message can name 2,000 notices, and each is noted in its own item. */
export const WRITES_AT_ONCE = 25;

export type Outcome = 'reported' | 'refused' | 'copy';

export interface WaitingNotice {
  readonly sk: string;
  readonly stored_at_ms: number;
  readonly notice: Notice;
}

export type NoticeStore = ReturnType<typeof createNoticeStore>;

export function createNoticeStore(
  table: Table,
  indexes: TableIndexes,
  { clock, onUnreadable }: { readonly clock: Clock; readonly onUnreadable: (key: Key) => void },
) {
  const expiresAt = () => Math.floor(clock.now() / 1_000) + KEPT_SECONDS;
  return {
    /** Stores the notice for the channel. Undefined: it is a copy. An item that waits never expires. */
    async add(channel: string, notice: Notice): Promise<PendingNotice | undefined> {
      const key = alertNoticeKey(channel, keyPart(notice.id));
      const order = pendingOrderOf(notice, clock.now());
      const result = await table.update({
        key,
        set: {
          kind: 'alert',
          notice,
          [LIST_INDEX.partitionKey]: alertListOf(channel, notice.severity),
          [LIST_INDEX.sortKey]: order,
        },
        condition: { kind: 'absent', name: 'notice' },
      });
      return result === 'applied' ? parsePending(key.sk, order, notice.severity) : undefined;
    },

    /** What waits and is wanted, the severest first and then the oldest, up to a little more than `countMax`. */
    async list(
      channel: string,
      countMax: number,
      isWanted: (pending: PendingNotice) => boolean,
    ): Promise<readonly PendingNotice[]> {
      const found: PendingNotice[] = [];
      for (const severity of SEVEREST_FIRST) {
        let start: IndexPosition | undefined;
        do {
          const partition = alertListOf(channel, severity);
          const page = await indexes.query({ index: LIST_INDEX, partition, limit: PAGE_KEYS, start });
          found.push(...readKeys(page.keys, severity).filter(isWanted));
          start = page.next;
        } while (start !== undefined && found.length < countMax);
        if (found.length >= countMax) break;
      }
      return found;
    },

    /** The index lags at times, so that some of them may have been sent; those are left out. */
    async read(channel: string, waiting: readonly PendingNotice[]): Promise<readonly WaitingNotice[]> {
      const bySk = new Map(waiting.map((pending) => [pending.sk, pending]));
      const items = await readItems(channel, [...bySk.keys()]);
      return items.flatMap((item) => {
        const pending = bySk.get(item.sk);
        if (pending === undefined || item['outcome'] !== undefined) return [];
        return [{ sk: item.sk, stored_at_ms: pending.stored_at_ms, notice: noticeIn(item, pending) }];
      });
    },

    /** Of a message that was begun: those of its notices that still wait. */
    async readWaiting(channel: string, sks: readonly string[]): Promise<readonly WaitingNotice[]> {
      const items = await readItems(channel, sks);
      return items
        .filter((item) => item['outcome'] === undefined)
        .map((item) => ({ sk: item.sk, stored_at_ms: 0, notice: noticeIn(item, unknownPlace(item)) }));
    },

    /** They wait no more. The item stays, so that copies are known and the console can say what became of it. */
    async settle(
      channel: string,
      sks: readonly string[],
      { outcome, reason }: { readonly outcome: Outcome; readonly reason?: string | undefined },
    ): Promise<void> {
      const set = { outcome, outcome_at_ms: clock.now(), reason, expires_at: expiresAt() };
      await forEachConcurrently(sks, WRITES_AT_ONCE, async (sk) => {
        const key = { pk: alertNoticeKey(channel, '').pk, sk };
        await table.update({ key, set, remove: [LIST_INDEX.partitionKey, LIST_INDEX.sortKey] });
      });
    },

    /** For a person: what a channel refused for good. It is in the log as well; nothing behind it waits. */
    async park(channel: string, notices: readonly Notice[], reason: string): Promise<void> {
      await table.update({
        key: alertParkedKey(channel, keyPart(notices[0]?.id ?? '')),
        set: {
          kind: 'parked_alert',
          reason,
          notice_ids: notices.map(({ id }) => id),
          expires_at: expiresAt(),
        },
      });
    },
  };

  function readItems(channel: string, sks: readonly string[]): Promise<readonly Item[]> {
    const { pk } = alertNoticeKey(channel, '');
    return sks.length === 0 ? Promise.resolve([]) : table.getMany(sks.map((sk) => ({ pk, sk })));
  }

  /** One that cannot be read is reported by what its key says: silence would lose it. */
  function noticeIn(item: Item, pending: PendingNotice): Notice {
    const parsed = noticeSchema.safeParse(item['notice']);
    if (parsed.success) return parsed.data;
    onUnreadable(item);
    return noticeOfKey(pending);
  }

  function readKeys(keys: readonly (Key & { readonly sortKey: string })[], severity: Severity) {
    return keys.flatMap((key) => {
      const pending = parsePending(key.sk, key.sortKey, severity);
      if (pending === undefined) onUnreadable(key);
      return pending ?? [];
    });
  }
}

function unknownPlace({ sk }: Key): PendingNotice {
  const id = sk.replace(/^NOTICE#/, '');
  const place = { account_id: 'unknown', project_id: '', action: '' };
  return { ...place, sk, stored_at_ms: 0, severity: 'warning', kind: 'unreadable', id };
}
