/** Bounds of alerts. */

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

const FOLLOWS = { whenMet: 'Another message follows.', signal: 'None is needed: nothing is left out.' };

export const alertingBounds: BoundGroup = {
  title: 'Alerts',
  bounds: [
    {
      name: 'Alerts in one Slack message',
      value: SLACK_NOTICES_MAX,
      unit: 'alerts',
      reason: 'A reader skims more than that.',
      ...FOLLOWS,
    },
    {
      name: 'Text of one Slack message',
      value: SLACK_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'Slack takes some 13,000 characters of blocks.',
      ...FOLLOWS,
    },
    {
      name: 'Alerts in one mail',
      value: MAIL_NOTICES_MAX,
      unit: 'alerts',
      reason: 'A mail is read as a list.',
      ...FOLLOWS,
    },
    {
      name: 'Size of one mail',
      value: MAIL_BYTES_MAX,
      unit: 'bytes',
      reason: 'SNS takes 256 KB.',
      ...FOLLOWS,
    },
    {
      name: 'Pause that a channel may ask for',
      value: PAUSE_MS_MAX,
      unit: 'ms',
      reason: 'A `Retry-After` of a day must not silence a channel for a day.',
      whenMet: 'The channel is asked again.',
      signal: 'Log line `alert.send_failed` with `pause_ms`',
    },
    {
      name: 'Time after which a channel that takes nothing is deaf',
      value: DEAF_MS,
      unit: 'ms',
      reason: 'Shorter troubles end by themselves.',
      whenMet: 'The other channels report it, and health names it.',
      signal: '`ChannelDeafMs`, with the alarm `channel-deaf`',
    },
    {
      name: 'Time between two reminders of what goes on failing',
      value: REMINDER_MS,
      unit: 'ms',
      reason: 'Once a day is seldom enough not to be muted.',
      whenMet: 'The incident is reported again.',
      signal: 'The message says that it is a reminder.',
    },
    {
      name: 'Time that one invocation of the notifier sends',
      value: SEND_BUDGET_MS,
      unit: 'ms',
      reason: 'A message that is under way ends before the time-out of the function.',
      whenMet: 'The next sweep goes on.',
      signal: 'None is needed: the sweep comes within a minute.',
    },
  ],
};
