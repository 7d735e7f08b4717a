/** Defines the kind of channel that is Slack, by incoming webhook or by bot token. */

import * as z from 'zod';
import { slackBotOf } from '../../../../shared/alerts/slack-app.ts';
import { secretArn } from '../../../../shared/config/secret-arn.ts';
import { defineChannelKind } from '../kind/channel-kind.ts';
import { renderSlack, SLACK_CHARACTERS_MAX, SLACK_NOTICES_MAX } from './render-slack.ts';
import { createSlackChannel } from './slack-channel.ts';

const WEBHOOK_ORIGIN = 'https://hooks.slack.com';

export const slack = defineChannelKind({
  name: 'slack',
  settings: {
    /**
     * The secret is the URL of an incoming webhook, or JSON of a bot such as `{"token": "xoxb-...", "channel":
     * "C0123456789"}`.
     */
    slack_webhook_secret_arn: secretArn.optional(),
  },
  environment: {
    /** This is the name or ARN of the secret. Without it the channel is not set up. */
    SLACK_WEBHOOK_SECRET_ID: z.string().min(1).optional(),
    /** The webhook must be at this origin. Only tests and local runs have another one. */
    SLACK_WEBHOOK_ORIGIN: z.url().default(WEBHOOK_ORIGIN),
  },
  secret: {
    setting: 'slack_webhook_secret_arn',
    variable: 'SLACK_WEBHOOK_SECRET_ID',
    localVariable: 'SLACK_WEBHOOK_URL',
    faultOf: (text) =>
      URL.parse(text)?.origin === WEBHOOK_ORIGIN || slackBotOf(text) !== undefined
        ? undefined
        : `is not the URL of an incoming webhook at ${WEBHOOK_ORIGIN}, nor JSON such as {"token": "xoxb-...", "channel": "C0123456789"}.`,
  },
  create({ SLACK_WEBHOOK_SECRET_ID, SLACK_WEBHOOK_ORIGIN }, { secretOf, fetch, links, clock }) {
    if (SLACK_WEBHOOK_SECRET_ID === undefined) return undefined;
    const credentials = secretOf(SLACK_WEBHOOK_SECRET_ID);
    return createSlackChannel({ credentials, webhookOrigin: SLACK_WEBHOOK_ORIGIN, links, clock, fetch });
  },
  guide: {
    bounds: [
      {
        name: 'Alerts in one Slack message',
        value: SLACK_NOTICES_MAX,
      },
      {
        name: 'Text of one Slack message',
        value: SLACK_CHARACTERS_MAX,
      },
    ],
    sampleOf: (message, links) => ({
      place: 'on Slack',
      suffix: 'slack.json',
      text: `${JSON.stringify(renderSlack(message, links), null, 2)}\n`,
    }),
  },
});
