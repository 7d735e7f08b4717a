/**
 * Sends to Slack by incoming webhook or by bot token; the secret says which. Answers are judged by what Slack
 * documents: a webhook that took the message answers 200 with `ok`, and any other answer is a failure.
 */

import { slackBotOf } from '../../../../shared/alerts/slack-app.ts';
import { systemClock } from '../../../../shared/runtime/clock.ts';
import type { MessageLimits } from '../../deciding/messages/message-plan.ts';
import { failure, readStart } from '../http/answer.ts';
import { sendInTime } from '../http/send-in-time.ts';
import type { LastRing, Sender, SendResult } from '../kind/channel.ts';
import { plainSlack, renderSlack, SLACK_CHARACTERS_MAX, SLACK_NOTICES_MAX } from './render-slack.ts';
import { editHead, type Head, post, resultOf, ringForThread, type Sent, sendByBot } from './slack-bot.ts';
import { slackCharactersOf } from './slack-digest.ts';
import { type Call, MESSAGE_ERRORS, request, type SlackOptions } from './slack-request.ts';

/** Slack takes one message a second, which is more than people can read. */
export const SLACK_PACE: MessageLimits = {
  messageCountMax: 5,
  perMs: 60_000,
  noticesPerMessageMax: SLACK_NOTICES_MAX,
  sizeMax: SLACK_CHARACTERS_MAX,
  sizeOf: slackCharactersOf,
};

export function createSlackChannel(options: SlackOptions): Sender {
  return {
    pace: SLACK_PACE,
    send: (message, thread, operations, last) =>
      sendInTime(options.clock ?? systemClock, (signal) =>
        sendWithin({ ...options, signal }, { message, thread, operations, last }),
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
