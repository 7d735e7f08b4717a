/** Defines the kind of channel that is a signed webhook, for every program that has no kind of its own. */

import * as z from 'zod';
import { secretArn } from '../../../../shared/config/secret-arn.ts';
import { defineChannelKind } from '../kind/channel-kind.ts';
import { createWebhookChannel, WEBHOOK_ALERTS_MAX, WEBHOOK_BYTES_MAX } from './webhook-channel.ts';
import { webhookPayload } from './webhook-payload.ts';
import { receiverOf } from './webhook-receiver.ts';

export const webhook = defineChannelKind({
  name: 'webhook',
  settings: {
    /** The secret is JSON such as `{"url": "https://...", "secret": "whsec_..."}`. */
    webhook_secret_arn: secretArn.optional(),
  },
  environment: {
    /** This is the name or ARN of the secret. Without it the channel is not set up. */
    WEBHOOK_SECRET_ID: z.string().min(1).optional(),
  },
  secret: {
    setting: 'webhook_secret_arn',
    variable: 'WEBHOOK_SECRET_ID',
    localVariable: 'ALERT_WEBHOOK',
    faultOf: (text) =>
      receiverOf(text) === undefined
        ? 'is not JSON such as {"url": "https://...", "secret": "whsec_..."}, with 24 to 64 bytes in base64.'
        : undefined,
  },
  create({ WEBHOOK_SECRET_ID }, { secretOf, fetch, links, clock }) {
    if (WEBHOOK_SECRET_ID === undefined) return undefined;
    return createWebhookChannel({ credentials: secretOf(WEBHOOK_SECRET_ID), links, clock, fetch });
  },
  guide: {
    bounds: [
      {
        name: 'Alerts in one request to the webhook',
        value: WEBHOOK_ALERTS_MAX,
      },
      {
        name: 'Alerts of one request to the webhook, in bytes',
        value: WEBHOOK_BYTES_MAX,
      },
    ],
    sampleOf: (message, links) => ({
      place: 'by webhook',
      suffix: 'webhook.json',
      text: `${JSON.stringify(webhookPayload(message, links), null, 2)}\n`,
    }),
  },
});
