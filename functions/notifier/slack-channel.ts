/**
 * Slack, by incoming webhook or by bot token, as the secret says. Answers are judged by what Slack documents: of a webhook 200
 * with `ok`, of the Web API `ok: true`, and anything else failed.
 */

import * as z from 'zod';
import type { Thread } from '../../shared/alerts/incident.ts';
import type { Message, MessageLimits } from '../../shared/alerts/message-plan.ts';
import type { Notice } from '../../shared/alerts/notice.ts';
import { noteOperations, type Operations, standingOf } from '../../shared/alerts/operation-standing.ts';
import {
  plainSlack,
  renderSlack,
  renderSlackIncident,
  SLACK_CHARACTERS_MAX,
  SLACK_NOTICES_MAX,
  slackCharactersOf,
} from '../../shared/alerts/render-slack.ts';
import type { AlertLinks } from '../../shared/alerts/wording.ts';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Channel, SendResult } from './channel.ts';

export interface SlackOptions {
  /** The URL of a webhook, or JSON: `{"token": "xoxb-...", "channel": "C0123456789"}`. */
  readonly credentials: { current(): Promise<Secret> };
  /** A webhook elsewhere is refused: the secret must not be able to send alerts to somebody else. */
  readonly webhookOrigin: string;
  /** Of the Web API; only tests have another. */
  readonly apiOrigin?: string;
  readonly links: AlertLinks;
  readonly clock?: Clock;
  readonly fetch?: typeof fetch;
}

/** Slack takes a message a second; people take fewer. */
export const SLACK_PACE: MessageLimits = {
  messageCountMax: 5,
  perMs: 60_000,
  noticesPerMessageMax: SLACK_NOTICES_MAX,
  sizeMax: SLACK_CHARACTERS_MAX,
  sizeOf: slackCharactersOf,
};

/** For everything that one message takes. An answer that came after 12 s was seen, and a message without one is repeated. */
const TIMEOUT_MS = 25_000;

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

/** Errors that are about the message and not about the channel, the token, or a proxy before Slack. */
const MESSAGE_ERRORS: ReadonlySet<string> = new Set([
  'invalid_payload',
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
    pace: SLACK_PACE,
    async send(message, thread, operations) {
      const patience = new AbortController();
      const ended = new AbortController();
      const { clock = systemClock } = options;
      clock.sleep(TIMEOUT_MS, ended.signal).then(
        () => patience.abort(new DOMException('No answer came in time', 'TimeoutError')),
        () => {},
      );
      try {
        const call: Call = { ...options, signal: patience.signal };
        return await sendWithin(call, { message, thread, operations });
      } catch (error) {
        // The message of a fetch error can hold the URL, and the URL is the secret.
        return { kind: 'failed', reason: toError(error).name, isUncertain: true };
      } finally {
        ended.abort();
      }
    },
  };
}

interface Call extends SlackOptions {
  readonly signal: AbortSignal;
}

interface Sent {
  readonly message: Message;
  readonly thread: Thread | undefined;
  readonly operations: Operations | undefined;
}

async function sendWithin(call: Call, sent: Sent): Promise<SendResult> {
  const { message } = sent;
  const text = (await call.credentials.current()).reveal().trim();
  const bot = botOf(text);
  const plain = plainSlack(message);
  if (bot !== undefined) {
    const result = await sendByBot(call, bot, sent);
    return result.kind === 'refused' ? resultOf(await post(call, bot, plain)) : result;
  }
  const result = await sendByWebhook(call, text, renderSlack(message, call.links));
  // The words alone say what has to be said, should the blocks be at fault.
  return result.kind === 'refused' ? judged(await sendByWebhook(call, text, plain)) : result;
}

/** Slack names its reason when the message is at fault. A bare 400 can come from anything on the way, and is tried again. */
function judged(result: SendResult): SendResult {
  if (result.kind !== 'refused' || MESSAGE_ERRORS.has(result.reason)) return withStatus(result);
  return { kind: 'failed', reason: 'Slack answered 400' };
}

function withStatus(result: SendResult): SendResult {
  return result.kind === 'refused' ? { ...result, reason: 'Slack answered 400' } : result;
}

type Bot = z.output<typeof botSchema>;

function botOf(text: string): Bot | undefined {
  if (!text.startsWith('{')) return undefined;
  return botSchema.parse(JSON.parse(text));
}

