/** Lists the bounds of alerts, for docs/limits.md. */

import { CHANNEL_KINDS } from '../../../../functions/notifier/channels/channels.ts';
import { FAILURES_KEPT_MAX } from '../../../../functions/notifier/deciding/incidents/incident-record.ts';
import { PAUSE_MS_MAX } from '../../../../functions/notifier/deciding/messages/channel-pace.ts';
import { REMINDER_MS } from '../../../../functions/notifier/deciding/messages/incident.ts';
import { SEND_BUDGET_MS } from '../../../../functions/notifier/invocations.ts';
import { MUTED_COUNTED_MAX } from '../../../../functions/notifier/sending/add-digest.ts';
import { EDITS_MAX } from '../../../../functions/notifier/sending/show-care.ts';
import { OPEN_INCIDENTS_MAX } from '../../../../functions/notifier/store/open-incidents.ts';
import { DEAF_MS } from '../../../../shared/alerts/deaf-channel.ts';
import { ACTIVE_MUTES_MAX, MUTE_MS_MAX } from '../../../../shared/alerts/mutes/mute.ts';
import type { BoundGroup } from './bound.ts';

const FOLLOWS = { whenMet: 'Another message follows.', signal: 'No signal: nothing is left out.' };

export const alertingBounds: BoundGroup = {
  title: 'Alerts',
  bounds: [
    ...CHANNEL_KINDS.flatMap(({ guide }) => guide.bounds.map((bound) => ({ ...bound, ...FOLLOWS }))),
    {
      name: 'Pause that a channel may ask for',
      value: PAUSE_MS_MAX,
      unit: 'ms',
      reason: 'A `Retry-After` of a day must not silence a channel for a day.',
      whenMet: 'The notifier tries the channel again.',
      signal: 'Log line `alert.send_failed` with `pause_ms`',
    },
    {
      name: 'Time after which a channel that takes nothing is deaf',
      value: DEAF_MS,
      unit: 'ms',
      reason: 'Shorter interruptions end by themselves.',
      whenMet: 'The other channels report it, and `GET /bridge/v1/health` names the channel.',
      signal: '`ChannelDeafMs`, with the alarm `channel-deaf`',
    },
    {
      name: 'Time between two reminders of a continuing failure',
      value: REMINDER_MS,
      unit: 'ms',
      reason: 'People mute reminders that come more often.',
      whenMet: 'The incident is reported again.',
      signal: 'The message says that it is a reminder.',
    },
    {
      name: 'Active mutes of one account',
      value: ACTIVE_MUTES_MAX,
      unit: 'mutes',
      reason: 'People lose track of more, and the notifier reads all of them in each of its rounds.',
      whenMet: 'A further one is refused with `too-many-mutes` (409).',
      signal: 'The answer',
    },
    {
      name: 'Duration of a mute',
      value: MUTE_MS_MAX,
      unit: 'ms',
      reason: 'What is muted for longer should be routed to no channel, where it can be seen.',
      whenMet: 'A longer one is refused.',
      signal: 'The answer',
    },
    {
      name: 'Open incidents that an alert is compared with',
      value: OPEN_INCIDENTS_MAX,
      unit: 'incidents',
      reason: 'They are one page of the index, and more of them say no more to a person.',
      whenMet: 'The alert says "at least" before the number of projects that fail alike.',
      signal: 'The alert itself',
    },
    {
      name: 'Muted alerts that one digest counts',
      value: MUTED_COUNTED_MAX,
      unit: 'alerts',
      reason: 'Counting reads a page of the index for each thousand.',
      whenMet: 'The next digest counts the rest.',
      signal: 'The number itself',
    },
    {
      name: 'Failures of the last hour that the record of an incident counts',
      value: FAILURES_KEPT_MAX,
      unit: 'failures',
      reason: 'The record is written with each of them.',
      whenMet: 'The number is a lower bound. Every failure is still reported.',
      signal: 'The number itself',
    },
    {
      name: 'Messages that one round edits to name who takes care of them',
      value: EDITS_MAX,
      unit: 'messages',
      reason: 'Slack takes about fifty edits a minute.',
      whenMet: 'The next round edits the rest.',
      signal: 'No signal: the next round comes within a minute.',
    },
    {
      name: 'Time for which one invocation of the notifier sends',
      value: SEND_BUDGET_MS,
      unit: 'ms',
      reason: 'A message that is being sent can finish before the time-out of the function.',
      whenMet: 'The next sweep sends the rest.',
      signal: 'No signal: the next sweep comes within a minute.',
    },
  ],
};
