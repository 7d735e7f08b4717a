/**
 * Sends to Slack by incoming webhook or by bot token; the secret says which. By bot token there is one message for
 * each incident, which is edited in place.
 */

import * as z from 'zod';
import { incidentOf } from '../../../shared/alerts/alert-items.ts';
import { isOngoing, type Operations } from '../../../shared/alerts/incidents.ts';
import { type SlackBot, slackBotOf } from '../../../shared/alerts/slack-app.ts';
import { secretArn } from '../../../shared/config/account-rules.ts';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { slackCode, VALUE_CHARACTERS_MAX } from '../deciding/clean-text.ts';
import type { Thread } from '../deciding/incident.ts';
import { noteOperations, standingOf } from '../deciding/incident-record.ts';
import type { Message, MessageLimits } from '../deciding/message-plan.ts';
import type { Notice } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import { type AlertLinks, counted } from '../deciding/wording.ts';
import {
  type Before,
  defineChannelKind,
  failure,
  type LastRing,
  readStart,
  type Sender,
  type SendResult,
  sendInTime,
} from './channel.ts';
import { renderSlackIncident, standingIn } from './slack-incident.ts';
import {
  buttonsFor,
  plainSlack,
  renderSlack,
  SLACK_CHARACTERS_MAX,
  SLACK_NOTICES_MAX,
  type SlackMessage,
  section,
} from './slack-message.ts';

