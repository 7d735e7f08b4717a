/**
 * Sends what is due on one channel. A sender claims the channel, names the message in the channel's item, sends it, writes
 * down that it went out, and then notes each of its notices. Whatever ends the process, at most that one message is repeated.
 */

import {
  countedSends,
  freeSlots,
  isAhead,
  PAUSE_MS_MAX,
  pauseAfter,
} from '../../shared/alerts/channel-pace.ts';
import { noteReported } from '../../shared/alerts/incident.ts';
import type { MessageLimits } from '../../shared/alerts/message-plan.ts';
import type { Notice } from '../../shared/alerts/notice.ts';
import { incidentOf, type PendingNotice } from '../../shared/alerts/pending-notice.ts';
import { forEachConcurrently } from '../../shared/runtime/concurrency.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Channel, SendResult } from './channel.ts';
import type { ChannelState, MessageUnderWay } from './channel-store.ts';
import type { StoredIncident } from './incident-store.ts';
import { type WaitingNotice, WRITES_AT_ONCE } from './notice-store.ts';
import { isAnyDue, type Planned, planned, planRound, type SendDeps } from './plan-round.ts';

/** Above the longest single send (25 s) and below the sweep's interval, so that a crash holds nobody up for long. */
const HOLD_MS = 45_000;

/** A message of unknown outcome is repeated as it was this often; then it is made anew, so that what is severe by now leads it. */
const REPEATS_MAX = 3;

/** A holder looks again for what came in meanwhile; the rest is for the next sweep. */
const ROUNDS_MAX = 5;

export interface Look {
  /** What the invocation has stored itself. Undefined: a sweep, which looks at everything. */
  readonly fresh: readonly PendingNotice[] | undefined;
  /** No message is begun afterwards: its answer would come when the function is over. */
  readonly deadlineMs: number;
}

/** One holder's turn at the channel. `state` is undefined as soon as somebody else has it. */
interface Turn {
  readonly deps: SendDeps;
  readonly channel: Channel;
  readonly look: Look;
  state: ChannelState | undefined;
}

export async function sendDue(deps: SendDeps, channel: Channel, look: Look): Promise<void> {
  const found = await deps.store.channels.read(channel.name);
  if (!(await isWorthwhile(deps, channel, { found, fresh: look.fresh }))) return;
  const turn: Turn = { deps, channel, look, state: found };
  if (!(await hold(turn, {}))) return;
  await sendRounds(turn);
  await hold(turn, { held_until_ms: 0 });
}

async function isWorthwhile(
  deps: SendDeps,
  { name, pace }: Channel,
  { found, fresh }: { readonly found: ChannelState; readonly fresh: Look['fresh'] },
): Promise<boolean> {
  const nowMs = deps.clock.now();
  // Whoever holds the channel looks again after each round; the sweep finds what falls between.
  if (isAhead(found.held_until_ms, nowMs, HOLD_MS)) return false;
  if (isAhead(found.not_before_ms, nowMs, PAUSE_MS_MAX)) return false;
  if (found.message !== undefined && found.message.phase !== 'sending') return true;
  if (freeSlots(found.sent_at_ms, pace, nowMs) === 0) return false;
  if (found.has_more) return true;
  return fresh === undefined || found.message !== undefined || isAnyDue(deps, name, fresh);
}

async function sendRounds(turn: Turn): Promise<void> {
  if (!(await finishMessage(turn))) return;
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const { deps, channel, look } = turn;
    const slotCount = slotsOf(turn);
    if (slotCount === 0 || deps.clock.now() >= look.deadlineMs) return;
    const limits = limitsOf(turn);
    // A channel that failed last time is probed with one message before it gets more.
    const messagesMax = (turn.state?.failures_in_row ?? 0) > 0 ? 1 : slotCount;
    const noticesMax = messagesMax * limits.noticesPerMessageMax;
    const fresh = look.fresh ?? [];
    const { messages, hasMore } = await planRound(deps, {
      channel: channel.name,
      limits,
      slotCount,
      noticesMax,
      isStorm: turn.state?.has_more ?? false,
      fresh,
    });
    if (messages.length === 0) return noteIdle(turn);
    turn.state = turn.state && { ...turn.state, has_more: hasMore || messages.length > messagesMax };
    for (const message of messages.slice(0, messagesMax)) if (!(await sendOne(turn, message))) break;
  }
}

function slotsOf({ deps, channel, state }: Turn): number {
  return state === undefined ? 0 : freeSlots(state.sent_at_ms, channel.pace, deps.clock.now());
}

function limitsOf({ channel, state }: Turn): MessageLimits {
  const { noticesPerMessageMax } = channel.pace;
  return {
    ...channel.pace,
    noticesPerMessageMax: Math.min(noticesPerMessageMax, state?.notices_max ?? noticesPerMessageMax),
  };
}

/** Nothing is due: whatever the channel did not take has been muted or settled since. */
async function noteIdle(turn: Turn): Promise<void> {
  await hold(turn, { waiting_since_ms: undefined, has_more: undefined });
}

