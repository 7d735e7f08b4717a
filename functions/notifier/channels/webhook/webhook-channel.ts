/** Sends to a program by HTTP, signed as the specification of Standard Webhooks says. An answer with 2xx is a success. */

import { Webhook } from 'standardwebhooks';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { Message, MessageLimits } from '../../deciding/messages/message-plan.ts';
import type { AlertLinks } from '../../wording/wording.ts';
import { failure } from '../http/answer.ts';
import { sendInTime } from '../http/send-in-time.ts';
import type { Sender, SendResult } from '../kind/channel.ts';
import { alertBytesOf, webhookIdOf, webhookPayload } from './webhook-payload.ts';
import { type Receiver, receiverOf } from './webhook-receiver.ts';

/** A receiver that handles the alerts of a request one by one has half a second for each. */
export const WEBHOOK_ALERTS_MAX = 50;

/** Receivers commonly accept 100 kB of JSON. The frame of the payload has room above this. */
export const WEBHOOK_BYTES_MAX = 90_000;

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
  const body = JSON.stringify(webhookPayload(message, links));
  const response = await send(receiver.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...signed(receiver, { id: webhookIdOf(message), sentAt: new Date(clock.now()), body }),
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
