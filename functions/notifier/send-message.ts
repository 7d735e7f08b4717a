/** Sends one message: names it in the channel's item first, so that whoever comes after a crash knows what may have been shown. */

import type { Notice } from '../../shared/alerts/notice.ts';
import { incidentOf } from '../../shared/alerts/pending-notice.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { MessageUnderWay } from './channel-store.ts';
import type { Channel, SendResult } from './channels/channel.ts';
import { countedSends } from './channels/channel-pace.ts';
import { noteSent, refuse, rest, type Sending, settle } from './message-outcome.ts';
import { type Planned, planned } from './plan-round.ts';
import { hold, type Turn } from './turn.ts';

/** What a process before this one left: a message that was sent is noted to its end, one that may have been is repeated as it was. */
export async function finishMessage(turn: Turn): Promise<boolean> {
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
export async function sendOne(turn: Turn, { message, sks, incidents, at_ms }: Planned): Promise<boolean> {
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
