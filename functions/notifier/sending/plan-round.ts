/**
 * Plans what a channel sends next. Of all waiting notices it takes those that are due now, and makes messages of
 * them.
 */

import { incidentOf } from '../../../shared/alerts/incident-key.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { AlertPolicy } from '../deciding/alert-policy.ts';
import { isDue } from '../deciding/incident.ts';
import type { MessageLimits } from '../deciding/message-plan.ts';
import { mutedUntilMs } from '../deciding/mute.ts';
import type { PendingNotice, WaitingNotice } from '../deciding/pending-notice.ts';
import type { NoticeEnds } from './notice-ends.ts';
import { messagesOf, type PlannedMessage } from './plan-messages.ts';
import type { IncidentMemory, StoredIncidents } from './stored-incident.ts';
import type { WaitingNotices } from './waiting-notices.ts';

export interface PlanDeps {
  readonly store: {
    readonly waiting: WaitingNotices;
    readonly ends: Pick<NoticeEnds, 'settle'>;
    readonly incidents: Pick<IncidentMemory, 'readMany'>;
  };
  readonly policy: Pick<AlertPolicy, 'mutes' | 'window_seconds'>;
  readonly clock: Pick<Clock, 'now'>;
}

export interface Round {
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
  /** These notices were written just now. It is possible that the index does not show them yet. */
  readonly fresh: readonly PendingNotice[];
}

export interface RoundPlan {
  readonly messages: readonly PlannedMessage[];
  /** When true, something is due for which these messages have no room. */
  readonly hasMore: boolean;
}

export async function planRound(deps: PlanDeps, round: Round): Promise<RoundPlan> {
  const { store, policy, clock } = deps;
  const { channel, limits, slotCount } = round;
  const nowMs = clock.now();
  const waiting = await listUnmuted(deps, round, nowMs);
  const incidents = await store.incidents.readMany(channel, waiting.map(incidentIn));
  const isFull = round.isStorm || waiting.length >= Math.min(STORM_COUNT, limits.noticesPerMessageMax);
  const due = isFull ? waiting : dueOf(waiting, incidents, { nowMs, windowMs: windowMsOf(policy) });
  const found = await store.waiting.read(channel, due);
  const fit = await withoutCopies(deps, channel, { found, incidents });
  const messages = messagesOf(fit, policy, { limits, slotCount, incidents, at_ms: nowMs });
  const plannedCount = messages.reduce((sum, { sks }) => sum + sks.length, 0);
  return { messages, hasMore: waiting.length >= round.noticesMax || plannedCount < fit.length };
}

/**
 * Returns whether one of these notices is due. In a storm most are not, and reading their incidents is enough to
 * know.
 */
export async function isAnyDue(
  { store, policy, clock }: PlanDeps,
  channel: string,
  waiting: readonly PendingNotice[],
): Promise<boolean> {
  const nowMs = clock.now();
  const unmuted = waiting.filter((pending) => mutedUntilMs(subjectOf(pending), policy, nowMs) === 0);
  const incidents = await store.incidents.readMany(channel, unmuted.map(incidentIn));
  return unmuted.some((pending) => {
    const stored = incidents.get(pending.incident);
    return stored !== undefined && isDue([pending], stored.incident, { nowMs, windowMs: windowMsOf(policy) });
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
  { store, policy }: PlanDeps,
  { channel, noticesMax, fresh }: Round,
  nowMs: number,
): Promise<readonly PendingNotice[]> {
  const isUnmuted = (pending: PendingNotice) => mutedUntilMs(subjectOf(pending), policy, nowMs) === 0;
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
  times: { readonly nowMs: number; readonly windowMs: number },
): readonly PendingNotice[] {
  return [...Map.groupBy(waiting, incidentIn)].flatMap(([name, pending]) => {
    const stored = incidents.get(name);
    return stored === undefined || isDue(pending, stored.incident, times) ? pending : [];
  });
}

/** Leaves out notices that an older version reported, and muted ones whose key could not say so. */
async function withoutCopies(
  { store, policy, clock }: PlanDeps,
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

function windowMsOf({ window_seconds }: Pick<AlertPolicy, 'window_seconds'>): number {
  return window_seconds * 1_000;
}

function incidentIn({ incident }: PendingNotice): string {
  return incident;
}

/** Returns what a mute looks at. A key has an empty text where the notice names no project. */
function subjectOf({ kind, project_id }: PendingNotice) {
  return { kind, ...(project_id !== '' && { project_id }) };
}
