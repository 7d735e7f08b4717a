/** Bounds of alerts. */

import { WRITE_TRIES_MAX } from '../../../functions/notifier/alert-store.ts';
import { ROUNDS_MAX } from '../../../functions/notifier/send-untold.ts';
import { PENDING_COUNT_MAX, TOLD_IDS_MAX } from '../../../shared/alerts/incident.ts';
import { MAIL_NOTICES_MAX } from '../../../shared/alerts/render-mail.ts';
import { SLACK_NOTICES_MAX } from '../../../shared/alerts/render-slack.ts';
import type { BoundGroup } from './bound.ts';

export const alertingBounds: BoundGroup = {
  title: 'Alerts',
  bounds: [
    {
      name: 'Alerts of one incident that wait in the table',
      value: PENDING_COUNT_MAX,
      unit: 'alerts',
      reason: 'They have to fit into one item.',
      whenMet: 'Further ones stay in the queue until some are sent.',
      signal: 'Alarm `alerts-waiting`',
    },
    {
      name: 'Alerts of one incident that are remembered as sent',
      value: TOLD_IDS_MAX,
      unit: 'alerts',
      reason: 'A copy of an event is at most a day late.',
      whenMet: 'A copy of an older event is sent again.',
      signal: 'The repeated message names the same operation and time.',
    },
    {
      name: 'Alerts in one Slack message',
      value: SLACK_NOTICES_MAX,
      unit: 'alerts',
      reason: 'Slack takes some 13,000 characters of blocks.',
      whenMet: 'Another message follows.',
      signal: 'None is needed: nothing is left out.',
    },
    {
      name: 'Alerts in one mail',
      value: MAIL_NOTICES_MAX,
      unit: 'alerts',
      reason: 'SNS takes 256 KB.',
      whenMet: 'Another mail follows.',
      signal: 'None is needed: nothing is left out.',
    },
    {
      name: 'Rounds of messages of one sender',
      value: ROUNDS_MAX,
      unit: 'rounds',
      reason: 'A sender must not hold a channel for ever.',
      whenMet: 'The next sweep goes on.',
      signal: 'None is needed: the sweep comes within a minute.',
    },
    {
      name: 'Tries of one write of an incident',
      value: WRITE_TRIES_MAX,
      unit: 'tries',
      reason: 'Ten messages of a batch and a sender compete for one item at worst.',
      whenMet: 'The event stays in the queue and is tried again.',
      signal: 'Log line `alert.not_stored`; alarm `alerts-dead-letters` after five tries',
    },
  ],
};
