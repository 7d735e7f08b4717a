/**
 * Sends one message, and decides what follows the attempt: the message is noted as sent, kept as refused, or tried
 * again. The channel's item names the message first, so that the next sender after a crash knows what may have been
 * sent.
 */

import { incidentOf } from '../../../shared/alerts/incidents.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { WRITES_AT_ONCE } from '../alert-store.ts';
import {
  lastRingOf,
  type MessageUnderWay,
  type StoredIncidents,
  type StoredRing,
} from '../channel-memory.ts';
import type { Before, Channel, Ring, SendResult } from '../channels/channel.ts';
import { noteReported, type Thread } from '../deciding/incident.ts';
import type { Message, Notice, WaitingNotice } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import { cleanText, headlineOf } from '../deciding/text.ts';
import {
  countedSends,
  latestOfEach,
  noteInterruption,
  pauseAfter,
  startsGathering,
} from '../deciding/waking.ts';
import { isOnlyEdit, messagesOf, type PlannedMessage, withContext } from './plan-messages.ts';
import { hold, type Turn } from './turn.ts';
import { listWith, noteListed, withCareNow } from './upkeep.ts';

/**
 * A message of unknown outcome is repeated as it was this many times. Then it is planned anew, so that the notice
 * that is most severe by now leads it.
 */
const REPEATS_MAX = 3;

interface Sending {
  readonly left: MessageUnderWay;
  /** The message only changes a list, which is no new message. */
  readonly isEdit?: boolean;
  readonly waiting: readonly WaitingNotice[];
  readonly incidents: StoredIncidents;
}

/** Records in one write that the whole message went out. The outcome of its notices is noted after that. */
async function noteSent(
  turn: Turn,
  sending: Sending,
  { thread, ring, pages }: Extract<SendResult, { kind: 'sent' }>,
): Promise<boolean> {
  const { deps, channel, state } = turn;
  const { clock, telemetry } = deps;
  const left = { ...sending.left, phase: 'reported' as const, ...(thread && { thread }) };
  telemetry.log('info', 'alert.sent', { channel: channel.name, notice_count: left.sks.length });
  telemetry.measure('AlertsSent', 1);
  const isOurs = await hold(turn, {
    message: left,
    ...(!sending.isEdit && { sent_at_ms: [...(state?.sent_at_ms ?? []).slice(0, -1), clock.now()] }),
    failures_in_row: 0,
    waiting_since_ms: undefined,
    last_reason: undefined,
    notices_max: widened(turn),
    ...(hasCritical(sending) && { critical_at_ms: clock.now() }),
    ...(pages && { pages: [...pages] }),
    ring: ringAfter(state?.ring, ring, { sending, nowMs: clock.now() }),
    ...(interrupts(sending) &&
      noteInterruption(state ?? {}, clock.now(), deps.policy.gather_seconds * 1_000)),
  });
  if (!isOurs) return false;
  await settle(turn, { ...sending, left });
  return hold(turn, { message: undefined });
}

/** Returns what the message says of each operation, but for replies in an open thread. */
function shownAnew({ waiting, incidents }: Sending): readonly Notice[] {
  const shown = latestOfEach([waiting.map(({ notice }) => notice)]).flat();
  return shown.filter((notice) => incidents.get(incidentOf(notice))?.incident.thread?.isOver !== false);
}

function hasCritical(sending: Sending): boolean {
  return shownAnew(sending).some(({ severity }) => severity === 'critical');
}

/** Returns whether the message told people of a new trouble that is not critical. What a critical one took along does not count. */
function interrupts(sending: Sending): boolean {
  const shown = shownAnew(sending);
  const critical = new Set(shown.filter(({ severity }) => severity === 'critical').map(incidentOf));
  return shown.some((notice) => startsGathering(notice) && !critical.has(incidentOf(notice)));
}

/** The item of a channel keeps at most this many of the notices that joined silently, and counts the others. */
const SILENT_KEPT_MAX = 20;