interface SlackOptions {
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

interface Call extends SlackOptions {
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

const apiAnswer = z.looseObject({
  ok: z.boolean(),
  error: z.string().optional(),
  ts: z.string().optional(),
  channel: z.string().optional(),
});

interface Sent extends Before {
  readonly message: Message;
}

/**
 * Keeps one message per incident and edits it as the incident grows. New notices go into its thread, and so does the
 * end. A message of many incidents is kept, too: what follows of them goes into its thread. What became critical rings there, and what comes soon after a ring joins the thread of the message that rang.
 */
async function sendByBot(
  call: Call,
  bot: SlackBot,
  { message, thread, operations: byIncident, last }: Sent,
): Promise<SendResult> {
  const buttons = buttonsFor(bot, call.links);
  const notices = message.flat().toSorted(byTime);
  const [first] = notices;
  const latest = notices.at(-1);
  if (first === undefined || latest === undefined) return { kind: 'sent' };
  const operations = byIncident?.get(incidentOf(first));
  if (thread === undefined || thread.isOver) {
    const posted = await postOrJoin(call, bot, renderSlack(message, call.links, buttons), last);
    if (posted.kind !== 'posted' || posted.isJoined) return resultOf(posted);
    const { channel, ts } = posted;
    const isOfMany = message.length > 1;
    const goesOn =
      latest.kind === 'approval_wanted' || isOngoing(standingOf(noteOperations(operations ?? {}, notices)));
    const isOver = !isOfMany && !goesOn;
    const kept = { channel, ts, first, latest, toldCount: notices.length, isOver };
    return { kind: 'sent', thread: isOfMany ? { ...kept, is_of_many: true } : kept, ring: { channel, ts } };
  }
  const isWorse = worstOf(notices) === 'critical';
  const isBroadcast = isWorse && last?.isFresh !== true;
  const rendered = renderSlack(message, call.links);
  const told = isBroadcast ? withSilent(rendered, last) : rendered;
  const broadcast = isBroadcast ? { reply_broadcast: true } : {};
  const replied = await reply(call, bot, { ...told, ...broadcast }, thread.ts);
  if (replied.kind !== 'posted') return replied;
  const after = noteOperations(operations ?? noteOperations({}, [thread.first]), notices);
  // A message that takes no replies any more is replaced by the one that stands alone now.
  const { channel, ts } = replied.isJoined ? thread : replied;
  const grown = {
    ...thread,
    channel,
    ts,
    latest,
    has_replies: true,
    toldCount: thread.toldCount + notices.length,
    isOver: latest.kind === 'approval_ended' || !isOngoing(standingIn(thread, after)),
  };
  // The reply has reported the notices. If the head cannot be edited, it only looks out of date.
  if (!thread.is_of_many)
    await editHead(call, bot, { thread: grown, operations: after }).catch(() => undefined);
  const hasRung = isBroadcast || !replied.isJoined;
  const ring = hasRung ? { channel, ts } : isWorse ? 'joined' : undefined;
  return { kind: 'sent', thread: grown, ring };
}

/** Notifies people of what has joined the thread of a message silently. */
async function ringForThread(call: Call, bot: SlackBot, last: LastRing): Promise<SendResult> {
  const text = `In this thread: ${silentWords(last)}`;
  return resultOf(await reply(call, bot, { text, reply_broadcast: true }, last.ts));
}

/** Posts a message that notifies people, or adds it silently to the thread of the message that has notified them just now. */
async function postOrJoin(
  call: Call,
  bot: SlackBot,
  message: SlackMessage,
  last: LastRing | undefined,
): Promise<Posted> {
  if (last?.isFresh !== true) return post(call, bot, withSilent(message, last));
  return reply(call, bot, message, last.ts);
}

/** Slack takes no reply to such a message: somebody has deleted it, or its kind has no thread. */
const THREAD_ERRORS: ReadonlySet<string> = new Set([
  'cannot_reply_to_message',
  'message_not_found',
  'thread_not_found',
]);

/** Adds a message to the thread of another one. Where that one takes no replies, the message stands alone and notifies people. */
async function reply(call: Call, bot: SlackBot, message: object, thread_ts: string): Promise<Posted> {
  const replied = await post(call, bot, { ...message, thread_ts });
  if (replied.kind === 'posted') return { ...replied, isJoined: true };
  if (replied.kind !== 'failed' || !THREAD_ERRORS.has(replied.reason.replace(ANSWERED, ''))) return replied;
  const { reply_broadcast: _none, ...alone } = message as { readonly reply_broadcast?: true };
  return post(call, bot, alone);
}

const ANSWERED = 'Slack answered ';

/** Adds what has joined the message before silently, because a message that rings is the first that people hear of it. */
function withSilent(message: SlackMessage, last: LastRing | undefined): SlackMessage {
  if (last === undefined || last.silent.length + last.more_count === 0) return message;
  const words = silentWords(last);
  const [{ color, blocks }] = message.attachments;
  const told = section(`*In the thread of the last message:* ${words}`);
  return {
    ...message,
    text: `${words}\nand ${message.text}`,
    attachments: [{ color, blocks: [told, ...blocks] }],
  };
}

/** A ring names this many notices, and counts the others. */
const SILENT_NAMED_MAX = 5;

function silentWords({ silent, more_count }: LastRing): string {
  const count = silent.length + more_count;
  const lines = silent.slice(0, SILENT_NAMED_MAX).map(({ line }) => slackCode(line, VALUE_CHARACTERS_MAX));
  const more = count > lines.length ? [`and ${count - lines.length} more`] : [];
  return `${counted(count, 'critical alert')}\n${[...lines, ...more].join('\n')}`;
}

interface Head {
  readonly thread: Thread;
  readonly operations: Operations;
}

/** Renders the message of the incident anew. It is the same message for people who look at the channel. */
async function editHead(call: Call, bot: SlackBot, { thread, operations }: Head): Promise<SendResult> {
  const { channel, ts } = thread;
  const head = renderSlackIncident(thread, operations, call.links, buttonsFor(bot, call.links));
  const body = { channel, ts, ...head };
  const { response, answer } = await ask(call, bot, { method: 'chat.update', body });
  if (answer?.ok === true) return { kind: 'sent' };
  const error = answer?.error ?? String(response.status);
  const isFinal = MESSAGE_ERRORS.has(error) || EDIT_ERRORS.has(error);
  return isFinal
    ? { kind: 'refused', reason: `Slack answered ${error}` }
    : failure(response, `Slack answered ${error}`);
}

function byTime(a: Notice, b: Notice): number {
  return a.observed_at < b.observed_at ? -1 : Number(a.observed_at > b.observed_at);
}

type Posted =
  | Exclude<SendResult, { kind: 'sent' }>
  | { readonly kind: 'posted'; readonly channel: string; readonly ts: string; readonly isJoined?: true };

async function post(call: Call, bot: SlackBot, message: object): Promise<Posted> {
  const body = { channel: bot.channel, ...message };
  const { response, answer } = await ask(call, bot, { method: 'chat.postMessage', body });
  if (answer?.ok === true && answer.ts !== undefined) {
    return { kind: 'posted', channel: answer.channel ?? bot.channel, ts: answer.ts };
  }
  const error = answer?.error ?? String(response.status);
  if (MESSAGE_ERRORS.has(error)) return { kind: 'refused', reason: `Slack answered ${error}` };
  return failure(response, `${ANSWERED}${error}`);
}

function resultOf(posted: Posted): SendResult {
  if (posted.kind !== 'posted') return posted;
  const { channel, ts, isJoined } = posted;
  return { kind: 'sent', ring: isJoined ? 'joined' : { channel, ts } };
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

/** Slack takes one message a second, which is more than people can read. */
export const SLACK_PACE: MessageLimits = {
  messageCountMax: 5,
  perMs: 60_000,
  noticesPerMessageMax: SLACK_NOTICES_MAX,
};

export function createSlackChannel(options: SlackOptions): Sender {
  return {
    pace: SLACK_PACE,
    send: (message, before) =>
      sendInTime(options.clock ?? systemClock, (signal) =>
        sendWithin({ ...options, signal }, { ...before, message }),
      ),
    ring: (last) =>
      sendInTime(options.clock ?? systemClock, (signal) => ringWithin({ ...options, signal }, last)),
    edit: (thread, operations) =>
      sendInTime(options.clock ?? systemClock, (signal) =>
        editWithin({ ...options, signal }, { thread, operations }),
      ),
  };
}

/** A webhook cannot edit what it has posted, and so it keeps no message of an incident. */
async function editWithin(call: Call, head: Head): Promise<SendResult> {
  const bot = slackBotOf((await call.credentials.current()).reveal().trim());
  return bot === undefined ? { kind: 'sent' } : editHead(call, bot, head);
}

/** A webhook joins no messages, so nothing has joined one silently. */
async function ringWithin(call: Call, last: LastRing): Promise<SendResult> {
  const bot = slackBotOf((await call.credentials.current()).reveal().trim());
  return bot === undefined ? { kind: 'sent' } : ringForThread(call, bot, last);
}

async function sendWithin(call: Call, sent: Sent): Promise<SendResult> {
  const { message } = sent;
  const text = (await call.credentials.current()).reveal().trim();
  const bot = slackBotOf(text);
  const plain = plainSlack(message);
  if (bot !== undefined) {
    const result = await sendByBot(call, bot, sent);
    return result.kind === 'refused' ? resultOf(await post(call, bot, plain)) : result;
  }
  const result = await sendByWebhook(call, text, renderSlack(message, call.links));
  // If the blocks are at fault, the plain text still has everything that people must know.
  return result.kind === 'refused' ? judged(await sendByWebhook(call, text, plain)) : result;
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

/** Resolves to `refused` for a 400, with the code that the answer names as its reason. */
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

const WEBHOOK_ORIGIN = 'https://hooks.slack.com';

export const slack = defineChannelKind({
  name: 'slack',
  settings: {
    /**
     * The secret is the URL of an incoming webhook, or JSON of a bot such as `{"token": "xoxb-...", "channel":
     * "C0123456789"}`.
     */
    slack_webhook_secret_arn: secretArn.optional(),
  },
  environment: {
    /** This is the name or ARN of the secret. Without it the channel is not set up. */
    SLACK_WEBHOOK_SECRET_ID: z.string().min(1).optional(),
    /** The webhook must be at this origin. Only tests and local runs have another one. */
    SLACK_WEBHOOK_ORIGIN: z.url().default(WEBHOOK_ORIGIN),
  },
  secret: {
    setting: 'slack_webhook_secret_arn',
    variable: 'SLACK_WEBHOOK_SECRET_ID',
    localVariable: 'SLACK_WEBHOOK_URL',
    faultOf: (text) =>
      URL.parse(text)?.origin === WEBHOOK_ORIGIN || slackBotOf(text) !== undefined
        ? undefined
        : `is not the URL of an incoming webhook at ${WEBHOOK_ORIGIN}, nor JSON such as {"token": "xoxb-...", "channel": "C0123456789"}.`,
  },
  create({ SLACK_WEBHOOK_SECRET_ID, SLACK_WEBHOOK_ORIGIN }, { secretOf, fetch, links, clock }) {
    if (SLACK_WEBHOOK_SECRET_ID === undefined) return undefined;
    const credentials = secretOf(SLACK_WEBHOOK_SECRET_ID);
    return createSlackChannel({ credentials, webhookOrigin: SLACK_WEBHOOK_ORIGIN, links, clock, fetch });
  },
  guide: {
    bounds: [
      {
        name: 'Alerts in one Slack message',
        value: SLACK_NOTICES_MAX,
      },
      {
        name: 'Text of one Slack message',
        value: SLACK_CHARACTERS_MAX,
      },
    ],
    sampleOf: (message, links) => ({
      place: 'on Slack',
      suffix: 'slack.json',
      text: `${JSON.stringify(renderSlack(message, links), null, 2)}\n`,
    }),
  },
});
