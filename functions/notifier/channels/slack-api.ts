/** Calls Slack: the two methods of the Web API that a bot needs, and the incoming webhook. */

import * as z from 'zod';
import type { SlackBot } from '../../../shared/alerts/channel-apps.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { AlertLinks } from '../deciding/wording.ts';
import { failure, readStart, type SendResult } from './channel.ts';

export interface SlackOptions {
  /** The secret is the URL of a webhook, or JSON such as `{"token": "xoxb-...", "channel": "C0123456789"}`. */
  readonly credentials: { current(): Promise<Secret> };
  /** A webhook at another origin is refused, so that a changed secret cannot send alerts to another party. */
  readonly webhookOrigin: string;
  /** The Web API is at this origin. Only tests have another one. */
  readonly apiOrigin?: string;
  readonly links: AlertLinks;
  readonly clock?: Clock;
  readonly fetch?: typeof fetch;
}

export interface Call extends SlackOptions {
  readonly signal: AbortSignal;
}

/** These errors are about the message, and not about the channel, the token, or a proxy before Slack. */
const MESSAGE_ERRORS: ReadonlySet<string> = new Set([
  'invalid_payload',
  'invalid_blocks',
  'invalid_blocks_format',
  'invalid_attachments',
  'msg_too_long',
  'no_text',
  'msg_blocks_too_long',
]);

/** After these errors the message can never be edited: a person has deleted it, or the team does not let bots edit so late. */
const EDIT_ERRORS: ReadonlySet<string> = new Set([
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
]);

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

const API_ORIGIN = 'https://slack.com';

const ANSWERED = 'Slack answered ';

const apiAnswer = z.looseObject({
  ok: z.boolean(),
  error: z.string().optional(),
  ts: z.string().optional(),
  channel: z.string().optional(),
});

export type Posted =
  | Exclude<SendResult, { kind: 'sent' }>
  | { readonly kind: 'posted'; readonly channel: string; readonly ts: string; readonly isJoined?: true };

export async function post(call: Call, bot: SlackBot, message: object): Promise<Posted> {
  const body = { channel: bot.channel, ...message };
  const { response, answer } = await ask(call, bot, { method: 'chat.postMessage', body });
  if (answer?.ok === true && answer.ts !== undefined) {
    return { kind: 'posted', channel: answer.channel ?? bot.channel, ts: answer.ts };
  }
  const error = answer?.error ?? String(response.status);
  if (MESSAGE_ERRORS.has(error)) return { kind: 'refused', reason: `${ANSWERED}${error}` };
  return failure(response, `${ANSWERED}${error}`);
}

/** Replaces a message that the bot has posted. Nobody is notified of that. */
export async function update(
  call: Call,
  bot: SlackBot,
  message: { readonly channel: string; readonly ts: string },
): Promise<SendResult> {
  const { response, answer } = await ask(call, bot, { method: 'chat.update', body: message });
  if (answer?.ok === true) return { kind: 'sent' };
  const error = answer?.error ?? String(response.status);
  const isFinal = MESSAGE_ERRORS.has(error) || EDIT_ERRORS.has(error);
  return isFinal
    ? { kind: 'refused', reason: `${ANSWERED}${error}` }
    : failure(response, `${ANSWERED}${error}`);
}

/** Slack takes no reply to such a message: somebody has deleted it, or its kind has no thread. */
const THREAD_ERRORS: ReadonlySet<string> = new Set([
  'cannot_reply_to_message',
  'message_not_found',
  'thread_not_found',
]);

/** Adds a message to the thread of another one. Where that one takes no replies, the message stands alone and notifies people. */
export async function reply(call: Call, bot: SlackBot, message: object, thread_ts: string): Promise<Posted> {
  const replied = await post(call, bot, { ...message, thread_ts });
  if (replied.kind === 'posted') return { ...replied, isJoined: true };
  if (replied.kind !== 'failed' || !THREAD_ERRORS.has(replied.reason.replace(ANSWERED, ''))) return replied;
  const { reply_broadcast: _none, ...alone } = message as { readonly reply_broadcast?: true };
  return post(call, bot, alone);
}

async function ask(
  call: Call,
  { token }: SlackBot,
  { method, body }: { readonly method: string; readonly body: object },
) {
  const url = new URL(`/api/${method}`, call.apiOrigin ?? API_ORIGIN);
  const response = await request(call, url, { body, headers: { authorization: `Bearer ${token}` } });
  const text = await readStart(response);
  const answer = text.startsWith('{') ? apiAnswer.safeParse(JSON.parse(text)).data : undefined;
  return { response, answer };
}

/**
 * Decides whether a refusal is final. Slack names its reason when the message is at fault. A 400 without a reason may
 * come from a proxy on the way, so that message is tried again.
 */
function judged(result: SendResult): SendResult {
  if (result.kind !== 'refused' || MESSAGE_ERRORS.has(result.reason)) return withStatus(result);
  return { kind: 'failed', reason: 'Slack answered 400' };
}

function withStatus(result: SendResult): SendResult {
  return result.kind === 'refused' ? { ...result, reason: 'Slack answered 400' } : result;
}

/** If the blocks are at fault, the plain text still has everything that people must know. */
export async function sendByWebhook(
  call: Call,
  url: string,
  { rendered, plain }: { readonly rendered: object; readonly plain: object },
): Promise<SendResult> {
  const result = await postToWebhook(call, url, rendered);
  return result.kind === 'refused' ? judged(await postToWebhook(call, url, plain)) : result;
}

/** Resolves to `refused` for a 400, with the code that the answer names as its reason. */
async function postToWebhook(call: Call, text: string, body: object): Promise<SendResult> {
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
