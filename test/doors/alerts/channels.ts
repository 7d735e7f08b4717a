/**
 * Stands for the four services that people are alerted through, and writes down each request. A script decides how a
 * service answers: it works, fails, is slow, hangs, loses its answer, or refuses what names a certain operation.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { createPagerDuty, type PagerDutyRequest } from '../../notifier/channels/pagerduty-stand-in.ts';
import { createReceiver, RECEIVER_URL } from '../../notifier/channels/webhook-stand-in.ts';
import { createSlack, type SlackDone } from './slack-stand-in.ts';

export const CHANNELS = ['slack', 'email', 'pagerduty', 'webhook'] as const;

export type ChannelName = (typeof CHANNELS)[number];

export type Mood =
  | { readonly kind: 'works' }
  /** It answers with an error to this many requests, and then works. Without `times` it goes on failing. */
  | {
      readonly kind: 'fails';
      readonly status: number;
      readonly retryAfter?: string;
      readonly times?: number;
    }
  | { readonly kind: 'slow'; readonly seconds: number }
  | { readonly kind: 'hangs' }
  /** It takes this many requests and closes the connection before it answers, and then works. */
  | { readonly kind: 'loses answers'; readonly times: number }
  /** It refuses each request in whose text this stands, or only those of them that have blocks. */
  | { readonly kind: 'refuses'; readonly naming: string; readonly onlyBlocks?: boolean };

interface WebhookBody {
  readonly data: {
    readonly summary: string;
    readonly severity: string;
    readonly alerts: readonly Readonly<Record<string, unknown>>[];
  };
}

export interface Mail {
  readonly subject: string;
  readonly body: string;
}

/** One request to a service. */
export interface Send {
  readonly channel: ChannelName;
  readonly atMs: number;
  /** Whether people, or their program, have got it. */
  readonly isTaken: boolean;
  /** What came back when it was not an ordinary success. */
  readonly trouble?: string;
  /** When true, the script asked for the trouble. */
  readonly byMood?: boolean;
  readonly slack?: Omit<SlackDone, 'response'>;
  readonly mail?: Mail;
  readonly pager?: PagerDutyRequest & { readonly isOpen: boolean };
  readonly webhook?: WebhookBody & { readonly isCopy: boolean };
}

/** The SDK gives up on a topic that does not answer after this time, as the notifier asks it to. */
const TOPIC_TIMEOUT_MS = 10_000;

const HOUR_MS = 3_600_000;

