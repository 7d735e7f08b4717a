/** Sends to Slack by bot token: one message per incident, which is edited in place. Only `ok: true` of the Web API is a success. */

import * as z from 'zod';
import { incidentOf } from '../../../../shared/alerts/incident-key.ts';
import { isOngoing, type Operations } from '../../../../shared/alerts/incidents/incident-record.ts';
import type { SlackBot } from '../../../../shared/alerts/slack-app.ts';
import { noteOperations, standingOf } from '../../deciding/incidents/operation-standing.ts';
import type { Thread } from '../../deciding/messages/incident.ts';
import type { Message } from '../../deciding/messages/message-plan.ts';
import type { Notice } from '../../deciding/notices/notice.ts';
import { failure, readStart } from '../http/answer.ts';
import type { OperationsByIncident, SendResult } from '../kind/channel.ts';
import { renderSlack } from './render-slack.ts';
import { renderSlackIncident, standingIn } from './render-slack-incident.ts';
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
}

/** Keeps one message per incident and edits it as the incident grows. New notices go into its thread, and so does the end. */
export async function sendByBot(
  call: Call,
  bot: SlackBot,
  { message, thread, operations: byIncident }: Sent,
): Promise<SendResult> {
  const buttons = buttonsFor(bot, call.links);
  const rendered = renderSlack(message, call.links);
  const notices = message.flat().toSorted(byTime);
  const [first] = notices;
  const latest = notices.at(-1);
  // A message of a storm is about many incidents, so it belongs to no thread.
  if (message.length !== 1 || first === undefined || latest === undefined)
    return resultOf(await post(call, bot, rendered));
  const operations = byIncident?.get(incidentOf(first));
  if (thread === undefined || thread.isOver) {
    const posted = await post(call, bot, renderSlack(message, call.links, buttons));
    if (posted.kind !== 'posted') return posted;
    const { channel, ts } = posted;
    const isOver = !isOngoing(standingOf(noteOperations(operations ?? {}, notices)));
    return { kind: 'sent', thread: { channel, ts, first, latest, toldCount: notices.length, isOver } };
  }
  const replied = await post(call, bot, { ...rendered, thread_ts: thread.ts });
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
  return { kind: 'sent', thread: grown };
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
  | { readonly kind: 'posted'; readonly channel: string; readonly ts: string };

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
  return posted.kind === 'posted' ? { kind: 'sent' } : posted;
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
