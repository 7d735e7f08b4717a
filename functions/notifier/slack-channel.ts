/**
 * Slack, by incoming webhook or by bot token, as the secret says. Answers are judged by what Slack documents: of a webhook 200
 * with `ok`, of the Web API `ok: true`, and anything else failed.
 */

import * as z from 'zod';
import type { Thread } from '../../shared/alerts/incident.ts';
import type { ChannelPace, Message } from '../../shared/alerts/message-plan.ts';
import {
  plainSlack,
  renderSlack,
  renderSlackIncident,
  SLACK_NOTICES_MAX,
} from '../../shared/alerts/render-slack.ts';
import type { AlertLinks } from '../../shared/alerts/wording.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Channel, SendResult } from './send-untold.ts';

export interface SlackOptions {
  /** The URL of a webhook, or JSON: `{"token": "xoxb-...", "channel": "C0123456789"}`. */
  readonly credentials: { current(): Promise<Secret> };
  /** A webhook elsewhere is refused: the secret must not be able to send alerts to somebody else. */
  readonly webhookOrigin: string;
  /** Of the Web API; only tests have another. */
  readonly apiOrigin?: string;
  readonly links: AlertLinks;
}

/** Slack takes a message a second; people take fewer. */
const PACE: ChannelPace = { messageCountMax: 5, perMs: 60_000, noticesPerMessageMax: SLACK_NOTICES_MAX };
const TIMEOUT_MS = 10_000;

/** `ok` is short, an answer of the Web API has the message in it; a proxy's page of HTML can be long. */
const ANSWER_BYTES_MAX = 100_000;

const API_ORIGIN = 'https://slack.com';

const botSchema = z.strictObject({ token: z.string().min(10), channel: z.string().min(3).max(80) });
const apiAnswer = z.looseObject({
  ok: z.boolean(),
  error: z.string().optional(),
  ts: z.string().optional(),
  channel: z.string().optional(),
});

/** Errors of `chat.*` that are about the message and not about the channel or the token. */
const MESSAGE_ERRORS: ReadonlySet<string> = new Set([
  'invalid_blocks',
  'invalid_blocks_format',
  'invalid_attachments',
  'msg_too_long',
  'no_text',
  'msg_blocks_too_long',
]);

export function createSlackChannel(options: SlackOptions): Channel {
  return {
    name: 'slack',
    pace: PACE,
    async send(message, thread) {
      try {
        const text = (await options.credentials.current()).reveal().trim();
        const bot = botOf(text);
        if (bot !== undefined) {
          const sent = await sendByBot(options, bot, { message, thread });
          return sent.kind === 'refused' ? resultOf(await post(options, bot, plainSlack(message))) : sent;
        }
        const sent = await sendByWebhook(options, text, renderSlack(message, options.links));
        // The words alone say what has to be said, should the blocks be at fault.
        return sent.kind === 'refused' ? await sendByWebhook(options, text, plainSlack(message)) : sent;
      } catch (error) {
        // The message of a fetch error can hold the URL, and the URL is the secret.
        return { kind: 'failed', reason: toError(error).name };
      }
    },
  };
}

type Bot = z.output<typeof botSchema>;

function botOf(text: string): Bot | undefined {
  if (!text.startsWith('{')) return undefined;
  return botSchema.parse(JSON.parse(text));
}

async function sendByWebhook(
  { webhookOrigin }: SlackOptions,
  text: string,
  body: object,
): Promise<SendResult> {
  const url = URL.parse(text);
  if (url?.origin !== new URL(webhookOrigin).origin) {
    return { kind: 'failed', reason: `the webhook's URL is not at ${webhookOrigin}` };
  }
  const response = await request(url, body, {});
  const answer = await readStart(response);
  if (response.status === 200 && answer.trim() === 'ok') return { kind: 'sent' };
  if (response.status === 400) return { kind: 'refused', reason: 'Slack answered 400' };
  return failure(response, `Slack answered ${response.status}`);
}

/** One message per incident, edited as it grows; what is new goes into its thread, and so does the end. */
async function sendByBot(
  options: SlackOptions,
  bot: Bot,
  { message, thread }: { readonly message: Message; readonly thread: Thread | undefined },
): Promise<SendResult> {
  const rendered = renderSlack(message, options.links);
  const [notices = []] = message;
  const [first] = notices;
  const latest = notices.at(-1);
  // A storm's message is about many incidents and belongs to none.
  if (message.length !== 1 || first === undefined || latest === undefined)
    return resultOf(await post(options, bot, rendered));
  const isOver = latest.kind === 'recovered';
  if (thread === undefined || thread.isOver) {
    const posted = await post(options, bot, rendered);
    if (posted.kind !== 'posted') return posted;
    const { channel, ts } = posted;
    return { kind: 'sent', thread: { channel, ts, first, toldCount: notices.length, isOver } };
  }
  const replied = await post(options, bot, { ...rendered, thread_ts: thread.ts });
  if (replied.kind !== 'posted') return replied;
  const grown = { ...thread, toldCount: thread.toldCount + notices.length, isOver };
  const head = renderSlackIncident(grown, latest, options.links);
  // The reply has told it; that the head could not be changed only makes it look older.
  await call(options, bot, 'chat.update', { channel: thread.channel, ts: thread.ts, ...head }).catch(
    () => undefined,
  );
  return { kind: 'sent', thread: grown };
}

type Posted =
  | Exclude<SendResult, { kind: 'sent' }>
  | { readonly kind: 'posted'; readonly channel: string; readonly ts: string };

async function post(options: SlackOptions, bot: Bot, body: object): Promise<Posted> {
  const { response, answer } = await call(options, bot, 'chat.postMessage', {
    channel: bot.channel,
    ...body,
  });
  if (answer?.ok === true && answer.ts !== undefined) {
    return { kind: 'posted', channel: answer.channel ?? bot.channel, ts: answer.ts };
  }
  const error = answer?.error ?? String(response.status);
  if (MESSAGE_ERRORS.has(error)) return { kind: 'refused', reason: `Slack answered ${error}` };
  return failure(response, `Slack answered ${error}`);
}

function resultOf(posted: Posted): SendResult {
  return posted.kind === 'posted' ? { kind: 'sent' } : posted;
}

async function call({ apiOrigin = API_ORIGIN }: SlackOptions, { token }: Bot, method: string, body: object) {
  const url = new URL(`/api/${method}`, apiOrigin);
  const response = await request(url, body, { authorization: `Bearer ${token}` });
  const text = await readStart(response);
  const answer = text.startsWith('{') ? apiAnswer.safeParse(JSON.parse(text)).data : undefined;
  return { response, answer };
}

function request(url: URL, body: object, headers: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
    redirect: 'error',
  });
}

function failure(response: Response, reason: string): Exclude<SendResult, { kind: 'sent' }> {
  const seconds = Number(response.headers.get('retry-after') ?? 'none');
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  return { kind: 'failed', reason, retryAfterMs };
}

async function readStart(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk as Uint8Array);
    sizeBytes += (chunk as Uint8Array).length;
    if (sizeBytes > ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).toString();
}
