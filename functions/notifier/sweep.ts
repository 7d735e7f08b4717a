/** Once a minute: digests whose window has closed, mutes that have ended, reminders, and what an outage or a crash left. */

import { reportDeafChannels } from './deaf-channels.ts';
import { type NotifierDeps, onEachChannel, SEND_BUDGET_MS } from './notify.ts';
import { moveOlderNotices } from './older-items.ts';
import { addReminders } from './reminders.ts';
import { sendDue } from './send-due.ts';

export async function sweep(deps: NotifierDeps): Promise<void> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  await reportDeafChannels(deps);
  await onEachChannel(deps, async (channel) => {
    await moveOlderNotices(deps, channel.name);
    await addReminders(deps, channel.name);
  });
  await onEachChannel(deps, (channel) => sendDue(deps, channel, { fresh: undefined, deadlineMs }));
}
