/**
 * Reports once a minute what is due without a new event: digests whose window has closed, notices whose mute has
 * ended, reminders, and what an outage or a crash left.
 */

import { HOUR_MS } from '../../shared/core/time/durations.ts';
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
import { notifierSchedule, SEND_BUDGET_MS } from './invocations.ts';
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
  const acknowledged = await acknowledgedNow(deps);
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
