/** Notices that a version before 2026-11 left waiting inside an incident's item get items of their own; none is lost by the upgrade. */

import { type Notice, noticeSchema } from '../../shared/alerts/notice.ts';
import type { SendDeps } from './plan-round.ts';

export async function moveOlderNotices({ store, telemetry }: SendDeps, channel: string): Promise<void> {
  for (const stored of await store.incidents.listOlder(channel)) {
    if (!stored.isReadable) continue;
    for (const pending of stored.incident.pending) {
      const parsed = noticeSchema.safeParse(pending);
      const notice = parsed.data ?? unreadableNotice(pending, stored.key.sk);
      if (!parsed.success) {
        telemetry.log('error', 'alert.item_unreadable', { pk: stored.key.pk, sk: stored.key.sk });
        telemetry.measure('AlertItemsUnreadable', 1);
      }
      await store.notices.add(channel, notice);
    }
    // Refused when that version is still running and has written again: the next sweep moves the rest.
    await store.incidents.emptyOlder(channel, stored);
  }
}

/** It says at least where: the item's key names account, project and action. */
function unreadableNotice(pending: unknown, sk: string): Notice {
  const [account_id = 'unknown', project_id, action] = sk.replace(/^INCIDENT#/, '').split('|');
  const { id } = Object(pending) as { id?: unknown };
  return {
    id: typeof id === 'string' ? id : `unreadable ${sk}`,
    kind: 'unreadable',
    severity: 'warning',
    observed_at: '',
    account_id,
    ...(project_id && { project_id }),
    ...(action && { action }),
  };
}
