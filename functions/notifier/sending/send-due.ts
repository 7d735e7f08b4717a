/** Does what is due on one channel in one turn, and runs a task on all channels side by side. */

import { incidentOf, subjectOfIncident } from '../../../shared/alerts/incidents.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { type NotifierDeps, WRITES_AT_ONCE } from '../alert-store.ts';
import { type ChannelState, lastRingOf } from '../channel-memory.ts';
import type { Channel } from '../channels/channel.ts';
import {
  countAcknowledged,
  countHealed,
  digestOf,
  type MutedAlert,
  operationCountOf,
} from '../deciding/digest.ts';
import { type Incident, noteAcknowledged, noteHealed } from '../deciding/incident.ts';
import { type Notice, type PendingNotice, subjectOfPending } from '../deciding/notice.ts';
import { mutedUntilMs, reportsDigests } from '../deciding/policy.ts';
import {
  freeSlots,
  isAhead,
  isGathering,
  isJustTold,
  isNeverGathered,
  type MessageLimits,
  PAUSE_MS_MAX,
} from '../deciding/waking.ts';
import { LIST_EDITS_APART_MS } from './plan-messages.ts';
import { finishMessage, sendOne } from './send-message.ts';
import {
  HOLD_MS,
  hold,
  isAnyDue,
  type Look,
  planRound,
  slotsOf,
  type Turn,
  type UntoldNotices,
} from './turn.ts';
import { settlePages, showCare } from './upkeep.ts';

/** Channels work concurrently; one channel's outage or latency does not affect the others. A task that throws is logged. */
export async function onEachChannel<Each extends { readonly name: string }>(
  { channels, telemetry }: { readonly channels: readonly Each[]; readonly telemetry: Telemetry },
  task: (channel: Each) => Promise<void>,
): Promise<void> {
  await Promise.all(
    channels.map(async (channel) => {
      try {
        await task(channel);
      } catch (error) {
        const { name } = toError(error);
        telemetry.log('error', 'alert.channel_failed', { channel: channel.name, reason: name });
        telemetry.measure('AlertsFailed', 1);
      }
    }),
  );
}

/**
 * The count is written first. A crash after it counts these failures twice in one digest, and loses none. Resolves to
 * false when another notifier holds the channel.
 */
async function noteHealedNotices(turn: Turn, { waiting, incidents }: UntoldNotices): Promise<boolean> {
  if (waiting.length === 0) return true;
  const { deps, channel, state } = turn;
  const notices = waiting.map(({ notice }) => notice);
  const healed = countHealed(state?.healed, notices, deps.clock.now());
  if (!(await hold(turn, { healed }))) return false;
  await changeIncidents(turn, { waiting, incidents }, noteHealed);
  const sks = waiting.map(({ sk }) => sk);
  await deps.store.ends.settle(channel.name, sks, { outcome: 'healed' });
  deps.telemetry.log('info', 'alert.healed', { channel: channel.name, notice_count: sks.length });
  return true;
}

/**
 * The count is written first. A crash after it counts these alerts twice in one digest, and loses none. Resolves to
 * false when another notifier holds the channel.
 */
async function noteAcknowledgedNotices(turn: Turn, untold: UntoldNotices): Promise<boolean> {
  const { waiting } = untold;
  if (waiting.length === 0) return true;
  const { deps, channel, state } = turn;
  const nowMs = deps.clock.now();
  const healed = countAcknowledged(state?.healed, waiting.length, nowMs);
  if (!(await hold(turn, { healed }))) return false;
  await changeIncidents(turn, untold, (incident, own) => noteAcknowledged(incident, own, nowMs));
  const sks = waiting.map(({ sk }) => sk);
  await deps.store.ends.settle(channel.name, sks, { outcome: 'acknowledged' });
  deps.telemetry.log('info', 'alert.acknowledged', { channel: channel.name, notice_count: sks.length });
  return true;
}

async function changeIncidents(
  { deps, channel }: Turn,
  { waiting, incidents }: UntoldNotices,
  change: (incident: Incident, own: readonly Notice[]) => Incident,
): Promise<void> {
  const notices = waiting.map(({ notice }) => notice);
  await forEachConcurrently([...Map.groupBy(notices, incidentOf)], WRITES_AT_ONCE, async ([name, own]) => {
    const stored = incidents.get(name);
    if (stored === undefined) return;
    await deps.store.incidents.change(channel.name, stored, (incident) => change(incident, own));
  });
}

/** One digest counts at most this many muted alerts. The next digest counts the rest. */
export const MUTED_COUNTED_MAX = 5_000;

/** A crash between the two writes adds no second digest, because its id is the same. Resolves to false when another notifier holds the channel. */
async function addDigest(turn: Turn): Promise<boolean> {
  const { deps, channel, state } = turn;
  const muted = await uncountedMutes(turn);
  const digest = digestOf(
    { healed: state?.healed, muted, lastCount: state?.last_digest_count },
    deps.clock.now(),
  );
  if (digest === undefined) return true;
  if (takesDigests(turn, digest)) await deps.store.inbox.add(channel.name, digest);
  const countedMs = muted.map(({ stored_at_ms }) => stored_at_ms);
  return hold(turn, {
    healed: undefined,
    ...(state?.healed && { last_digest_count: operationCountOf(state.healed) }),
    ...(countedMs.length > 0 && { muted_counted_ms: Math.max(...countedMs) }),
  });
}

