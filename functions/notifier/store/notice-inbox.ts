/**
 * Stores notices, one item each. Only the table bounds the number of waiting notices, and a copy is refused by its
 * key.
 */

import { keyPart } from '../../../shared/alerts/incident-key.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { alertListOf, alertNoticeKey } from '../../../shared/store/keys.ts';
import { LIST_INDEX, type Table } from '../../../shared/store/table.ts';
import { parsePending, pendingOrderOf } from '../deciding/notices/pending-notice.ts';
import type { NoticeInbox } from '../intake/notice-inbox.ts';

export function createNoticeInbox(table: Table, clock: Clock): NoticeInbox {
  return {
    /** The item has no `expires_at`, because a notice that waits never expires. */
    async add(channel, notice) {
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
  };
}
