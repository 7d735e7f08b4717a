/**
 * Sends to Slack by incoming webhook or by bot token; the secret says which. By bot token there is one message for
 * each incident, which is edited in place.
 */

import * as z from 'zod';
import { type SlackBot, slackBotOf } from '../../../shared/alerts/channel-apps.ts';
import { incidentOf, isOngoing, type Operations } from '../../../shared/alerts/incidents.ts';
import { secretArn } from '../../../shared/config/account-rules.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Thread } from '../deciding/incident.ts';
import { noteOperations, standingOf } from '../deciding/incident-record.ts';
import type { Message, Notice } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import { slackCode, VALUE_CHARACTERS_MAX } from '../deciding/text.ts';
import type { MessageLimits } from '../deciding/waking.ts';
import {
  type Before,
  defineChannelKind,
  type LastRing,
  type Sender,
  type SendResult,
  type ShownList,
  sendInTime,
} from './channel.ts';
import {
  type Call,
  type Posted,
  post,
  reply,
  type SlackOptions,
  sendByWebhook,
  update,
} from './slack-api.ts';
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

interface Sent extends Before {
  readonly message: Message;
}

/**
 * Keeps one message per incident and edits it as the incident grows. New notices go into its thread, and so does the
 * end. A message of many incidents is a list, which is edited. What became critical rings in the thread of its message,
 * and what comes soon after a ring joins the thread of the message that rang.
 */
async function sendByBot(call: Call, bot: SlackBot, sent: Sent): Promise<SendResult> {
  const { message, thread, operations: byIncident, last, list } = sent;
  const notices = message.flat().toSorted(byTime);
  const [first] = notices;
  const latest = notices.at(-1);
  if (first === undefined || latest === undefined) return { kind: 'sent' };
  const operations = byIncident?.get(incidentOf(first));
  if (thread === undefined || thread.isOver) return begin(call, bot, sent, [first, latest]);
  const after = noteOperations(operations ?? noteOperations({}, [thread.first]), notices);
  const grown = {
    ...thread,
    latest,
    toldCount: thread.toldCount + notices.length,
    isOver: latest.kind === 'approval_ended' || !isOngoing(standingIn(thread, after)),
  };
  if (list?.isEnough) {
    const edited = await editList(call, bot, thread, list);
    if (edited.kind === 'sent') return { ...edited, thread: grown };
    // What Slack does not let the bot edit, for whatever reason, is a reply. Only a pause that it asks for is kept.
    if (edited.kind === 'failed' && edited.retryAfterMs !== undefined) return edited;
  }
  const isWorse = worstOf(notices) === 'critical';
  const isBroadcast = isWorse && last?.isFresh !== true;
  const rendered = renderSlack(message, call.links);
  const told = isBroadcast ? withSilent(rendered, last) : rendered;
  const broadcast = isBroadcast ? { reply_broadcast: true } : {};
  const replied = await reply(call, bot, { ...told, ...broadcast }, thread.ts);
  if (replied.kind !== 'posted') return replied;
  // A message that takes no replies any more is replaced by the one that stands alone now.
  const { channel, ts } = replied.isJoined ? thread : replied;
  const answered = { ...grown, channel, ts, has_replies: true };
  // The reply has reported the notices. If the head cannot be edited, it only looks out of date.
  if (list?.isEnough === false) await editList(call, bot, thread, list).catch(() => undefined);
  else if (!thread.is_of_many)
    await editHead(call, bot, { thread: answered, operations: after }).catch(() => undefined);
  const hasRung = isBroadcast || !replied.isJoined;
  const ring = hasRung ? { channel, ts } : isWorse ? 'joined' : undefined;
  return { kind: 'sent', thread: answered, ring };
}

/** Posts a new message, which is kept when it has a place of its own in the channel. */
async function begin(
  call: Call,
  bot: SlackBot,
  { message, operations, last }: Sent,
  [first, latest]: readonly [Notice, Notice],
): Promise<SendResult> {
  const posted = await postOrJoin(
    call,
    bot,
    renderSlack(message, call.links, { buttons: buttonsFor(bot, call.links) }),
    last,
  );
  if (posted.kind !== 'posted' || posted.isJoined) return resultOf(posted);
  const { channel, ts } = posted;
  const notices = message.flat();
  const isOfMany = message.length > 1;
  const known = operations?.get(incidentOf(first)) ?? {};
  const goesOn = latest.kind === 'approval_wanted' || isOngoing(standingOf(noteOperations(known, notices)));
  const isOver = !isOfMany && !goesOn;
  const kept = { channel, ts, first, latest, toldCount: notices.length, isOver };
  return { kind: 'sent', thread: isOfMany ? { ...kept, is_of_many: true } : kept, ring: { channel, ts } };
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
function editHead(call: Call, bot: SlackBot, { thread, operations }: Head): Promise<SendResult> {
  const { channel, ts } = thread;
  const head = renderSlackIncident(thread, operations, call.links, buttonsFor(bot, call.links));
  return update(call, bot, { channel, ts, ...head });
}

/** Renders a list anew, with how everything in it stands. */
function editList(
  call: Call,
  bot: SlackBot,
  { channel, ts }: Thread,
  { message, careOf }: ShownList,
): Promise<SendResult> {
  const buttons = buttonsFor(bot, call.links);
  return update(call, bot, { channel, ts, ...renderSlack(message, call.links, { buttons, careOf }) });
}

function byTime(a: Notice, b: Notice): number {
  return a.observed_at < b.observed_at ? -1 : Number(a.observed_at > b.observed_at);
}

function resultOf(posted: Posted): SendResult {
  if (posted.kind !== 'posted') return posted;
  const { channel, ts, isJoined } = posted;
  return { kind: 'sent', ring: isJoined ? 'joined' : { channel, ts } };
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
    edit: (thread, operations, list) =>
      sendInTime(options.clock ?? systemClock, (signal) =>
        editWithin({ ...options, signal }, { thread, operations }, list),
      ),
  };
}

/** A webhook cannot edit what it has posted, and so it keeps no message of an incident. */
async function editWithin(call: Call, head: Head, list: ShownList | undefined): Promise<SendResult> {
  const bot = slackBotOf((await call.credentials.current()).reveal().trim());
  if (bot === undefined) return { kind: 'sent' };
  return list === undefined ? editHead(call, bot, head) : editList(call, bot, head.thread, list);
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
  return sendByWebhook(call, text, { rendered: renderSlack(message, call.links), plain });
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
