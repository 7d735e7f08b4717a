/** Takes events from the queue: it stores what each channel has to report, then lets every channel send on its own. A sweep once a minute reports what is due without an event, and announces that a person has muted all alerts of an account, because silence is otherwise taken for good news. */

import { isActive } from '../../shared/alerts/mutes.ts';
import { HOUR_MS } from '../../shared/records/time.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Channel } from './channels/channel.ts';
import { type DeafChannelDeps, reportDeafChannels } from './deaf-channels.ts';
import { newsOfMutes } from './deciding/incident-record.ts';
import { isWantedBy } from './deciding/policy.ts';
import { notifierSchedule, SEND_BUDGET_MS } from './environment.ts';
import { moveOlderNotices, type OlderNoticesDeps } from './incidents.ts';
import { addReminders, type ReminderDeps } from './reminders.ts';
import { onEachChannel, sendDue } from './sending/send-due.ts';
import { type AcknowledgementDeps, addAcknowledgements, endAnnouncements } from './sending/settle-pages.ts';
import type { SendDeps } from './sending/turn.ts';
import {
  type FreshNotices,
  type KeptMutes,
  type NoticeInbox,
  type StoredMutes,
  type StoreEventDeps,
  storeEvent,
  withStoredMutes,
} from './store-event.ts';

interface AnnouncedMuteDeps {
  readonly store: { readonly inbox: NoticeInbox };
  readonly policy: SendDeps['policy'];
  readonly clock: Clock;
}

/** Adds each announcement once, because its id is that of the mute. */
async function announceMutes({ store, policy, clock }: AnnouncedMuteDeps, channel: Channel): Promise<void> {
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

export type NotifyDeps = SendDeps & StoreEventDeps & { readonly store: { readonly mutes: StoredMutes } };

export interface QueueRecord {
  readonly messageId: string;
  readonly body: string;
}

/**
 * This is Lambda's partial batch response. The queue hands out these records again, and they end in the dead-letter
 * queue.
 */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

export async function notify(deps: NotifyDeps, records: readonly QueueRecord[]): Promise<BatchResponse> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  const fresh: FreshNotices = new Map(deps.channels.map(({ name }) => [name, []]));
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const { messageId, body } of records) {
    try {
      await storeEvent(deps, body, fresh);
    } catch (error) {
      const { name } = toError(error);
      deps.telemetry.log('error', 'alert.not_stored', { message_id: messageId, reason: name });
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  await onEachChannel(deps, async (channel) => {
    const own = fresh.get(channel.name) ?? [];
    if (own.length > 0)
      await sendDue(await withStoredMutes(deps), channel, {
        fresh: own,
        acknowledged: [],
        deadlineMs,
      });
  });
  // A stored notice is safe. The sweep repeats a send that failed, so the queue does not have to.
  return { batchItemFailures };
}

export type SweepDeps = SendDeps &
  DeafChannelDeps &
  OlderNoticesDeps &
  ReminderDeps &
  AcknowledgementDeps &
  AnnouncedMuteDeps & {
    readonly channels: readonly Channel[];
    readonly store: { readonly mutes: StoredMutes & KeptMutes };
  };

export async function sweep(deps: SweepDeps): Promise<void> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  await reportDeafChannels(deps, deps.channels);
  const acknowledged = await acknowledgedNow(deps);
  await onEachChannel(deps, async (channel) => {
    await moveOlderNotices(deps, channel.name);
    await addReminders(await withStoredMutes(deps), channel.name);
    await addAcknowledgements(deps, channel, acknowledged);
    await announceMutes(await withStoredMutes(deps), channel);
  });
  await onEachChannel(deps, async (channel) => {
    await sendDue(await withStoredMutes(deps), channel, { fresh: undefined, acknowledged, deadlineMs });
  });
  await endAnnouncements(deps, acknowledged);
  await deps.store.mutes.keepConfigured(deps.policy.mutes);
}

/**
 * Most rounds need the acknowledgements only for a channel that is informed of them, or names them in its messages. Without
 * such a channel they are read once an hour, to take out what is no longer announced.
 */
function acknowledgedNow({ store, channels, clock }: SweepDeps): ReturnType<typeof store.readAcknowledged> {
  const isShown = channels.some(
    ({ hearsOfAcknowledgements, edit }) => hearsOfAcknowledgements === true || edit !== undefined,
  );
  const isFirstOfHour = clock.now() % HOUR_MS < notifierSchedule.everyMs;
  return isShown || isFirstOfHour ? store.readAcknowledged() : Promise.resolve([]);
}
