/** Notes what became of notices. Their items stay, so that copies are recognised and the console can show the outcome. */

import { keyPart } from '../../../shared/alerts/incident-key.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { alertNoticeKey, alertParkedKey } from '../../../shared/store/keys.ts';
import { LIST_INDEX, type Table } from '../../../shared/store/table.ts';
import { type NoticeEnds, WRITES_AT_ONCE } from '../sending/notice-ends.ts';
import { expiresAt } from './retention.ts';

export function createNoticeEnds(table: Table, clock: Clock): NoticeEnds {
  return {
    async settle(channel, sks, { outcome, reason }) {
      const set = { outcome, outcome_at_ms: clock.now(), reason, expires_at: expiresAt(clock) };
      await forEachConcurrently(sks, WRITES_AT_ONCE, async (sk) => {
        const key = { pk: alertNoticeKey(channel, '').pk, sk };
        await table.update({ key, set, remove: [LIST_INDEX.partitionKey, LIST_INDEX.sortKey] });
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
