/**
 * Sends to a program by HTTP, signed as the specification of Standard Webhooks says. An answer with 2xx is a success.
 */

import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import * as z from 'zod';
import { secretArn } from '../../../shared/config/account-rules.ts';
import { EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import { CLOUD_EVENT_MEDIA_TYPE, type CloudEvent } from '../../../shared/events/render-event.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Message, Notice, Severity } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import { cleanText, ERROR_CHARACTERS_MAX, headlineOfMany } from '../deciding/text.ts';
import type { MessageLimits } from '../deciding/waking.ts';
import { type AlertLinks, meaningOf, operationUrl, titleOf } from '../deciding/wording.ts';
import { defineChannelKind, failure, type Sender, type SendResult, sendInTime } from './channel.ts';

/** The hosts of this machine, to which alerts can go without TLS. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** A key has 24 to 64 bytes in base64 (Standard Webhooks, section "Signature scheme"). */
const signingKey = z.string().regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/);

const receiverSchema = z.strictObject({
  url: z.string().max(2_000).refine(isAddress),
  secret: signingKey,
  /** While a key is replaced, each message has a signature of both, so that the receiver can change at any time. */
  previous_secret: signingKey.optional(),
  /** Without it the body is the payload of Standard Webhooks. */
  format: z.literal('cloudevents').optional(),
});

type Receiver = z.output<typeof receiverSchema>;

/** Returns undefined when the text is no JSON with an address and a key. */
function receiverOf(text: string): Receiver | undefined {
  try {
    return receiverSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Returns whether alerts can be sent to this URL. One with a password is refused, because it would be sent in clear. */
function isAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname));
}

/** A type and data are what the specification of Standard Webhooks asks of a payload (section "Payload structure"). */
export interface WebhookPayload {
  readonly type: 'operations_bridge.alerts';
  /** The newest of the alerts was observed at this time. */
  readonly timestamp?: string;
  readonly data: {
    /** The summary is one line of plain text. */
    readonly summary: string;
    /** The most severe of the alerts has this severity. */
    readonly severity: Severity;
    readonly alerts: readonly WebhookAlert[];
    readonly runbook_url?: string;
  };
}

/** An alert has the fields of its notice, and words for people. A receiver recognises a copy of it by `id`. */
type WebhookAlert = Notice & { readonly title: string; readonly meaning: string; readonly url?: string };

export function webhookPayload(message: Message, links: AlertLinks): WebhookPayload {
  const notices = message.flat();
  const timestamp = notices
    .map(({ observed_at }) => observed_at)
    .toSorted()
    .at(-1);
  return {
    type: 'operations_bridge.alerts',
    ...(timestamp && { timestamp }),
    data: {
      summary: summaryOf(notices),
      severity: worstOf(notices),
      alerts: notices.map((notice) => alertOf(notice, links)),
      ...(links.runbookUrl !== undefined && { runbook_url: links.runbookUrl }),
    },
  };
}

/** Returns the id of the message. The same alerts give the same id, so that the receiver recognises a copy. */
function webhookIdOf(message: Message): string {
  const ids = message.flat().map(({ id }) => id);
  const digest = createHash('sha256').update(JSON.stringify(ids.toSorted())).digest('base64url');
  return `msg_${digest.slice(0, 27)}`;
}

/** Returns what the alert adds to the payload, in bytes. */
function alertBytesOf(notice: Notice, links: AlertLinks): number {
  return Buffer.byteLength(JSON.stringify(alertOf(notice, links))) + 1;
}

function summaryOf(notices: readonly Notice[]): string {
  return headlineOfMany(notices, cleanText);
}

function alertOf(notice: Notice, links: AlertLinks): WebhookAlert {
  const url = operationUrl(notice, links);
  const { id, kind, severity, ...rest } = notice;
  const fields = Object.entries(rest).map(([name, value]) => [
    name,
    typeof value === 'string' ? cleanText(value, ERROR_CHARACTERS_MAX) : value,
  ]);
  return {
    id,
    kind,
    severity,
    title: titleOf(notice),
    meaning: meaningOf(notice),
    ...(url !== undefined && { url }),
    ...(Object.fromEntries(fields) as Omit<Notice, 'id' | 'kind' | 'severity'>),
  };
}

/** A receiver that handles the alerts of a request one by one has half a second for each. */
const WEBHOOK_ALERTS_MAX = 50;

/** Receivers commonly accept 100 kB of JSON. The frame of the payload has room above this. */
const WEBHOOK_BYTES_MAX = 90_000;

/** 5,000 alerts of a storm go out in four minutes. */
export const WEBHOOK_PACE: MessageLimits = {
  messageCountMax: 30,
  perMs: 60_000,
  noticesPerMessageMax: WEBHOOK_ALERTS_MAX,
  sizeMax: WEBHOOK_BYTES_MAX,
};

export interface WebhookOptions {
  /** The secret is JSON such as `{"url": "https://...", "secret": "whsec_..."}`. */
  readonly credentials: { current(): Promise<Secret> };
  readonly links: AlertLinks;
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
}

export function createWebhookChannel(options: WebhookOptions): Sender {
  return {
    pace: { ...WEBHOOK_PACE, sizeOf: (notice) => alertBytesOf(notice, options.links) },
    isGathered: false,
    hearsOfAcknowledgements: true,
    send: (message) =>
      sendInTime(options.clock, async (signal) => {
        const receiver = receiverOf((await options.credentials.current()).reveal());
        if (receiver === undefined)
          return { kind: 'failed', reason: 'the secret is no JSON with url and secret' };
        return post({ ...options, signal }, receiver, message);
      }),
  };
}

interface Call extends WebhookOptions {
  readonly signal: AbortSignal;
}

/** The message itself is at fault. Any other answer is about the receiver, to which the message is sent again. */
const REFUSALS: ReadonlySet<number> = new Set([413, 422]);

async function post(call: Call, receiver: Receiver, message: Message): Promise<SendResult> {
  const { links, clock, signal, fetch: send = fetch } = call;
  const id = webhookIdOf(message);
  const payload = webhookPayload(message, links);
  const isCloudEvent = receiver.format === 'cloudevents';
  const body = JSON.stringify(isCloudEvent ? asCloudEvent(payload, id) : payload);
  const response = await send(receiver.url, {
    method: 'POST',
    headers: {
      'content-type': isCloudEvent ? CLOUD_EVENT_MEDIA_TYPE : 'application/json',
      ...signed(receiver, { id, sentAt: new Date(clock.now()), body }),
    },
    body,
    signal,
    redirect: 'manual',
  });
  await response.body?.cancel();
  if (response.ok) return { kind: 'sent' };
  const reason = `the receiver answered ${response.status}`;
  return REFUSALS.has(response.status) ? { kind: 'refused', reason } : failure(response, reason);
}

function asCloudEvent({ type, timestamp, data }: WebhookPayload, id: string): CloudEvent {
  return {
    specversion: '1.0',
    id,
    source: EVENT_SOURCE,
    type,
    ...(timestamp !== undefined && { time: timestamp }),
    datacontenttype: 'application/json',
    data,
  };
}

/** Returns the headers of Standard Webhooks, with a signature by each key. */
function signed(
  { secret, previous_secret }: Receiver,
  { id, sentAt, body }: { readonly id: string; readonly sentAt: Date; readonly body: string },
): Readonly<Record<string, string>> {
  const keys = previous_secret === undefined ? [secret] : [secret, previous_secret];
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': keys.map((key) => new Webhook(key).sign(id, sentAt, body)).join(' '),
  };
}

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
