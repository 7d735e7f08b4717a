/** Runs Slack's webhook and the mail topic at their worst, on virtual time, behind the real channels. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Channel, SendResult } from '../../functions/notifier/channels/kind/channel.ts';
import { createMailChannel } from '../../functions/notifier/channels/mail/email.ts';
import { createSlackChannel } from '../../functions/notifier/channels/slack/slack-channel.ts';
import type { Message } from '../../functions/notifier/deciding/message-plan.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createSecret } from '../../shared/runtime/secret.ts';

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
  const mood: Record<'slack' | 'email', Mood> = { slack: 'ok', email: 'ok' };
  const sent: Sent[] = [];
  const recordOf = new WeakMap<SendResult, Sent>();
  const current = new AsyncLocalStorage<Sent>();
  const show = () => {
    const record = current.getStore();
    if (record !== undefined) record.isShown = true;
  };

  const webhook = async (_url: unknown, init?: RequestInit): Promise<Response> => {
    const signal = init?.signal ?? undefined;
    const notices = current.getStore()?.message.flat() ?? [];
    if (notices.some(({ id }) => poisonIds.has(id))) return new Response('invalid_payload', { status: 400 });
    switch (mood.slack) {
      case 'ok':
        break;
      case 'slow':
        await clock.sleep(4_000, signal);
        break;
      case 'accepted late':
        show();
        await clock.sleep(12_000, signal);
        break;
      case 'accepted and closed':
        show();
        throw new TypeError('fetch failed');
      case 'bare 400':
        return new Response('<html>Bad Request</html>', { status: 400 });
      case '403':
      case '404':
      case '410':
      case '500':
        return new Response('no_service', { status: Number(mood.slack) });
      case '429':
        return new Response('rate_limited', { status: 429 });
      case '429 with a wait':
        return new Response('', { status: 429, headers: { 'retry-after': '30' } });
      case '429 with an absurd wait':
        return new Response('', { status: 429, headers: { 'retry-after': '86400' } });
      case 'HTML':
        return new Response('<html>ok</html>', { status: 200 });
      case 'redirect':
        throw new TypeError('unexpected redirect');
      case 'hangs':
        await clock.sleep(3_600_000, signal);
    }
    show();
    return new Response('ok', { status: 200 });
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
      fetch: webhook,
    }),
  };
  const channels: readonly Channel[] = [slack, { name: 'email', ...createMailChannel(publish, {}) }];

  /** Notes that the process which sent the message lived until the answer came. */
  const noteHeard = (result: SendResult) => {
    const record = recordOf.get(result);
    if (record !== undefined) record.isAcknowledged = result.kind === 'sent';
  };
  return { mood, sent, noteHeard, channels: channels.map(recorded) };

  function recorded(channel: Channel): Channel {
    return {
      ...channel,
      async send(message, thread, operations) {
        const record: Sent = {
          channel: channel.name,
          atMs: clock.now(),
          message,
          mood: mood[channel.name === 'slack' ? 'slack' : 'email'],
          isShown: false,
          isAcknowledged: false,
        };
        sent.push(record);
        const result = await current.run(record, () => channel.send(message, thread, operations));
        recordOf.set(result, record);
        return result;
      },
    };
  }
}
