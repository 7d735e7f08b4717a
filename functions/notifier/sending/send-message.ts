/** Sends one message. The channel's item names it first, so that the next sender after a crash knows what may have been shown. */

import { incidentOf } from '../../../shared/alerts/incident-key.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Channel, LastRing, SendResult } from '../channels/kind/channel.ts';
import { countedSends } from '../deciding/messages/channel-pace.ts';
import type { Thread } from '../deciding/messages/incident.ts';
import type { Notice } from '../deciding/notices/notice.ts';
import { withContext } from './add-context.ts';
import { lastRingOf, type MessageUnderWay } from './channel-state.ts';
import { noteSent, refuse, rest, type Sending, settle } from './message-outcome.ts';
import { messagesOf, type PlannedMessage } from './plan-messages.ts';
import { withCareNow } from './show-care.ts';
import { hold, type Turn } from './turn.ts';

/**
 * Finishes the message that an earlier process left. The outcome of a message that was sent is noted on all its
 * notices, and one that may have been sent is sent again as it was. Resolves to false when the turn is over, or the
 * channel did not take the message.
 */
export async function finishMessage(turn: Turn): Promise<boolean> {
  const { deps, channel, state } = turn;
  const left = state?.message;
  if (left === undefined) return true;
  const waiting = await deps.store.waiting.readBegun(channel.name, left.sks);
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
  const sentAtMs = [...countedSends(turn.state?.sent_at_ms ?? [], channel.pace, nowMs), nowMs];
  if (!(await hold(turn, { message: left, waiting_since_ms: waitingSinceMs, sent_at_ms: sentAtMs })))
    return false;
  const thread = await withCareNow(deps, channel, threadOf(message, incidents));
  const last = lastRingOf(turn.state, deps.policy.gather_seconds * 1_000, nowMs);
  const result = await sendSafely(channel, await withContext(deps, message), { thread, incidents, last });
  const notices = message.flat();
  if (result.kind === 'failed') return rest(turn, result);
  const waiting = notices.map((notice, place) => ({ sk: sks[place] ?? '', stored_at_ms: 0, notice }));
  const sending = { left, waiting, incidents };
  if (result.kind === 'refused') return refuse(turn, sending, result.reason);
  return noteSent(turn, sending, result);
}

/** Returns the thread of a message about a single incident. */
function threadOf(
  message: readonly (readonly Notice[])[],
  incidents: Sending['incidents'],
): Thread | undefined {
  const [only, another] = new Set(message.flat().map(incidentOf));
  return only === undefined || another !== undefined ? undefined : incidents.get(only)?.incident.thread;
}

async function sendSafely(
  channel: Channel,
  message: readonly (readonly Notice[])[],
  {
    thread,
    incidents,
    last,
  }: {
    readonly thread: Thread | undefined;
    readonly incidents: Sending['incidents'];
    readonly last: LastRing | undefined;
  },
): Promise<SendResult> {
  const names = [...new Set(message.flat().map(incidentOf))];
  const operations = new Map(names.map((name) => [name, incidents.get(name)?.incident.operations ?? {}]));
  try {
    return await channel.send(message, thread, operations, last);
  } catch (error) {
    return { kind: 'failed', reason: toError(error).name, isUncertain: true };
  }
}