/** Returns which message rang last after this one was shown, and what has joined that message silently. */
function ringAfter(
  before: StoredRing | undefined,
  ring: Ring | 'joined' | undefined,
  { sending, nowMs }: { readonly sending: Sending; readonly nowMs: number },
): StoredRing | undefined {
  const notices = sending.waiting.map(({ notice }) => notice);
  const shown = latestOfEach([notices]).flat();
  // Good news wakes nobody, so nothing that follows may join it silently.
  const hasRung = ring !== undefined && ring !== 'joined' && worstOf(notices) !== 'info';
  if (hasRung) return { channel: ring.channel, ts: ring.ts, at_ms: nowMs, silent: [], more_count: 0 };
  if (before === undefined) return undefined;
  const told = new Set(shown.map(aboutOf));
  const left = before.silent.filter(({ about }) => !told.has(about));
  const joined = shown.filter(({ severity }) => ring === 'joined' && severity === 'critical');
  const silent = [...left, ...joined.map((notice) => ({ about: aboutOf(notice), line: lineOf(notice) }))];
  const more_count = before.more_count + Math.max(0, silent.length - SILENT_KEPT_MAX);
  return { ...before, silent: silent.slice(0, SILENT_KEPT_MAX), more_count };
}

function aboutOf(notice: Notice): string {
  return `${incidentOf(notice)} ${notice.operation_id ?? ''}`;
}

/** Returns the notice as one line. Each channel cuts and escapes the line once more. */
function lineOf(notice: Notice): string {
  return headlineOf(notice, cleanText).slice(0, SILENT_LINE_CHARACTERS_MAX);
}

const SILENT_LINE_CHARACTERS_MAX = 200;

/** Returns twice as many notices for the next message, until the channel's own limit is reached again (undefined). */
function widened({ channel, state }: Turn): number | undefined {
  const next = 2 * (state?.notices_max ?? Number.POSITIVE_INFINITY);
  return next < channel.pace.noticesPerMessageMax ? next : undefined;
}

/** Notes the outcome on every notice. The message in the channel's item finds work that a crash left, and doing it twice changes nothing. */
async function settle({ deps, channel }: Turn, { left, waiting, incidents }: Sending): Promise<void> {
  const { store, policy } = deps;
  const sks = waiting.map(({ sk }) => sk);
  if (left.phase === 'refused') {
    const notices = waiting.map(({ notice }) => notice);
    if (notices.length > 0) await store.ends.park(channel.name, notices, left.reason ?? '');
    return store.ends.settle(channel.name, sks, { outcome: 'refused', reason: left.reason });
  }
  const reported = { atMs: left.at_ms, windowMs: policy.window_seconds * 1_000, thread: left.thread };
  const notices = waiting.map(({ notice }) => notice);
  const byIncident = [...Map.groupBy(notices, incidentOf)];
  await forEachConcurrently(byIncident, WRITES_AT_ONCE, async ([name, own]) => {
    const stored = incidents.get(name);
    if (stored === undefined) return;
    await store.incidents.change(channel.name, stored, (incident) => noteReported(incident, own, reported));
  });
  if (left.thread?.is_of_many) await noteListed({ deps, channel }, left.thread, sks);
  await store.ends.settle(channel.name, sks, { outcome: 'reported' });
}

/**
 * Sends a refused message of many notices in halves until the notice at fault is alone. That notice is kept for a
 * person to look at.
 */
async function refuse(turn: Turn, sending: Sending, reason: string): Promise<boolean> {
  const { deps, channel } = turn;
  const noticeCount = sending.left.sks.length;
  deps.telemetry.measure('AlertsFailed', 1);
  if (noticeCount > 1) {
    deps.telemetry.log('warn', 'alert.message_halved', {
      channel: channel.name,
      reason,
      notice_count: noticeCount,
    });
    await hold(turn, { message: undefined, notices_max: Math.ceil(noticeCount / 2), last_reason: reason });
    return false;
  }
  const event_ids = sending.waiting.map(({ notice }) => notice.id).join(' ');
  deps.telemetry.log('error', 'alert.refused', { channel: channel.name, reason, event_ids });
  deps.telemetry.measure('AlertsRefused', 1);
  const left = { ...sending.left, phase: 'refused' as const, reason };
  if (!(await hold(turn, { message: left, last_reason: reason }))) return false;
  await settle(turn, { ...sending, left });
  return hold(turn, { message: undefined });
}

/** Ends the turn after a send that failed, and lets the channel rest for longer with each failure. */
async function rest(turn: Turn, result: Extract<SendResult, { kind: 'failed' }>): Promise<boolean> {
  const { deps, channel, state } = turn;
  const failures = (state?.failures_in_row ?? 0) + 1;
  const pauseMs = pauseAfter(failures, result.retryAfterMs);
  const { reason, isUncertain = false } = result;
  deps.telemetry.log('error', 'alert.send_failed', { channel: channel.name, reason, pause_ms: pauseMs });
  deps.telemetry.measure('AlertsFailed', 1);
  await hold(turn, {
    failures_in_row: failures,
    not_before_ms: deps.clock.now() + pauseMs,
    last_reason: reason,
    held_until_ms: 0,
    ...(!(isUncertain && failures < REPEATS_MAX) && { message: undefined }),
  });
  turn.state = undefined;
  return false;
}

