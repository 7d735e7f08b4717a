/** Sends to PagerDuty through its Events API v2, which answers 202 to an event that it has taken. */

import * as z from 'zod';
import { incidentOf } from '../../../shared/alerts/alert-items.ts';
import { secretArn } from '../../../shared/config/account-rules.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { HIDDEN_MARK, type Secret } from '../../../shared/runtime/secret.ts';
import type { MessageLimits } from '../deciding/message-plan.ts';
import { cleanText } from '../wording/clean-text.ts';
import type { AlertLinks } from '../wording/wording.ts';
import {
  defineChannelKind,
  failure,
  readStart,
  type Sender,
  type SendResult,
  sendInTime,
} from './channel.ts';
import { isForPagerDuty, type PagerDutyEvent, pagerDutyEvents } from './pagerduty-events.ts';

/** An incident is an alert of its own at PagerDuty, so a message of more of them takes too many requests. */
const INCIDENTS_MAX = 20;

/** Each notice is named in the details of its alert, which then take 250 kB of the 512 KB that PagerDuty accepts. */
const NOTICES_MAX = 250;

/** An integration takes about 120 events a minute. */
export const PAGERDUTY_PACE: MessageLimits = {
  messageCountMax: 5,
  perMs: 60_000,
  noticesPerMessageMax: NOTICES_MAX,
  sizeMax: INCIDENTS_MAX,
  sizeOf: (notice, before) => (before !== undefined && incidentOf(before) === incidentOf(notice) ? 0 : 1),
};

export interface PagerDutyOptions {
  /** The secret is a routing key of 32 characters, or JSON such as `{"routing_key": "...", "region": "eu"}`. */
  readonly credentials: { current(): Promise<Secret> };
  readonly links: AlertLinks;
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
}

export function createPagerDutyChannel(options: PagerDutyOptions): Sender {
  return {
    pace: PAGERDUTY_PACE,
    isGathered: false,
    hearsOfAcknowledgements: true,
    takes: isForPagerDuty,
    send: (message, _thread, operations = new Map()) =>
      sendInTime(options.clock, async (signal) => {
        const integration = integrationOf((await options.credentials.current()).reveal());
        if (integration === undefined) return { kind: 'failed', reason: 'the secret is no routing key' };
        const events = pagerDutyEvents(message, operations, options.links);
        const results: SendResult[] = [];
        await forEachConcurrently(events, REQUESTS_AT_ONCE, async (event) => {
          results.push(await enqueue({ ...options, signal }, integration, event));
        });
        return together(results);
      }),
  };
}

/** Each event is about another alert, so their order does not matter. A message whose answers take 12 s each still ends in time. */
const REQUESTS_AT_ONCE = 30;

/** A failure of the channel is looked at first, because the message is sent again after it. */
function together(results: readonly SendResult[]): SendResult {
  const failed = results.find(({ kind }) => kind === 'failed');
  return failed ?? results.find(({ kind }) => kind === 'refused') ?? { kind: 'sent' };
}

const ORIGINS = { us: 'https://events.pagerduty.com', eu: 'https://events.eu.pagerduty.com' } as const;

const routingKey = z.string().regex(/^[A-Za-z0-9]{32}$/);
const integrationSchema = z.strictObject({
  routing_key: routingKey,
  region: z.enum(['us', 'eu']).default('us'),
});

type Integration = z.output<typeof integrationSchema>;

/** Returns undefined when the text is neither a routing key nor JSON with one. */
function integrationOf(text: string): Integration | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return integrationSchema.safeParse({ routing_key: trimmed }).data;
  try {
    return integrationSchema.safeParse(JSON.parse(trimmed)).data;
  } catch {
    return undefined;
  }
}

interface Call {
  readonly signal: AbortSignal;
  readonly fetch?: typeof fetch;
}

async function enqueue(
  { signal, fetch: send = fetch }: Call,
  { routing_key, region }: Integration,
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
