/**
 * Sends what is due on one channel. A sender claims the channel, names the message in the channel's item, sends the message, writes
 * into the item that it went out, and then notes the outcome on each of its notices. A crash at any point repeats at most that
 * one message.
 */

import type { Channel } from '../channels/kind/channel.ts';
import { freeSlots, isAhead, PAUSE_MS_MAX } from '../deciding/messages/channel-pace.ts';
import { isGathering, isJustTold, isNeverGathered } from '../deciding/messages/gathering.ts';
import type { MessageLimits } from '../deciding/messages/message-plan.ts';
import type { PendingNotice } from '../deciding/notices/pending-notice.ts';
import { addDigest } from './add-digest.ts';
import { type ChannelState, lastRingOf } from './channel-state.ts';
import { noteHealedNotices } from './healed-notices.ts';
import { noteAcknowledged } from './note-acknowledged.ts';
import { isAnyDue, planRound } from './plan-round.ts';
import { finishMessage, sendOne } from './send-message.ts';
import { showCare } from './show-care.ts';
import { HOLD_MS, hold, type Look, type SendDeps, slotsOf, type Turn } from './turn.ts';

/** A holder looks for new notices this many times. What comes in later is sent by the next sweep. */
const ROUNDS_MAX = 5;

export async function sendDue(deps: SendDeps, channel: Channel, look: Look): Promise<void> {
  const found = await deps.store.channels.read(channel.name);
  if (!(await isWorthwhile(deps, channel, { found, fresh: look.fresh }))) return;
  const turn: Turn = { deps, channel, look, state: found };
  if (!(await hold(turn, {}))) return;
  await sendRounds(turn);
  await ringForSilent(turn);
  await showCare(turn);
  await hold(turn, { held_until_ms: 0 });
}

async function isWorthwhile(
  deps: SendDeps,
  channel: Channel,
  { found, fresh }: { readonly found: ChannelState; readonly fresh: Look['fresh'] },
): Promise<boolean> {
  const nowMs = deps.clock.now();
  // The notifier that holds the channel looks again after each round, and the sweep finds what falls between.
  if (isAhead(found.held_until_ms, nowMs, HOLD_MS)) return false;
  if (isAhead(found.not_before_ms, nowMs, PAUSE_MS_MAX)) return false;
  if (found.message !== undefined && found.message.phase !== 'sending') return true;
  if (freeSlots(found.sent_at_ms, channel.pace, nowMs) === 0) return false;
  if (found.has_more) return true;
  const holdsCritical = holdsCriticalNow(deps, channel, { state: found, fresh });
  const isHeld = fresh !== undefined && (holdsCritical || isGatheringNow(deps, channel, found));
  const isUrgent = ({ kind, severity }: PendingNotice) =>
    isNeverGathered(kind) || (severity === 'critical' && !holdsCritical);
  if (isHeld && !fresh.some(isUrgent)) return false;
  return fresh === undefined || found.message !== undefined || isAnyDue(deps, channel.name, fresh);
}

async function sendRounds(turn: Turn): Promise<void> {
  if (!(await finishMessage(turn))) return;
  if (!(await addDigest(turn))) return;
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const { deps, channel, look } = turn;
    const slotCount = slotsOf(turn);
    if (slotCount === 0 || deps.clock.now() >= look.deadlineMs) return;
    const limits = limitsOf(turn);
    // A channel that failed last time is probed with one message before it gets more.
    const messagesMax = (turn.state?.failures_in_row ?? 0) > 0 ? 1 : slotCount;
    const noticesMax = messagesMax * limits.noticesPerMessageMax;
    const fresh = look.fresh ?? [];
    const { messages, healed, acknowledged, hasMore } = await planRound(deps, {
      channel: channel.name,
      limits,
      slotCount,
      noticesMax,
      isStorm: turn.state?.has_more ?? false,
      isGathering: isGatheringNow(deps, channel, turn.state),
      holdsCritical: holdsCriticalNow(deps, channel, { state: turn.state, fresh: look.fresh }),
      fresh,
    });
    if (!(await noteHealedNotices(turn, healed))) return;
    if (!(await noteAcknowledged(turn, acknowledged))) return;
    if (messages.length === 0) return noteIdle(turn);
    turn.state = turn.state && { ...turn.state, has_more: hasMore || messages.length > messagesMax };
    for (const message of messages.slice(0, messagesMax)) if (!(await sendOne(turn, message))) break;
  }
}

function limitsOf({ channel, state }: Turn): MessageLimits {
  const { noticesPerMessageMax } = channel.pace;
  return {
    ...channel.pace,
    noticesPerMessageMax: Math.min(noticesPerMessageMax, state?.notices_max ?? noticesPerMessageMax),
  };
}

function isGatheringNow(
  { policy, clock }: SendDeps,
  { isGathered }: Channel,
  state: ChannelState | undefined,
): boolean {
  return (
    isGathered !== false &&
    policy.gather_seconds > 0 &&
    state !== undefined &&
    (isGathering(state, clock.now()) ||
      lastRingOf(state, policy.gather_seconds * 1_000, clock.now())?.isFresh === true)
  );
}

/** A sweep holds nothing back, so that a critical notice waits for a minute at most. */
function holdsCriticalNow(
  { policy, clock }: SendDeps,
  { isGathered }: Channel,
  { state, fresh }: { readonly state: ChannelState | undefined; readonly fresh: Look['fresh'] },
): boolean {
  const canHold = isGathered !== false && policy.gather_seconds > 0 && fresh !== undefined;
  return canHold && isJustTold(state?.critical_at_ms, clock.now());
}

/**
 * Rings for the critical notices that have joined a message silently, once people may be woken again and nothing else
 * has rung. A ring that the channel did not take is tried again by the next sweep.
 */
async function ringForSilent(turn: Turn): Promise<void> {
  const { deps, channel, state } = turn;
  const nowMs = deps.clock.now();
  const last = lastRingOf(state, deps.policy.gather_seconds * 1_000, nowMs);
  const isPaused = isAhead(state?.not_before_ms ?? 0, nowMs, PAUSE_MS_MAX);
  if (last === undefined || last.isFresh || last.silent.length === 0 || isPaused) return;
  const { kind } = (await channel.ring?.(last)) ?? { kind: 'sent' };
  const { channel: place, ts } = last;
  if (kind !== 'failed')
    await hold(turn, { ring: { channel: place, ts, at_ms: nowMs, silent: [], more_count: 0 } });
}

/** Notes that nothing is due any more: what the channel did not take has been muted or settled since. */
async function noteIdle(turn: Turn): Promise<void> {
  await hold(turn, { waiting_since_ms: undefined, has_more: undefined });
}
