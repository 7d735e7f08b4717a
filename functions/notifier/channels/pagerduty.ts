/** Sends to PagerDuty through its Events API v2, which answers 202 to an event that it has taken. */

import * as z from 'zod';
import { type PagerDutyIntegration, pagerDutyIntegrationOf } from '../../../shared/alerts/channel-apps.ts';
import { secretArn } from '../../../shared/config/account-rules.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { HIDDEN_MARK, type Secret } from '../../../shared/runtime/secret.ts';
import { cleanText } from '../deciding/text.ts';
import type { MessageLimits } from '../deciding/waking.ts';
import type { AlertLinks } from '../deciding/wording.ts';
import {
  defineChannelKind,
  failure,
  readStart,
  type Sender,
  type SendResult,
  sendInTime,
} from './channel.ts';
import {
  isForPagerDuty,
  PAGED_INCIDENTS_MAX,
  PAGES_MAX,
  type PagerDutyEvent,
  pagerDutyEvents,
} from './pagerduty-events.ts';

/** Each notice is named in the details of its alert, which then take 250 kB of the 512 KB that PagerDuty accepts. */
const NOTICES_MAX = 250;

/** An integration takes about 120 events a minute. */
export const PAGERDUTY_PACE: MessageLimits = {
  messageCountMax: 5,
  perMs: 60_000,
  noticesPerMessageMax: NOTICES_MAX,
};

export interface PagerDutyOptions {
  /** The secret is a routing key of 32 characters, or JSON with one, a region, and the secret of the webhook. */
  readonly credentials: { current(): Promise<Secret> };
  readonly links: AlertLinks;
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
}

export function createPagerDutyChannel(options: PagerDutyOptions): Sender {
  const { clock, links } = options;
  const enqueueAll = (events: readonly PagerDutyEvent[]) =>
    sendInTime(clock, async (signal) => {
      const integration = pagerDutyIntegrationOf((await options.credentials.current()).reveal());
      if (integration === undefined) return { kind: 'failed', reason: 'the secret is no routing key' };
      const results: SendResult[] = [];
      await forEachConcurrently(events, REQUESTS_AT_ONCE, async (event) => {
        results.push(await enqueue({ ...options, signal }, integration, event));
      });
      return together(results);
    });
  return {
    pace: PAGERDUTY_PACE,
    isGathered: false,
    severityMin: 'critical',
    takes: isForPagerDuty,
    async send(message, { pages: open = [] } = {}) {
      const { events, pages } = pagerDutyEvents(message, open, { links, nowMs: clock.now() });
      const result = await enqueueAll(events);
      return result.kind === 'sent' ? { ...result, pages } : result;
    },
    settle: (changes) =>
      enqueueAll(changes.map(({ key, settlement }) => ({ event_action: settlement, dedup_key: key }))),
  };
}

/** Each event is about another page, so their order does not matter. A message whose answers take 12 s each still ends in time. */
const REQUESTS_AT_ONCE = 30;

/** A failure of the channel is looked at first, because the message is sent again after it. */
function together(results: readonly SendResult[]): SendResult {
  const failed = results.find(({ kind }) => kind === 'failed');
  return failed ?? results.find(({ kind }) => kind === 'refused') ?? { kind: 'sent' };
}

const ORIGINS = { us: 'https://events.pagerduty.com', eu: 'https://events.eu.pagerduty.com' } as const;

interface Call {
  readonly signal: AbortSignal;
  readonly fetch?: typeof fetch;
}

async function enqueue(
  { signal, fetch: send = fetch }: Call,
  { routing_key, region }: PagerDutyIntegration,
  event: PagerDutyEvent,
): Promise<SendResult> {
  const response = await send(new URL('/v2/enqueue', ORIGINS[region]), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ routing_key, ...event }),
    signal,
    redirect: 'error',
  });
  const text = await readStart(response);
  if (response.status === 202) return { kind: 'sent' };
  const fault = faultOf(text).replaceAll(routing_key, HIDDEN_MARK);
  const reason = `PagerDuty answered ${response.status}${fault && `: ${cleanText(fault, 200)}`}`;
  // A wrong key is answered like a wrong event, but the next event would fare no better.
  const isAboutEvent = response.status === 400 && fault !== '' && !/routing[_ ]key/i.test(fault);
  return isAboutEvent || response.status === 413 ? { kind: 'refused', reason } : failure(response, reason);
}

const errorAnswer = z.looseObject({ message: z.string(), errors: z.array(z.string()).default([]) });

/** Returns what PagerDuty says of the event, and nothing when the answer is not PagerDuty's own. */
function faultOf(text: string): string {
  try {
    const { message, errors } = errorAnswer.parse(JSON.parse(text));
    return [message, ...errors].join('; ');
  } catch {
    return '';
  }
}

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
      pagerDutyIntegrationOf(text) === undefined
        ? 'is not an integration key of 32 characters, nor JSON such as {"routing_key": "...", "region": "eu"}.'
        : undefined,
  },
  create({ PAGERDUTY_SECRET_ID }, { secretOf, fetch, links, clock }) {
    if (PAGERDUTY_SECRET_ID === undefined) return undefined;
    return createPagerDutyChannel({ credentials: secretOf(PAGERDUTY_SECRET_ID), links, clock, fetch });
  },
  guide: {
    bounds: [
      { name: 'Open pages of PagerDuty, after which all join one', value: PAGES_MAX },
      { name: 'Incidents that the open pages remember', value: PAGED_INCIDENTS_MAX },
      {
        name: 'Alerts in one message to PagerDuty',
        value: NOTICES_MAX,
      },
    ],
    sampleOf(message, links) {
      const { events } = pagerDutyEvents(message, [], { links, nowMs: 0 });
      if (events.length === 0) return undefined;
      const text = `${JSON.stringify(events, null, 2)}\n`;
      return { place: 'at PagerDuty', suffix: 'pagerduty.json', text };
    },
  },
});
