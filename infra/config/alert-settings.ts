/** Defines the `alerts` of a bridge's configuration: the settings of every kind of channel, and the policy. */

import * as z from 'zod';
import { alertPolicySchema } from '../../functions/notifier/alert-policy-schema.ts';
import { CHANNEL_KINDS, channelSettings, secretArnOf } from '../../functions/notifier/channels/channels.ts';

const settings = z.strictObject({
  ...channelSettings,
  /** The policy has routes, mutes and the time for which alerts are collected (docs/alerts.md). */
  policy: alertPolicySchema.prefault({}),
});

/** Refuses a route to a channel that is not set up, because its alerts would not reach people there. */
export const alertSettings = settings.superRefine((alerts, context) => {
  for (const [place, { channels = [] }] of alerts.policy.routes.entries()) {
    for (const kind of CHANNEL_KINDS) {
      const position = channels.indexOf(kind.name);
      if (position < 0 || kind.secret === undefined || secretArnOf(kind, alerts) !== undefined) continue;
      context.addIssue({
        code: 'custom',
        path: ['policy', 'routes', place, 'channels', position],
        message: `is not set up: set alerts.${kind.secret.setting}, or take the channel out of the route`,
      });
    }
  }
});
