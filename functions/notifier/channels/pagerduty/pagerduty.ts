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
    pace: 'PagerDuty five a minute',
    about: `PagerDuty needs a secret that holds the key of an "Events API v2" integration ([how](deploy/deploy.md#pagerduty)). If
\`PAGERDUTY_ROUTING_KEY\` is set, \`npm start\` notifies PagerDuty as well. Each incident is an alert of its own there, and nothing is
gathered. What is failing opens an alert, which the bridge resolves when no operation of the incident fails any more. What has stalled
opens another one, which the bridge resolves when it ends, and the third failure a critical one, because PagerDuty notifies no one again
of an alert that was acknowledged. What was given up or has vanished opens an alert that a person resolves at PagerDuty. When a person acknowledges the incident at the bridge, its
alerts at PagerDuty are acknowledged within a minute, except for what is worse than what was known then. What ended before PagerDuty could take it opens none.
PagerDuty recognises a copy by its \`dedup_key\`. It gets no hourly digest and no message about the first sight.`,
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
