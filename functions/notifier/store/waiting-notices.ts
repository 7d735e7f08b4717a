/** Finds waiting notices by the list index, and reads their items. An item that cannot be read is reported by what its key says. */

import { alertListOf, alertNoticeKey } from '../../../shared/store/keys.ts';
import {
  type IndexPage,
  type IndexPosition,
  type Item,
  type Key,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import { type Notice, noticeSchema, type Severity } from '../deciding/notices/notice.ts';
import {
  type KeyFields,
  noticeOfKey,
  type PendingNotice,
  parsePending,
} from '../deciding/notices/pending-notice.ts';
import type { BegunNotices, WaitingNotices } from '../sending/waiting-notices.ts';

const SEVEREST_FIRST: readonly Severity[] = ['critical', 'warning', 'info'];

/** A key takes about 200 bytes, so a page of the index stays well below DynamoDB's 1 MB. */
const PAGE_KEYS = 1_000;

export function createWaitingNotices(
  table: Table,
  indexes: TableIndexes,
  onUnreadable: (key: Key) => void,
): WaitingNotices & BegunNotices {
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

    async readBegun(channel, sks) {
      const waiting = (await readItems(table, channel, sks)).filter((item) => item['outcome'] === undefined);
      return waiting.map((item) => {
        const notice = noticeIn(item, fieldsOfSortKey(item), onUnreadable);
        return { sk: item.sk, stored_at_ms: 0, notice };
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
  { keys }: Pick<IndexPage, 'keys'>,
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