/** `refused`: a 400, with the code that the answer names. */
async function sendByWebhook(call: Call, text: string, body: object): Promise<SendResult> {
  const { webhookOrigin } = call;
  const url = URL.parse(text);
  if (url?.origin !== new URL(webhookOrigin).origin) {
    return { kind: 'failed', reason: `the webhook's URL is not at ${webhookOrigin}` };
  }
  const response = await request(call, url, { body, headers: {} });
  const answer = (await readStart(response)).trim();
  if (response.status === 200 && answer === 'ok') return { kind: 'sent' };
  if (response.status === 400) return { kind: 'refused', reason: answer };
  return failure(response, `Slack answered ${response.status}`);
}

/** One message per incident, edited as it grows; what is new goes into its thread, and so does the end. */
async function sendByBot(call: Call, bot: Bot, { message, thread, operations }: Sent): Promise<SendResult> {
  const rendered = renderSlack(message, call.links);
  const notices = message.flat().toSorted(byTime);
  const [first] = notices;
  const latest = notices.at(-1);
  // A storm's message is about many incidents and belongs to none.
  if (message.length !== 1 || first === undefined || latest === undefined)
    return resultOf(await post(call, bot, rendered));
  if (thread === undefined || thread.isOver) {
    const posted = await post(call, bot, rendered);
    if (posted.kind !== 'posted') return posted;
    const { channel, ts } = posted;
    const isOver = standingOf(noteOperations(operations ?? {}, notices)) !== 'failing';
    return { kind: 'sent', thread: { channel, ts, first, toldCount: notices.length, isOver } };
  }
  const replied = await post(call, bot, { ...rendered, thread_ts: thread.ts });
  if (replied.kind !== 'posted') return replied;
  const standing = standingNow(operations ?? noteOperations({}, [thread.first]), { thread, notices });
  const grown = { ...thread, toldCount: thread.toldCount + notices.length, isOver: standing !== 'failing' };
  const head = renderSlackIncident(grown, { standing, latest }, call.links);
  // The reply has reported it; that the head could not be changed only makes it look older.
  await ask(call, bot, {
    method: 'chat.update',
    body: { channel: thread.channel, ts: thread.ts, ...head },
  }).catch(() => undefined);
  return { kind: 'sent', thread: grown };
}

/** What had ended without success before this message began is not its business. */
function standingNow(
  operations: Operations,
  { thread, notices }: { readonly thread: Thread; readonly notices: readonly Notice[] },
): 'failing' | 'given_up' | 'recovered' {
  const own = Object.entries(noteOperations(operations, notices)).filter(
    ([, { state, observed_at }]) => state === 'failing' || observed_at >= thread.first.observed_at,
  );
  const standing = standingOf(Object.fromEntries(own));
  return standing === 'unknown' ? 'failing' : standing;
}

function byTime(a: Notice, b: Notice): number {
  return a.observed_at < b.observed_at ? -1 : Number(a.observed_at > b.observed_at);
}

type Posted =
  | Exclude<SendResult, { kind: 'sent' }>
  | { readonly kind: 'posted'; readonly channel: string; readonly ts: string };

async function post(call: Call, bot: Bot, message: object): Promise<Posted> {
  const body = { channel: bot.channel, ...message };
  const { response, answer } = await ask(call, bot, { method: 'chat.postMessage', body });
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

async function ask(
  call: Call,
  { token }: Bot,
  { method, body }: { readonly method: string; readonly body: object },
) {
  const url = new URL(`/api/${method}`, call.apiOrigin ?? API_ORIGIN);
  const response = await request(call, url, { body, headers: { authorization: `Bearer ${token}` } });
  const text = await readStart(response);
  const answer = text.startsWith('{') ? apiAnswer.safeParse(JSON.parse(text)).data : undefined;
  return { response, answer };
}

function request(
  { signal, fetch: send = fetch }: Call,
  url: URL,
  { body, headers }: { readonly body: object; readonly headers: Readonly<Record<string, string>> },
): Promise<Response> {
  return send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
    signal,
    redirect: 'error',
  });
}

function failure(response: Response, reason: string): Exclude<SendResult, { kind: 'sent' }> {
  return { kind: 'failed', reason, retryAfterMs: retryAfterMs(response.headers.get('retry-after')) };
}

/** Whole seconds, as Slack gives them; whatever else stands there counts for nothing. */
function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? 'none');
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
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