/** What a process before this one left: a message that was sent is noted to its end, one that may have been is repeated as it was. */
async function finishMessage(turn: Turn): Promise<boolean> {
  const { deps, channel, state } = turn;
  const left = state?.message;
  if (left === undefined) return true;
  const waiting = await deps.store.notices.readWaiting(channel.name, left.sks);
  const names = waiting.map(({ notice }) => incidentOf(notice));
  const incidents = await deps.store.incidents.readMany(channel.name, names);
  if (left.phase === 'sending') {
    // One slot: the notices stay together, as they were.
    const together = { limits: channel.pace, slotCount: 1, incidents, at_ms: left.at_ms };
    const [message] = planned(deps, waiting, together);
    if (message !== undefined) return sendOne(turn, message);
    return waiting.length === 0 && hold(turn, { message: undefined });
  }
  await settle(turn, { left, waiting, incidents });
  return hold(turn, { message: undefined });
}

/** False: what was planned behind it is planned anew, unless the turn is over. */
async function sendOne(turn: Turn, { message, sks, incidents, at_ms }: Planned): Promise<boolean> {
  const { deps, channel, look } = turn;
  const nowMs = deps.clock.now();
  if (nowMs >= look.deadlineMs) return false;
  const left: MessageUnderWay = { phase: 'sending', sks: [...sks], at_ms };
  const waitingSinceMs = Math.min(turn.state?.waiting_since_ms ?? nowMs, nowMs);
  const sentAtMs = [...countedSends(turn.state?.sent_at_ms ?? [], channel.pace, nowMs), nowMs];
  if (!(await hold(turn, { message: left, waiting_since_ms: waitingSinceMs, sent_at_ms: sentAtMs })))
    return false;
  const result = await sendSafely(channel, message, incidents);
  const notices = message.flat();
  if (result.kind === 'failed') return rest(turn, result);
  const waiting = notices.map((notice, place) => ({ sk: sks[place] ?? '', stored_at_ms: 0, notice }));
  const sending = { left, waiting, incidents };
  if (result.kind === 'refused') return refuse(turn, sending, result.reason);
  return noteSent(turn, sending, result);
}

interface Sending {
  readonly left: MessageUnderWay;
  readonly waiting: readonly WaitingNotice[];
  readonly incidents: ReadonlyMap<string, StoredIncident>;
}

async function sendSafely(
  channel: Channel,
  message: readonly (readonly Notice[])[],
  incidents: Sending['incidents'],
): Promise<SendResult> {
  const names = new Set(message.flat().map(incidentOf));
  const [only] = names.size === 1 ? names : [];
  const incident = only === undefined ? undefined : incidents.get(only)?.incident;
  try {
    return await channel.send(message, incident?.thread, incident?.operations);
  } catch (error) {
    return { kind: 'failed', reason: toError(error).name, isUncertain: true };
  }
}

/** One write says that the whole message went out; its notices are noted after it. */
async function noteSent(
  turn: Turn,
  sending: Sending,
  { thread }: Extract<SendResult, { kind: 'sent' }>,
): Promise<boolean> {
  const { deps, channel, state } = turn;
  const { clock, telemetry } = deps;
  const left = { ...sending.left, phase: 'reported' as const, ...(thread && { thread }) };
  telemetry.log('info', 'alert.sent', { channel: channel.name, notice_count: left.sks.length });
  telemetry.measure('AlertsSent', 1);
  const isOurs = await hold(turn, {
    message: left,
    sent_at_ms: [...(state?.sent_at_ms ?? []).slice(0, -1), clock.now()],
    failures_in_row: 0,
    waiting_since_ms: undefined,
    last_reason: undefined,
    notices_max: widened(turn),
  });
  if (!isOurs) return false;
  await settle(turn, { ...sending, left });
  return hold(turn, { message: undefined });
}

/** Once more as many, until the channel's own limit is reached again. */
function widened({ channel, state }: Turn): number | undefined {
  const next = 2 * (state?.notices_max ?? Number.POSITIVE_INFINITY);
  return next < channel.pace.noticesPerMessageMax ? next : undefined;
}

/** Undone work is found again by the message in the channel's item, and doing it twice changes nothing more. */
async function settle({ deps, channel }: Turn, { left, waiting, incidents }: Sending): Promise<void> {
  const { store, policy } = deps;
  const sks = waiting.map(({ sk }) => sk);
  if (left.phase === 'refused') {
    const notices = waiting.map(({ notice }) => notice);
    if (notices.length > 0) await store.notices.park(channel.name, notices, left.reason ?? '');
    return store.notices.settle(channel.name, sks, { outcome: 'refused', reason: left.reason });
  }
  const reported = { atMs: left.at_ms, windowMs: policy.window_seconds * 1_000, thread: left.thread };
  const notices = waiting.map(({ notice }) => notice);
  const byIncident = [...Map.groupBy(notices, incidentOf)];
  await forEachConcurrently(byIncident, WRITES_AT_ONCE, async ([name, own]) => {
    const stored = incidents.get(name);
    if (stored === undefined) return;
    await store.incidents.change(channel.name, stored, (incident) => noteReported(incident, own, reported));
  });
  await store.notices.settle(channel.name, sks, { outcome: 'reported' });
}

/** A message of many is tried in halves until the one at fault is alone; that one is kept for a person. */
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

/** Writes the changes and claims the channel anew. False: somebody else has it. */
async function hold(turn: Turn, changes: Partial<ChannelState>): Promise<boolean> {
  const { deps, channel, state } = turn;
  if (state === undefined) return false;
  const heldUntilMs = deps.clock.now() + HOLD_MS;
  turn.state = await deps.store.channels.write(channel.name, {
    ...state,
    held_until_ms: heldUntilMs,
    ...changes,
  });
  return turn.state !== undefined;
}
