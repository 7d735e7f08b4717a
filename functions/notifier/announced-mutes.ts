/** Announces that a person has muted all alerts of an account, because silence is otherwise taken for good news. */

import { isActive } from '../../shared/alerts/mutes.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Channel } from './channels/channel.ts';
import { newsOfMutes } from './deciding/care.ts';
import { isWantedBy } from './deciding/policy.ts';
import type { SendDeps } from './sending/turn.ts';
import type { NoticeInbox } from './store-event.ts';

export interface AnnouncedMuteDeps {
  readonly store: { readonly inbox: NoticeInbox };
  readonly policy: SendDeps['policy'];
  readonly clock: Clock;
}

/** Adds each announcement once, because its id is that of the mute. */
export async function announceMutes(
  { store, policy, clock }: AnnouncedMuteDeps,
  channel: Channel,
): Promise<void> {
  for (const mute of newsOfMutes(policy.stored_mutes ?? [], clock.now())) {
    const { mute_id, account_id, client_id, created_at, until, project_id, action, incident_id } = mute;
    const isOfAll = [project_id, action, incident_id].every((part) => part === undefined);
    if (!isOfAll || !isActive(mute, clock.now())) continue;
    const notice = {
      id: `muted ${mute_id}`,
      kind: 'muted_all',
      severity: 'info',
      account_id,
      observed_at: created_at,
      muted_by: client_id,
      muted_until: until,
    } as const;
    const isReported = isWantedBy(channel, notice, policy) && (channel.takes?.(notice) ?? true);
    if (isReported) await store.inbox.add(channel.name, notice);
  }
}
