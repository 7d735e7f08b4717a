/** Runs Slack's webhook, the mail topic, PagerDuty and a receiver of webhooks at their worst, on virtual time, behind the real channels. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Channel, SendResult } from '../../functions/notifier/channels/channel.ts';
import type { ChannelName } from '../../functions/notifier/channels/channels.ts';
import { createMailChannel } from '../../functions/notifier/channels/email.ts';
import { createPagerDutyChannel } from '../../functions/notifier/channels/pagerduty.ts';
import { createSlackChannel } from '../../functions/notifier/channels/slack.ts';
import { createWebhookChannel } from '../../functions/notifier/channels/webhook.ts';
import type { Message } from '../../functions/notifier/deciding/notice.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { createPagerDuty, ROUTING_KEY } from './channels/pagerduty-stand-in.ts';
import { createReceiver, RECEIVER_URL, SIGNING_KEY } from './channels/webhook-stand-in.ts';

/**
 * A channel answers in one of these moods. In some of them people see the message although the answer is late, an
 * error, or missing.
 */
export const MOODS = [
  'ok',
  'slow',
  'accepted late',
  'accepted and closed',
  'bare 400',
  '403',
  '404',
  '410',
  '429',
  '429 with a wait',
  '429 with an absurd wait',
  '500',
  'HTML',
  'redirect',
  'hangs',
] as const;

export type Mood = (typeof MOODS)[number];

/** Each service answers like this when it has taken a message. */
const answers: Record<ChannelName, () => Response> = {
  slack: () => new Response('ok', { status: 200 }),
  email: () => new Response(),
  pagerduty: () => Response.json({ status: 'success' }, { status: 202 }),
  webhook: () => new Response(null, { status: 204 }),
};

export interface Sent {
  readonly channel: string;
  readonly atMs: number;
  readonly message: Message;
  readonly mood: Mood;
  /** When true, people could see the message. */
  isShown: boolean;
  /** When true, the notifier that sent the message was still alive and got the answer that it was sent. */
  isAcknowledged: boolean;
}

const ORIGIN = 'https://hooks.slack.com';
const SNS_TIMEOUT_MS = 10_000;

export function createHostileChannels(clock: Clock, poisonIds: ReadonlySet<string>) {
  const mood: Record<ChannelName, Mood> = { slack: 'ok', email: 'ok', pagerduty: 'ok', webhook: 'ok' };
  const sent: Sent[] = [];
  const recordOf = new WeakMap<SendResult, Sent>();
  const current = new AsyncLocalStorage<Sent>();
  const show = () => {
    const record = current.getStore();
    if (record !== undefined) record.isShown = true;
  };

  const isPoisoned = () => {
    const notices = current.getStore()?.message.flat() ?? [];
    return notices.some(({ id }) => poisonIds.has(id));
  };

  /** Takes the request with `take`, or does to it what the mood says. */
  const inMood = async (
    name: ChannelName,
    init: RequestInit | undefined,
    take: () => Promise<Response>,
  ): Promise<Response> => {
    const signal = init?.signal ?? undefined;
    switch (mood[name]) {
      case 'ok':
        break;
      case 'slow':
        await clock.sleep(4_000, signal);
        break;
      case 'accepted late':
        await take();
        await clock.sleep(12_000, signal);
        return answers[name]();
      case 'accepted and closed':
        await take();
        throw new TypeError('fetch failed');
      case 'bare 400':
        return new Response('<html>Bad Request</html>', { status: 400 });
      case '403':
      case '404':
      case '410':
      case '500':
        return new Response('no_service', { status: Number(mood[name]) });
      case '429':
        return new Response('rate_limited', { status: 429 });
      case '429 with a wait':
        return new Response('', { status: 429, headers: { 'retry-after': '30' } });
      case '429 with an absurd wait':
        return new Response('', { status: 429, headers: { 'retry-after': '86400' } });
      case 'HTML':
        // Standard Webhooks knows no other success than a status, so a receiver that answers 200 has taken the message.
        if (name === 'webhook') break;
        return new Response('<html>ok</html>', { status: 200 });
      case 'redirect':
        throw new TypeError('unexpected redirect');
      case 'hangs':
        await clock.sleep(3_600_000, signal);
    }
    return take();
  };

  const slackWebhook = async (_url: unknown, init?: RequestInit): Promise<Response> => {
    if (isPoisoned()) return new Response('invalid_payload', { status: 400 });
    return inMood('slack', init, async () => {
      show();
      return answers.slack();
    });
  };

  const publish = async (): Promise<void> => {
    if (mood.email === 'ok') return show();
    if (mood.email !== 'hangs') throw Object.assign(new Error('no'), { name: 'ThrottledException' });
    await clock.sleep(SNS_TIMEOUT_MS);
    throw Object.assign(new Error('no answer'), { name: 'TimeoutError' });
  };

  const slack: Channel = {
    name: 'slack',
    ...createSlackChannel({
      credentials: { current: async () => createSecret(`${ORIGIN}/services/T/B/x`) },
      webhookOrigin: ORIGIN,
      links: {},
      clock,
      fetch: slackWebhook,
    }),
  };
  const pagerDuty = createPagerDuty(clock);
  const pager: Channel = {
    name: 'pagerduty',
    ...createPagerDutyChannel({
      credentials: { current: async () => createSecret(ROUTING_KEY) },
      links: {},
      clock,
      fetch: async (url, init) => {
        if (isPoisoned())
          return Response.json({ message: 'Event object is invalid', errors: [] }, { status: 400 });
        return inMood('pagerduty', init, () => pagerDuty.fetch(url, init));
      },
    }),
  };
  const receiver = createReceiver();
  const webhook: Channel = {
    name: 'webhook',
    ...createWebhookChannel({
      credentials: {
        current: async () => createSecret(JSON.stringify({ url: RECEIVER_URL, secret: SIGNING_KEY })),
      },
      links: {},
      clock,
      fetch: async (url, init) => {
        if (isPoisoned()) return new Response('', { status: 422 });
        return inMood('webhook', init, () => receiver.fetch(url, init));
      },
    }),
  };
  const channels: readonly Channel[] = [
    slack,
    { name: 'email', ...createMailChannel(publish, {}) },
    pager,
    webhook,
  ];

  /** Notes that the process which sent the message lived until the answer came. */
  const noteHeard = (result: SendResult) => {
    const record = recordOf.get(result);
    if (record !== undefined) record.isAcknowledged = result.kind === 'sent';
  };
  return { mood, sent, noteHeard, pagerDuty, receiver, channels: channels.map(recorded) };

  function recorded(channel: Channel): Channel {
    return {
      ...channel,
      async send(message, before) {
        const record: Sent = {
          channel: channel.name,
          atMs: clock.now(),
          message,
          mood: mood[channel.name as ChannelName],
          isShown: false,
          isAcknowledged: false,
        };
        sent.push(record);
        const result = await current.run(record, () => channel.send(message, before));
        if (result.kind === 'sent') record.isShown = true;
        recordOf.set(result, record);
        return result;
      },
    };
  }
}