export function createChannels(clock: Clock) {
  const moods: Record<ChannelName, Mood> = {
    slack: { kind: 'works' },
    email: { kind: 'works' },
    pagerduty: { kind: 'works' },
    webhook: { kind: 'works' },
  };
  const sends: Send[] = [];
  const slack = createSlack();
  const pagerDuty = createPagerDuty(clock);
  const receiver = createReceiver();

  const note = (send: Omit<Send, 'atMs'>) => void sends.push({ atMs: clock.now(), ...send });

  /** Makes the mood's next answer one fewer. */
  const countDown = (channel: ChannelName, mood: { readonly times?: number }) => {
    if (mood.times === undefined) return;
    moods[channel] = mood.times > 1 ? ({ ...mood, times: mood.times - 1 } as Mood) : { kind: 'works' };
  };

  const answerOf = async (
    channel: ChannelName,
    { text, signal }: { readonly text: string; readonly signal: AbortSignal | undefined },
    parts: {
      readonly take: (trouble?: string) => Promise<Response>;
      readonly untaken: (trouble: string) => void;
      readonly refusal: () => Response;
    },
  ): Promise<Response> => {
    const mood = moods[channel];
    switch (mood.kind) {
      case 'works':
        return parts.take();
      case 'slow':
        await clock.sleep(mood.seconds * 1_000, signal);
        return parts.take();
      case 'hangs':
        parts.untaken('no answer');
        await clock.sleep(HOUR_MS, signal);
        throw new TypeError('fetch failed');
      case 'loses answers':
        countDown(channel, mood);
        await parts.take('the answer is lost');
        throw new TypeError('fetch failed');
      case 'fails': {
        countDown(channel, mood);
        const { status, retryAfter } = mood;
        parts.untaken(`answers ${status}${retryAfter === undefined ? '' : `, Retry-After ${retryAfter}`}`);
        return new Response('', { status, headers: retryAfter ? { 'retry-after': retryAfter } : {} });
      }
      case 'refuses':
        if (!text.includes(mood.naming) || (mood.onlyBlocks && !text.includes('"blocks"')))
          return parts.take();
        parts.untaken('refuses the message');
        return parts.refusal();
    }
  };

  const toSlack = (url: URL, init: RequestInit | undefined): Promise<Response> => {
    const isBot = url.origin === 'https://slack.com';
    const body = JSON.parse(init?.body as string) as SlackDone['body'];
    const call = url.pathname.endsWith('chat.update') ? 'edit' : 'post';
    return answerOf(
      'slack',
      { text: init?.body as string, signal: init?.signal ?? undefined },
      {
        take: async (trouble) => {
          const { response, ...done } = slack.take(url, init);
          const fault = trouble ?? done.fault;
          note({
            channel: 'slack',
            isTaken: done.fault === undefined,
            slack: done,
            ...(fault !== undefined && { trouble: fault }),
          });
          return response;
        },
        untaken: (trouble) =>
          note({ channel: 'slack', isTaken: false, byMood: true, trouble, slack: { call, body } }),
        refusal: () =>
          isBot
            ? Response.json({ ok: false, error: 'invalid_blocks' })
            : new Response('invalid_blocks', { status: 400 }),
      },
    );
  };

  const toPagerDuty = (url: URL, init: RequestInit | undefined): Promise<Response> => {
    const event = JSON.parse(init?.body as string) as PagerDutyRequest;
    const isOpen = () => pagerDuty.openAlerts().some(({ key }) => key === event.dedup_key);
    return answerOf(
      'pagerduty',
      { text: init?.body as string, signal: init?.signal ?? undefined },
      {
        take: async (trouble) => {
          const pager = { ...event, isOpen: isOpen() };
          const response = await pagerDuty.fetch(url, init);
          const isTaken = response.status === 202;
          const fault = trouble ?? (isTaken ? undefined : `answers ${response.status}`);
          note({ channel: 'pagerduty', isTaken, pager, ...(fault !== undefined && { trouble: fault }) });
          return response;
        },
        untaken: (trouble) =>
          note({
            channel: 'pagerduty',
            isTaken: false,
            byMood: true,
            trouble,
            pager: { ...event, isOpen: isOpen() },
          }),
        refusal: () => Response.json({ message: 'Event object is invalid', errors: [] }, { status: 400 }),
      },
    );
  };

  const toReceiver = (url: URL, init: RequestInit | undefined): Promise<Response> => {
    const body = JSON.parse(init?.body as string) as WebhookBody;
    return answerOf(
      'webhook',
      { text: init?.body as string, signal: init?.signal ?? undefined },
      {
        take: async (trouble) => {
          const copiesBefore = receiver.copies.length;
          const response = await receiver.fetch(url, init);
          const isTaken = response.ok;
          const fault = trouble ?? (isTaken ? undefined : `answers ${response.status}`);
          const isCopy = receiver.copies.length > copiesBefore;
          const webhook = { ...body, isCopy };
          note({ channel: 'webhook', isTaken, webhook, ...(fault !== undefined && { trouble: fault }) });
          return response;
        },
        untaken: (trouble) =>
          note({
            channel: 'webhook',
            isTaken: false,
            byMood: true,
            trouble,
            webhook: { ...body, isCopy: false },
          }),
        refusal: () => new Response('', { status: 422 }),
      },
    );
  };

  return {
    sends,
    slack,
    pagerDuty,
    is(channel: ChannelName, mood: Mood): void {
      moods[channel] = mood;
    },
    fetch: (url: URL, init?: RequestInit): Promise<Response> => {
      if (url.host === 'events.pagerduty.com') return toPagerDuty(url, init);
      if (url.href === RECEIVER_URL) return toReceiver(url, init);
      if (url.host === 'hooks.slack.com' || url.host === 'slack.com') return toSlack(url, init);
      throw new Error(`No service of these tests is at ${url.host}`);
    },
    /** Publishes to the topic, or refuses the mail as SNS does (API Reference, "Publish"). */
    async publish(mail: Mail): Promise<void> {
      const mood = moods.email;
      const untaken = (trouble: string, byMood = true) =>
        note({ channel: 'email', isTaken: false, byMood, trouble, mail });
      const fail = (name: string, byMood = true) => {
        untaken(`answers ${name}`, byMood);
        return Object.assign(new Error(name), { name });
      };
      const take = (trouble?: string) =>
        note({ channel: 'email', isTaken: true, mail, ...(trouble !== undefined && { trouble }) });
      const isFine =
        /^[A-Za-z0-9][\x20-\x7e]{0,98}$/.test(mail.subject) &&
        mail.body !== '' &&
        Buffer.byteLength(mail.body) <= 262_144;
      if (!isFine) throw fail('InvalidParameterException', false);
      if (mood.kind === 'fails') {
        countDown('email', mood);
        throw fail(mood.status === 429 ? 'ThrottledException' : 'InternalErrorException');
      }
      if (mood.kind === 'hangs') {
        untaken('no answer');
        await clock.sleep(TOPIC_TIMEOUT_MS);
        throw Object.assign(new Error('no answer'), { name: 'TimeoutError' });
      }
      if (mood.kind === 'refuses' && mail.body.includes(mood.naming)) throw fail('InvalidParameterException');
      if (mood.kind === 'slow') await clock.sleep(mood.seconds * 1_000);
      if (mood.kind !== 'loses answers') return take();
      countDown('email', mood);
      take('the answer is lost');
      throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError' });
    },
  };
}