/** Leaves a list as it is until the next try. The channel goes on, because nobody waits for how a list looks. */
async function leaveList(turn: Turn, { reason }: Extract<SendResult, { kind: 'failed' }>): Promise<boolean> {
  turn.deps.telemetry.log('warn', 'alert.edit_failed', { channel: turn.channel.name, reason });
  await hold(turn, { message: undefined, last_reason: reason });
  return false;
}

/**
 * Finishes the message that an earlier process left. The outcome of a message that was sent is noted on all its
 * notices, and one that may have been sent is sent again as it was. Resolves to false when the turn is over, or the
 * channel did not take the message.
 */
export async function finishMessage(turn: Turn): Promise<boolean> {
  const { deps, channel, state } = turn;
  const left = state?.message;
  if (left === undefined) return true;
  const known = await deps.store.waiting.readKnown(channel.name, left.sks);
  const waiting = known.filter(({ isWaiting }) => isWaiting);
  const names = waiting.map(({ notice }) => incidentOf(notice));
  const incidents = await deps.store.incidents.readMany(channel.name, names);
  if (left.phase === 'sending') {
    // One slot keeps the notices together, as they were.
    const together = { limits: channel.pace, slotCount: 1, incidents, at_ms: left.at_ms };
    const [message] = messagesOf(waiting, deps.policy, together);
    if (message !== undefined) return sendOne(turn, message);
    return waiting.length === 0 && hold(turn, { message: undefined });
  }
  await settle(turn, { left, waiting, incidents });
  return hold(turn, { message: undefined });
}

/**
 * Resolves to false when the turn is over, or when the messages that were planned behind this one have to be planned
 * anew.
 */
export async function sendOne(
  turn: Turn,
  { message, sks, incidents, at_ms }: PlannedMessage,
): Promise<boolean> {
  const { deps, channel, look } = turn;
  const nowMs = deps.clock.now();
  if (nowMs >= look.deadlineMs) return false;
  const left: MessageUnderWay = { phase: 'sending', sks: [...sks], at_ms };
  const waitingSinceMs = Math.min(turn.state?.waiting_since_ms ?? nowMs, nowMs);
  const isEdit = isOnlyEdit(message, incidents);
  const paced = isEdit
    ? { edited_at_ms: nowMs }
    : { sent_at_ms: [...countedSends(turn.state?.sent_at_ms ?? [], channel.pace, nowMs), nowMs] };
  if (!(await hold(turn, { message: left, waiting_since_ms: waitingSinceMs, ...paced }))) return false;
  const thread = await withCareNow(deps, channel, threadOf(message, incidents));
  const last = lastRingOf(turn.state, deps.policy.gather_seconds * 1_000, nowMs);
  const result = await sendSafely(channel, await withContext(deps, message), {
    thread,
    incidents,
    last,
    pages: turn.state?.pages,
    list: thread?.isOver === false ? await listWith(turn, thread, { message, incidents }) : undefined,
  });
  const notices = message.flat();
  if (result.kind === 'failed') return isEdit ? leaveList(turn, result) : rest(turn, result);
  const waiting = notices.map((notice, place) => ({ sk: sks[place] ?? '', stored_at_ms: 0, notice }));
  const sending = { left, isEdit, waiting, incidents };
  if (result.kind === 'refused') return refuse(turn, sending, result.reason);
  return noteSent(turn, sending, result);
}

/** Returns the thread of a message about a single incident, or about incidents that one open message is about. */
function threadOf(
  message: readonly (readonly Notice[])[],
  incidents: Sending['incidents'],
): Thread | undefined {
  const names = [...new Set(message.flat().map(incidentOf))];
  const [first, ...others] = names.map((name) => incidents.get(name)?.incident.thread);
  const isShared = others.every((one) => one?.isOver === false && one.ts === first?.ts);
  return isShared ? first : undefined;
}

async function sendSafely(
  channel: Channel,
  message: Message,
  { incidents, ...before }: Before & { readonly incidents: Sending['incidents'] },
): Promise<SendResult> {
  const names = [...new Set(message.flat().map(incidentOf))];
  const operations = new Map(names.map((name) => [name, incidents.get(name)?.incident.operations ?? {}]));
  try {
    return await channel.send(message, { ...before, operations });
  } catch (error) {
    return { kind: 'failed', reason: toError(error).name, isUncertain: true };
  }
}
