/**
 * Defines one holder's turn at a channel, in which every write into the channel's item claims the channel anew, and
 * plans what one round of it sends: which waiting notices are due, which have healed, and which a person has
 * acknowledged.
 */

import { type IncidentRecord, incidentOf } from '../../../shared/alerts/incidents.ts';
import type { AlertStore, NotifierDeps } from '../alert-store.ts';
import type { ChannelState, StoredIncidents } from '../channel-memory.ts';
import type { Channel } from '../channels/channel.ts';
import { type DueTerms, isDue } from '../deciding/incident.ts';
import { isAcknowledged } from '../deciding/incident-record.ts';
import { type PendingNotice, subjectOfPending, type WaitingNotice } from '../deciding/notice.ts';
import { type Mutes, mutedUntilMs } from '../deciding/policy.ts';
import {
  freeSlots,
  isNeverGathered,
  type Judged,
  judge,
  type MessageLimits,
  type Patience,
} from '../deciding/waking.ts';
import { divideListed, messagesOf, type PlannedMessage, type PlanTerms } from './plan-messages.ts';

/**
 * The time is above the longest single send (25 s) and below the sweep's interval, so that a crash blocks the channel
 * only briefly.
 */
export const HOLD_MS = 45_000;

export interface Look {
  /** This invocation has stored these notices. It is undefined in a sweep, which looks at everything. */
  readonly fresh: readonly PendingNotice[] | undefined;
  /** A sweep has read that people have acknowledged these incidents. Otherwise it is empty. */
  readonly acknowledged: readonly IncidentRecord[];
  /** No message begins after this time, because its answer would come when the function is over. */
  readonly deadlineMs: number;
}

export interface Turn {
  readonly deps: NotifierDeps;
  readonly channel: Channel;
  readonly look: Look;
  /**
   * This is the channel's item as this holder wrote it last. It is undefined when another notifier holds the channel
   * by now.
   */
  state: ChannelState | undefined;
}

/** Returns how many messages may start now, and 0 when the turn is over. */
export function slotsOf({ deps, channel, state }: Turn): number {
  return state === undefined ? 0 : freeSlots(state.sent_at_ms, channel.pace, deps.clock.now());
}

