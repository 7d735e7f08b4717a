/** Defines the kind of channel that is PagerDuty. */

import * as z from 'zod';
import { secretArn } from '../../../../shared/config/secret-arn.ts';
import { defineChannelKind } from '../kind/channel-kind.ts';
import { createPagerDutyChannel, INCIDENTS_MAX, integrationOf, NOTICES_MAX } from './pagerduty-channel.ts';
import { pagerDutyEvents } from './pagerduty-events.ts';

export const pagerduty = defineChannelKind({
  name: 'pagerduty',
  settings: {
    /** The secret is the integration key of an "Events API v2" integration, or JSON with it and a region. */
    pagerduty_secret_arn: secretArn.optional(),
  },
  environment: {
    /** This is the name or ARN of the secret. Without it the channel is not set up. */
    PAGERDUTY_SECRET_ID: z.string().min(1).optional(),
  },
  secret: {
    setting: 'pagerduty_secret_arn',
    variable: 'PAGERDUTY_SECRET_ID',
    localVariable: 'PAGERDUTY_ROUTING_KEY',
    faultOf: (text) =>
      integrationOf(text) === undefined
        ? 'is not an integration key of 32 characters, nor JSON such as {"routing_key": "...", "region": "eu"}.'
        : undefined,
  },
  create({ PAGERDUTY_SECRET_ID }, { secretOf, fetch, links, clock }) {
    if (PAGERDUTY_SECRET_ID === undefined) return undefined;
    return createPagerDutyChannel({ credentials: secretOf(PAGERDUTY_SECRET_ID), links, clock, fetch });
  },
  guide: {
    bounds: [
      {
        name: 'Incidents in one message to PagerDuty',
        value: INCIDENTS_MAX,
      },
      {
        name: 'Alerts in one message to PagerDuty',
        value: NOTICES_MAX,
      },
    ],
    sampleOf(message, links) {
      const events = pagerDutyEvents(message, new Map(), links);
      if (events.length === 0) return undefined;
      const text = `${JSON.stringify(events, null, 2)}\n`;
      return { place: 'at PagerDuty', suffix: 'pagerduty.json', text };
    },
  },
});
