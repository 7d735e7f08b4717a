/** Moves notices that a version before 2026-11 left inside an incident's item into items of their own, so that an upgrade loses none. */

import { subjectOfIncident } from '../../shared/alerts/alert-items.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { type Notice, noticeSchema } from './deciding/notice.ts';
import type { StoredIncident } from './sending/channel-state.ts';
import type { NoticeInbox } from './store-event.ts';

export interface OlderIncidents {
  /** Resolves to the incidents in whose items notices wait. */
  list(channel: string): Promise<readonly StoredIncident[]>;
  /** Takes the waiting notices out of the incident's item. */
  empty(channel: string, stored: StoredIncident): Promise<void>;
}

export interface OlderNoticesDeps {
  readonly store: { readonly older: OlderIncidents; readonly inbox: NoticeInbox };
  readonly telemetry: Telemetry;
}

export async function moveOlderNotices(
  { store, telemetry }: OlderNoticesDeps,
  channel: string,
): Promise<void> {
  for (const stored of await store.older.list(channel)) {
    if (!stored.isReadable) continue;
    for (const pending of stored.incident.pending) {
      const parsed = noticeSchema.safeParse(pending);
      const notice = parsed.data ?? unreadableNotice(pending, stored.key.sk);
      if (!parsed.success) {
        telemetry.log('error', 'alert.item_unreadable', { pk: stored.key.pk, sk: stored.key.sk });
        telemetry.measure('ItemsUnreadable', 1);
      }
      await store.inbox.add(channel, notice);
    }
    // The write is refused when the older version still runs and has written again. The next sweep moves the rest.
    await store.older.empty(channel, stored);
  }
}

/**
 * Makes a notice that says at least where something happened, because the item's key names account, project and
 * action.
 */
function unreadableNotice(pending: unknown, sk: string): Notice {
  const { account_id, project_id, action } = subjectOfIncident(sk.replace(/^INCIDENT#/, ''));
  const { id } = Object(pending) as { id?: unknown };
  return {
    id: typeof id === 'string' ? id : `unreadable ${sk}`,
    kind: 'unreadable',
    severity: 'warning',
    observed_at: '',
    account_id,
    ...(project_id !== undefined && { project_id }),
    ...(action !== undefined && { action }),
  };
}