/** Writes the changes and claims the channel anew. Resolves to false when another notifier holds it. */
export async function hold(turn: Turn, changes: Partial<ChannelState>): Promise<boolean> {
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

interface Divided {
  readonly left: readonly WaitingNotice[];
  readonly acknowledged: readonly WaitingNotice[];
}

/** Reads the acknowledgements after the notices, so that what ended one of them before is seen. */
async function divideAcknowledged(
  { readAcknowledged }: AlertStore,
  found: readonly WaitingNotice[],
): Promise<Divided> {
  if (found.length === 0) return { left: found, acknowledged: [] };
  const records = await readAcknowledged();
  const { left = [], acknowledged = [] } = Object.groupBy(found, ({ notice }) =>
    records.some((record) => isAcknowledged(notice, record)) ? 'acknowledged' : 'left',
  );
  return { left, acknowledged };
}

interface Round {
  readonly channel: string;
  readonly limits: MessageLimits;
  /** At most this many messages may start. */
  readonly slotCount: number;
  /** The round looks at this many notices at most. */
  readonly noticesMax: number;
  /**
   * When true, the previous messages had no room for everything, and the rest goes out without waiting for a window.
   */
  readonly isStorm: boolean;
  /** While notices are gathered, only critical ones, those that wait for nothing and those of open threads go out. */
  readonly isGathering: boolean;
  /** A critical message went out just now, so the next sweep sends further critical notices together. */
  readonly holdsCritical: boolean;
  /** These notices were written just now. It is possible that the index does not show them yet. */
  readonly fresh: readonly PendingNotice[];
}

/** Notices that no message reports, with the incidents that they belong to. */
export interface UntoldNotices {
  readonly waiting: readonly WaitingNotice[];
  readonly incidents: StoredIncidents;
}

interface RoundPlan {
  readonly messages: readonly PlannedMessage[];
  /** These change lists that people have already, and are no new messages. */
  readonly edits: readonly PlannedMessage[];
  /** These notices have healed. No message reports them. */
  readonly healed: UntoldNotices;
  /** A person has acknowledged what these are about. No message reports them. */
  readonly acknowledged: UntoldNotices;
  /** When true, something is due for which these messages have no room. */
  readonly hasMore: boolean;
}

/** Plans what one round sends, and notes nothing but copies. */
export async function planRound(deps: NotifierDeps, round: Round): Promise<RoundPlan> {
  const { store, policy, clock } = deps;
  const { channel, limits, slotCount } = round;
  const nowMs = clock.now();
  const listed = await listUnmuted(deps, round, nowMs);
  const incidents = await store.incidents.readMany(channel, listed.map(incidentIn));
  const isFull = round.isStorm || listed.length >= Math.min(STORM_COUNT, limits.noticesPerMessageMax);
  const isHeld = (round.isGathering || round.holdsCritical) && !isFull;
  const waiting = isHeld ? letThrough(listed, round, incidents) : listed;
  const due = isFull ? waiting : dueOf(waiting, incidents, dueTermsOf(policy, nowMs));
  const found = await store.waiting.read(channel, due);
  const unmuted = await withoutCopies(deps, channel, { found, incidents });
  const { left: own, acknowledged } = await divideAcknowledged(store, unmuted);
  const judged = judgeAll(own, incidents, { policy, nowMs });
  const healedSks = new Set(judged.healed.map(({ sk }) => sk));
  // Hundreds of waiting failures need a person, whether or not each has lasted long enough.
  const fit = isFull ? own.filter(({ sk }) => !healedSks.has(sk)) : judged.due;
  const terms = { limits, slotCount, incidents, at_ms: nowMs };
  const { edits, others } = divideListed(fit, policy, terms);
  const isTogether = policy.gather_seconds > 0 && !isFull;
  const messages = isTogether ? togetherOf(others, policy, terms) : messagesOf(others, policy, terms);
  const plannedCount = messages.reduce((sum, { sks }) => sum + sks.length, 0);
  const hasMore = waiting.length >= round.noticesMax || plannedCount < others.length;
  return {
    messages,
    edits,
    healed: { waiting: judged.healed, incidents },
    acknowledged: { waiting: acknowledged, incidents },
    hasMore,
  };
}

/** Returns one message for all incidents, and beside it the replies to open threads, which make no new message. */
function togetherOf(
  fit: readonly WaitingNotice[],
  policy: NotifierDeps['policy'],
  terms: PlanTerms,
): readonly PlannedMessage[] {
  const { threaded = [], others = [] } = Object.groupBy(fit, ({ notice }) =>
    hasOpenThread(incidentOf(notice), terms.incidents) ? 'threaded' : 'others',
  );
  const first = messagesOf(others, policy, { ...terms, slotCount: 1 });
  const slotCount = terms.slotCount - first.length;
  return [...first, ...messagesOf(threaded, policy, { ...terms, slotCount })];
}

/**
 * Returns the notices that go out while others are gathered: what is critical with all that waits of its incident, and
 * what makes no new message, because an open thread only grows.
 */
function letThrough(
  listed: readonly PendingNotice[],
  { holdsCritical }: Round,
  incidents: StoredIncidents,
): readonly PendingNotice[] {
  const isLet = ({ kind, severity, incident }: PendingNotice) =>
    isNeverGathered(kind) ||
    hasOpenThread(incident, incidents) ||
    (severity === 'critical' && !holdsCritical);
  const letIncidents = new Set(listed.filter(isLet).map(incidentIn));
  return listed.filter(({ incident }) => letIncidents.has(incident));
}

function hasOpenThread(name: string, incidents: StoredIncidents): boolean {
  return incidents.get(name)?.incident.thread?.isOver === false;
}

/** Judges incident by incident what wakes people and what has healed. */
function judgeAll(
  waiting: readonly WaitingNotice[],
  incidents: StoredIncidents,
  terms: { readonly policy: Patience & Mutes; readonly nowMs: number },
): Judged {
  const judged = [...Map.groupBy(waiting, ({ notice }) => incidentOf(notice))].map(([name, own]) =>
    judge(own, incidents.get(name)?.incident.operations ?? {}, terms),
  );
  return { due: judged.flatMap(({ due }) => due), healed: judged.flatMap(({ healed }) => healed) };
}

/**
 * Returns whether one of these notices is due. In a storm most are not, and reading their incidents is enough to
 * know.
 */
export async function isAnyDue(
  { store, policy, clock }: NotifierDeps,
  channel: string,
  waiting: readonly PendingNotice[],
): Promise<boolean> {
  const nowMs = clock.now();
  const unmuted = waiting.filter((pending) => mutedUntilMs(subjectOfPending(pending), policy, nowMs) === 0);
  const incidents = await store.incidents.readMany(channel, unmuted.map(incidentIn));
  return unmuted.some((pending) => {
    const stored = incidents.get(pending.incident);
    return stored !== undefined && isDue([pending], stored.incident, dueTermsOf(policy, nowMs));
  });
}

/** When this many notices wait, a message is full already, so waiting for further ones saves no message. */
const STORM_COUNT = 250;

/**
 * A round lists this many times its number of notices, because listing keys costs little. With more of them, those of
 * one incident come together, and a message has room for more.
 */
const LOOK_AHEAD = 4;

async function listUnmuted(
  { store, policy }: NotifierDeps,
  { channel, noticesMax, fresh }: Round,
  nowMs: number,
): Promise<readonly PendingNotice[]> {
  const isUnmuted = (pending: PendingNotice) => mutedUntilMs(subjectOfPending(pending), policy, nowMs) === 0;
  const listed = await store.waiting.list(channel, LOOK_AHEAD * noticesMax, isUnmuted);
  const all = [...listed, ...fresh.filter(isUnmuted)].map((pending) => [pending.sk, pending] as const);
  const distinct = [...new Map(all).values()];
  const together = Map.groupBy(distinct, (pending) => `${pending.severity} ${pending.incident}`);
  return [...together.values()].flat().slice(0, noticesMax);
}

/**
 * Returns the notices that go now. When one notice of an incident is due, all of them go, because a recovery must not
 * be read before the failures that it ends.
 */
function dueOf(
  waiting: readonly PendingNotice[],
  incidents: StoredIncidents,
  terms: DueTerms,
): readonly PendingNotice[] {
  return [...Map.groupBy(waiting, incidentIn)].flatMap(([name, pending]) => {
    const stored = incidents.get(name);
    return stored === undefined || isDue(pending, stored.incident, terms) ? pending : [];
  });
}

/** Leaves out notices that an older version reported, and muted ones whose key could not say so. */
async function withoutCopies(
  { store, policy, clock }: NotifierDeps,
  channel: string,
  { found, incidents }: { readonly found: readonly WaitingNotice[]; readonly incidents: StoredIncidents },
): Promise<readonly WaitingNotice[]> {
  const isCopy = ({ notice }: WaitingNotice) =>
    incidents.get(incidentOf(notice))?.incident.told_ids.includes(notice.id) ?? false;
  const copies = found.filter(isCopy).map(({ sk }) => sk);
  if (copies.length > 0) await store.ends.settle(channel, copies, { outcome: 'copy' });
  const nowMs = clock.now();
  return found.filter((one) => !isCopy(one) && mutedUntilMs(one.notice, policy, nowMs) === 0);
}

function dueTermsOf(policy: NotifierDeps['policy'], nowMs: number): DueTerms {
  return { nowMs, windowMs: policy.window_seconds * 1_000, patience: policy };
}

function incidentIn({ incident }: PendingNotice): string {
  return incident;
}
