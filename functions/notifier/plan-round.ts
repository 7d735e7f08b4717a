/** What a channel sends next: of everything that waits, what is due now, as messages. */

import { isDue } from '../../shared/alerts/incident.ts';
import type { Notice } from '../../shared/alerts/notice.ts';
import { hasEnded } from '../../shared/alerts/operation-standing.ts';
import { incidentOf, type PendingNotice } from '../../shared/alerts/pending-notice.ts';
import type { AlertPolicy } from '../../shared/config/notifier-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { AlertStore } from './alert-store.ts';
import { type Message, type MessageLimits, planMessages } from './channels/message-plan.ts';
import type { StoredIncident } from './incident-store.ts';
import type { WaitingNotice } from './notice-store.ts';
import { mutedUntilMs, wasMuted } from './policy.ts';

export interface SendDeps {
  readonly store: AlertStore;
  readonly policy: AlertPolicy;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export interface Planned {
  readonly message: Message;
  /** Of its notices. */
  readonly sks: readonly string[];
  readonly incidents: ReadonlyMap<string, StoredIncident>;
  readonly at_ms: number;
}

export interface Round {
  readonly channel: string;
  readonly limits: MessageLimits;
  readonly slotCount: number;
  /** Nothing beyond it is looked at. */
  readonly noticesMax: number;
  /** The messages before these had no room for all of it: its rest goes out without waiting for a window. */
  readonly isStorm: boolean;
  /** Written just now; the index may not show them yet. */
  readonly fresh: readonly PendingNotice[];
}

type Incidents = ReadonlyMap<string, StoredIncident>;

export interface RoundPlan {
  readonly messages: readonly Planned[];
  /** Something is due that these messages have no room for. */
  readonly hasMore: boolean;
}

export async function planRound(deps: SendDeps, round: Round): Promise<RoundPlan> {
  const { store, clock } = deps;
  const { channel, limits, slotCount } = round;
  const nowMs = clock.now();
  const waiting = await listUnmuted(deps, round, nowMs);
  const names = waiting.map(incidentNameOf);
  const incidents = await store.incidents.readMany(channel, names);
  const isFull = round.isStorm || waiting.length >= Math.min(STORM_COUNT, limits.noticesPerMessageMax);
  const due = isFull ? waiting : dueOf(deps, { waiting, incidents, nowMs });
  const found = await store.notices.read(channel, due);
  const fit = await withoutCopies(deps, channel, { found, incidents });
  const messages = planned(deps, fit, { limits, slotCount, incidents, at_ms: nowMs });
  const plannedCount = messages.reduce((sum, { sks }) => sum + sks.length, 0);
  return { messages, hasMore: waiting.length >= round.noticesMax || plannedCount < fit.length };
}

/** Whether one of these is due: most notices of a storm are not, and their incidents are all that has to be read. */
export async function isAnyDue(
  { store, policy, clock }: SendDeps,
  channel: string,
  waiting: readonly PendingNotice[],
): Promise<boolean> {
  const nowMs = clock.now();
  const unmuted = waiting.filter((pending) => mutedUntilMs(placeOf(pending), policy, nowMs) === 0);
  const incidents = await store.incidents.readMany(channel, unmuted.map(incidentNameOf));
  const windowMs = policy.window_seconds * 1_000;
  return unmuted.some((pending) => {
    const stored = incidents.get(incidentNameOf(pending));
    return stored !== undefined && isDue([pending], stored.incident, { nowMs, windowMs });
  });
}

/** The messages that these notices make, whether or not their time has come. */
export function planned(
  { policy }: SendDeps,
  found: readonly WaitingNotice[],
  {
    limits,
    slotCount,
    incidents,
    at_ms,
  }: {
    readonly limits: MessageLimits;
    readonly slotCount: number;
    readonly incidents: Incidents;
    readonly at_ms: number;
  },
): readonly Planned[] {
  const skOf = new Map<Notice, string>();
  const notices = found.map(({ sk, notice, stored_at_ms }) => {
    const operations = incidents.get(incidentOf(notice))?.incident.operations ?? {};
    const shown: Notice = {
      ...notice,
      ...(hasEnded(operations, notice) && { has_ended: true }),
      ...(wasMuted(notice, policy, stored_at_ms) && { was_muted: true }),
    };
    skOf.set(shown, sk);
    return shown;
  });
  const byIncident = [...Map.groupBy(notices, incidentOf).values()];
  return planMessages(byIncident, slotCount, limits).map((message) => ({
    message,
    sks: message.flat().flatMap((notice) => skOf.get(notice) ?? []),
    incidents,
    at_ms,
  }));
}

/** Waiting for more saves messages. When this many alerts wait, a message is full already, and there is nothing to save. */
const STORM_COUNT = 250;

/** Keys cost little to list: with more of them, those of one incident come together, and a message has room for more. */
const LOOK_AHEAD = 4;

async function listUnmuted(
  { store, policy }: SendDeps,
  { channel, noticesMax, fresh }: Round,
  nowMs: number,
): Promise<readonly PendingNotice[]> {
  const isUnmuted = (pending: PendingNotice) => mutedUntilMs(placeOf(pending), policy, nowMs) === 0;
  const listed = await store.notices.list(channel, LOOK_AHEAD * noticesMax, isUnmuted);
  const all = [...listed, ...fresh.filter(isUnmuted)].map((pending) => [pending.sk, pending] as const);
  const distinct = [...new Map(all).values()];
  const together = Map.groupBy(distinct, (pending) => `${pending.severity} ${incidentNameOf(pending)}`);
  return [...together.values()].flat().slice(0, noticesMax);
}

/** Of an incident with something due everything goes: a recovery is not read before the failures that it ends. */
function dueOf(
  { policy }: SendDeps,
  {
    waiting,
    incidents,
    nowMs,
  }: {
    readonly waiting: readonly PendingNotice[];
    readonly incidents: Incidents;
    readonly nowMs: number;
  },
): readonly PendingNotice[] {
  const windowMs = policy.window_seconds * 1_000;
  return [...Map.groupBy(waiting, incidentNameOf)].flatMap(([name, pending]) => {
    const stored = incidents.get(name);
    return stored === undefined || isDue(pending, stored.incident, { nowMs, windowMs }) ? pending : [];
  });
}

/** Without those that an older version reported, and without muted ones whose key could not say so. */
async function withoutCopies(
  { store, policy, clock }: SendDeps,
  channel: string,
  { found, incidents }: { readonly found: readonly WaitingNotice[]; readonly incidents: Incidents },
): Promise<readonly WaitingNotice[]> {
  const isCopy = ({ notice }: WaitingNotice) =>
    incidents.get(incidentOf(notice))?.incident.told_ids.includes(notice.id) ?? false;
  const copies = found.filter(isCopy).map(({ sk }) => sk);
  if (copies.length > 0) await store.notices.settle(channel, copies, { outcome: 'copy' });
  const nowMs = clock.now();
  return found.filter((one) => !isCopy(one) && mutedUntilMs(one.notice, policy, nowMs) === 0);
}

function placeOf({ kind, project_id }: PendingNotice) {
  return { kind, ...(project_id !== '' && { project_id }) };
}

/** The parts of a key are made for keys already. */
function incidentNameOf({ account_id, project_id, action }: PendingNotice): string {
  return [account_id, project_id, action].join('|');
}
