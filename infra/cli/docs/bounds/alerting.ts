/** Bounds of alerts, as docs/limits.md lists them. */

import { PAUSE_MS_MAX } from '../../../../functions/notifier/channels/channel-pace.ts';
import { MAIL_BYTES_MAX, MAIL_NOTICES_MAX } from '../../../../functions/notifier/channels/render-mail.ts';
import {
  SLACK_CHARACTERS_MAX,
  SLACK_NOTICES_MAX,
} from '../../../../functions/notifier/channels/render-slack.ts';
import { SEND_BUDGET_MS } from '../../../../functions/notifier/notify.ts';
import { DEAF_MS } from '../../../../shared/alerts/channel-health.ts';
import { REMINDER_MS } from '../../../../shared/alerts/incident.ts';
import type { BoundGroup } from './bound.ts';

const FOLLOWS = { whenMet: 'Another message follows.', signal: 'No signal: nothing is left out.' };

export const alertingBounds: BoundGroup = {
  title: 'Alerts',
  bounds: [
    {
      name: 'Alerts in one Slack message',
      value: SLACK_NOTICES_MAX,
      unit: 'alerts',
      reason: 'People do not read a longer list.',
      ...FOLLOWS,
    },
    {
      name: 'Text of one Slack message',
      value: SLACK_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'Slack accepts about 13,000 characters of blocks.',
      ...FOLLOWS,
    },
    {
      name: 'Alerts in one mail',
      value: MAIL_NOTICES_MAX,
      unit: 'alerts',
      reason: 'A mail is read as a list, so it can be longer than a chat message.',
      ...FOLLOWS,
    },
    {
      name: 'Size of one mail',
      value: MAIL_BYTES_MAX,
      unit: 'bytes',
      reason: 'SNS accepts 256 KB.',
      ...FOLLOWS,
    },
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
      name: 'Time for which one invocation of the notifier sends',
      value: SEND_BUDGET_MS,
      unit: 'ms',
      reason: 'A message that is being sent can finish before the time-out of the function.',
      whenMet: 'The next sweep sends the rest.',
      signal: 'No signal: the next sweep comes within a minute.',
    },
  ],
};