/** Resolves to the muted alerts that stand in no digest yet. While the digest itself would be muted, none is counted. */
async function uncountedMutes({ deps, channel, state }: Turn): Promise<readonly MutedAlert[]> {
  const { policy, clock, store } = deps;
  const nowMs = clock.now();
  const isAnyMute = policy.mutes.length > 0 || (policy.stored_mutes ?? []).length > 0;
  if (!isAnyMute || mutedUntilMs({ kind: 'digest', account_id: 'bridge' }, policy, nowMs) > 0) return [];
  const countedMs = state?.muted_counted_ms ?? 0;
  const untilMsOf = (pending: Parameters<typeof subjectOfPending>[0]) =>
    mutedUntilMs(subjectOfPending(pending), policy, nowMs);
  const found = await store.waiting.list(
    channel.name,
    MUTED_COUNTED_MAX,
    (pending) => pending.stored_at_ms > countedMs && untilMsOf(pending) > 0,
  );
  return found.map((pending) => ({ ...pending, until_ms: untilMsOf(pending) }));
}

function takesDigests({ deps, channel }: Turn, digest: Notice): boolean {
  return reportsDigests(channel, deps.policy) && (channel.takes?.(digest) ?? true);
}

/** A holder looks for new notices this many times. What comes in later is sent by the next sweep. */
const ROUNDS_MAX = 5;

export async function sendDue(deps: NotifierDeps, channel: Channel, look: Look): Promise<void> {
  const found = await deps.store.channels.read(channel.name);
  if (!(await isWorthwhile(deps, channel, { found, fresh: look.fresh }))) return;
  const turn: Turn = { deps, channel, look, state: found };
  if (!(await hold(turn, {}))) return;
  await forgetCaredFor(turn);
  await sendRounds(turn);
  await ringForSilent(turn);
  await showCare(turn);
  await settlePages(turn);
  await hold(turn, { held_until_ms: 0 });
}

async function isWorthwhile(
  deps: NotifierDeps,
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
    const { messages, edits, healed, acknowledged, hasMore } = await planRound(deps, {
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
    if (!(await noteAcknowledgedNotices(turn, acknowledged))) return;
    if (messages.length + edits.length === 0) return noteIdle(turn);
    const editsNow = isEditedNow(turn) ? [] : edits;
    if (messages.length + editsNow.length === 0) return;
    turn.state = turn.state && { ...turn.state, has_more: hasMore || messages.length > messagesMax };
    for (const message of [...messages.slice(0, messagesMax), ...editsNow])
      if (!(await sendOne(turn, message))) break;
  }
}

/** Returns whether lists were edited so lately that the next change waits, for the next event or the sweep. */
function isEditedNow({ deps, state }: Turn): boolean {
  return Math.abs(deps.clock.now() - (state?.edited_at_ms ?? 0)) < LIST_EDITS_APART_MS;
}

function limitsOf({ channel, state }: Turn): MessageLimits {
  const { noticesPerMessageMax } = channel.pace;
  return {
    ...channel.pace,
    noticesPerMessageMax: Math.min(noticesPerMessageMax, state?.notices_max ?? noticesPerMessageMax),
  };
}

function isGatheringNow(
  { policy, clock }: NotifierDeps,
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
  { policy, clock }: NotifierDeps,
  { isGathered }: Channel,
  { state, fresh }: { readonly state: ChannelState | undefined; readonly fresh: Look['fresh'] },
): boolean {
  const canHold = isGathered !== false && policy.gather_seconds > 0 && fresh !== undefined;
  return canHold && isJustTold(state?.critical_at_ms, clock.now());
}

/** What has joined a message silently rings no more once a person has acknowledged or muted it. */
async function forgetCaredFor(turn: Turn): Promise<void> {
  const { deps, state } = turn;
  const { ring } = state ?? {};
  if (ring === undefined || ring.silent.length === 0) return;
  const acknowledged = new Set(
    (await deps.store.readAcknowledged())
      .filter((record) => record.acknowledged !== undefined)
      .map(incidentOf),
  );
  const silent = ring.silent.filter(({ about }) => {
    const [name = ''] = about.split(' ');
    const subject = { kind: 'failed', ...subjectOfIncident(name) } as const;
    return !acknowledged.has(name) && mutedUntilMs(subject, deps.policy, deps.clock.now()) === 0;
  });
  if (silent.length < ring.silent.length) await hold(turn, { ring: { ...ring, silent } });
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
  if (last === undefined || last.isFresh || isPaused) return;
  if (last.silent.length + last.more_count === 0) return;
  const result = (await channel.ring?.(last)) ?? { kind: 'sent' };
  if (result.kind === 'failed') return;
  const rung = result.kind === 'sent' && typeof result.ring === 'object' ? result.ring : last;
  const { channel: place, ts } = rung;
  await hold(turn, { ring: { channel: place, ts, at_ms: nowMs, silent: [], more_count: 0 } });
}

/** Notes that nothing is due any more: what the channel did not take has been muted or settled since. */
async function noteIdle(turn: Turn): Promise<void> {
  await hold(turn, { waiting_since_ms: undefined, has_more: undefined });
}
