/** Sends to Slack by bot token: one message per incident, which is edited in place. Only `ok: true` of the Web API is a success. */

import * as z from 'zod';
import { incidentOf } from '../../../../shared/alerts/incident-key.ts';
import { isOngoing, type Operations } from '../../../../shared/alerts/incidents/incident-record.ts';
import type { SlackBot } from '../../../../shared/alerts/slack-app.ts';
import { noteOperations, standingOf } from '../../deciding/incidents/operation-standing.ts';
import type { Thread } from '../../deciding/messages/incident.ts';
import type { Message } from '../../deciding/messages/message-plan.ts';
import type { Notice } from '../../deciding/notices/notice.ts';
import { worstOf } from '../../deciding/notices/severity.ts';
import { slackCode, VALUE_CHARACTERS_MAX } from '../../wording/clean-text.ts';
import { failure, readStart } from '../http/answer.ts';
import type { LastRing, OperationsByIncident, SendResult } from '../kind/channel.ts';
import { renderSlack, type SlackMessage } from './render-slack.ts';
import { renderSlackIncident, standingIn } from './render-slack-incident.ts';
import { section } from './slack-blocks.ts';
import { buttonsFor } from './slack-buttons.ts';
import { type Call, EDIT_ERRORS, MESSAGE_ERRORS, request } from './slack-request.ts';

const API_ORIGIN = 'https://slack.com';

const apiAnswer = z.looseObject({
  ok: z.boolean(),
  error: z.string().optional(),
  ts: z.string().optional(),
  channel: z.string().optional(),
});

export interface Sent {
  readonly message: Message;
  readonly thread: Thread | undefined;
  readonly operations: OperationsByIncident | undefined;
  readonly last?: LastRing | undefined;
}

/**
 * Keeps one message per incident and edits it as the incident grows. New notices go into its thread, and so does the
 * end. What became critical rings there, and what comes soon after a ring joins the thread of the message that rang.
 */
export async function sendByBot(
  call: Call,
  bot: SlackBot,
  { message, thread, operations: byIncident, last }: Sent,
): Promise<SendResult> {
  const buttons = buttonsFor(bot, call.links);
  const rendered = renderSlack(message, call.links);
  const notices = message.flat().toSorted(byTime);
  const [first] = notices;
  const latest = notices.at(-1);
  // A message of a storm is about many incidents, so it belongs to no thread.
  if (message.length !== 1 || first === undefined || latest === undefined)
    return resultOf(await postOrJoin(call, bot, rendered, last));
  const operations = byIncident?.get(incidentOf(first));
  if (thread === undefined || thread.isOver) {
    const own = renderSlack(message, call.links, buttons);
    const posted = await postOrJoin(call, bot, own, last);
    if (posted.kind !== 'posted' || posted.isJoined) return resultOf(posted);
    const { channel, ts } = posted;
    const isOver = !isOngoing(standingOf(noteOperations(operations ?? {}, notices)));
    const kept = { channel, ts, first, latest, toldCount: notices.length, isOver };
    return { kind: 'sent', thread: kept, ring: { channel, ts } };
  }
  const isWorse = worstOf(notices) === 'critical';
  const isBroadcast = isWorse && last?.isFresh !== true;
  const told = isBroadcast ? withSilent(rendered, last) : rendered;
  const reply = { ...told, thread_ts: thread.ts, ...(isBroadcast && { reply_broadcast: true }) };
  const replied = await post(call, bot, reply);
  if (replied.kind !== 'posted') return replied;
  const after = noteOperations(operations ?? noteOperations({}, [thread.first]), notices);
  const grown = {
    ...thread,
    latest,
    has_replies: true,
    toldCount: thread.toldCount + notices.length,
    isOver: !isOngoing(standingIn(thread, after)),
  };
  // The reply has reported the notices. If the head cannot be edited, it only looks out of date.
  await editHead(call, bot, { thread: grown, operations: after }).catch(() => undefined);
  const ring = isBroadcast ? { channel: thread.channel, ts: thread.ts } : isWorse ? 'joined' : undefined;
  return { kind: 'sent', thread: grown, ring };
}

/** Notifies people of what has joined the thread of a message silently. */
export async function ringForThread(call: Call, bot: SlackBot, last: LastRing): Promise<SendResult> {
  const text = `In this thread: ${silentWords(last)}`;
  return resultOf(await post(call, bot, { text, thread_ts: last.ts, reply_broadcast: true }));
}

/** Posts a message that notifies people, or adds it silently to the thread of the message that has notified them just now. */
async function postOrJoin(
  call: Call,
  bot: SlackBot,
  message: SlackMessage,
  last: LastRing | undefined,
): Promise<Posted> {
  if (last?.isFresh !== true) return post(call, bot, withSilent(message, last));
  const joined = await post(call, bot, { ...message, thread_ts: last.ts });
  return joined.kind === 'posted' ? { ...joined, isJoined: true } : joined;
}

/** Adds what has joined the message before silently, because a message that rings is the first that people hear of it. */
function withSilent(message: SlackMessage, last: LastRing | undefined): SlackMessage {
  if (last === undefined || last.silent.length === 0) return message;
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
  return `${count} critical ${count === 1 ? 'alert' : 'alerts'}\n${[...lines, ...more].join('\n')}`;
}

export interface Head {
  readonly thread: Thread;
  readonly operations: Operations;
}

/** Renders the message of the incident anew. It is the same message for people who look at the channel. */
export async function editHead(call: Call, bot: SlackBot, { thread, operations }: Head): Promise<SendResult> {
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

export async function post(call: Call, bot: SlackBot, message: object): Promise<Posted> {
  const body = { channel: bot.channel, ...message };
  const { response, answer } = await ask(call, bot, { method: 'chat.postMessage', body });
  if (answer?.ok === true && answer.ts !== undefined) {
    return { kind: 'posted', channel: answer.channel ?? bot.channel, ts: answer.ts };
  }
  const error = answer?.error ?? String(response.status);
  if (MESSAGE_ERRORS.has(error)) return { kind: 'refused', reason: `Slack answered ${error}` };
  return failure(response, `Slack answered ${error}`);
}

export function resultOf(posted: Posted): SendResult {
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
