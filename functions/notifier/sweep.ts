/**
 * Reports once a minute what is due without a new event: digests whose window has closed, notices whose mute has
 * ended, reminders, and what an outage or a crash left.
 */

import type { Channel } from './channels/kind/channel.ts';
import {
  type AcknowledgementDeps,
  addAcknowledgements,
  endAnnouncements,
} from './intake/acknowledgements.ts';
import { type DeafChannelDeps, reportDeafChannels } from './intake/deaf-channels.ts';
import { moveOlderNotices, type OlderNoticesDeps } from './intake/older-notices.ts';
import { addReminders, type ReminderDeps } from './intake/reminders.ts';
import { type KeptMutes, type StoredMutes, withStoredMutes } from './intake/stored-mutes.ts';
import { SEND_BUDGET_MS } from './invocations.ts';
import { onEachChannel } from './sending/each-channel.ts';
import { sendDue } from './sending/send-due.ts';
import type { SendDeps } from './sending/turn.ts';

export type SweepDeps = SendDeps &
  DeafChannelDeps &
  OlderNoticesDeps &
  ReminderDeps &
  AcknowledgementDeps & {
    readonly channels: readonly Channel[];
    readonly store: { readonly mutes: StoredMutes & KeptMutes };
  };

export async function sweep(deps: SweepDeps): Promise<void> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  await reportDeafChannels(deps, deps.channels);
  const acknowledged = await deps.store.readAcknowledged();
  await onEachChannel(deps, async (channel) => {
    await moveOlderNotices(deps, channel.name);
    await addReminders(await withStoredMutes(deps), channel.name);
    await addAcknowledgements(deps, channel, acknowledged);
  });
  await onEachChannel(deps, async (channel) => {
    await sendDue(await withStoredMutes(deps), channel, { fresh: undefined, acknowledged, deadlineMs });
  });
  await endAnnouncements(deps, acknowledged);
  await deps.store.mutes.keepConfigured(deps.policy.mutes);
}
