/**
 * Sweeps once a minute: it adds what no event says (acknowledgements, reminders once a day, channels that take no
 * messages, and that a person has muted all alerts of an account, because silence is otherwise taken for good news),
 * and lets every channel send what is due.
 */

import {
  DEAF_MS,
  deafMsOf,
  type IncidentRecord,
  incidentIdOf,
  incidentOf,
  subjectOfIncident,
  withoutAnnouncement,
} from '../../shared/alerts/incidents.ts';
import { isActive } from '../../shared/alerts/mutes.ts';
import { HOUR_MS } from '../../shared/records/time.ts';
import type { AlertStore, NotifierDeps } from './alert-store.ts';
import type { ChannelState } from './channel-memory.ts';
import type { Channel } from './channels/channel.ts';
import { type Incident, REMINDER_MS, wasReported } from './deciding/incident.ts';
import { isAcknowledged, newsOfMutes, standingOf } from './deciding/incident-record.ts';
import { type Notice, noticeSchema } from './deciding/notice.ts';
import { isWantedBy, mutedUntilMs } from './deciding/policy.ts';
import { notifierSchedule, SEND_BUDGET_MS } from './environment.ts';
import { withStoredMutes } from './notify.ts';
import { onEachChannel, sendDue } from './sending/send-due.ts';

/** Makes one round. Everything it adds is added once, however often it comes by. */
export async function sweep(deps: NotifierDeps): Promise<void> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  await reportDeafChannels(deps);
  const acknowledged = await acknowledgedNow(deps);
  await onEachChannel(deps, async (channel) => {
    await moveOlderNotices(deps, channel.name);
    await addReminders(await withStoredMutes(deps), channel.name);
    await addAcknowledgements(deps, channel, acknowledged);
    await announceMutes(await withStoredMutes(deps), channel);
  });
  await onEachChannel(deps, async (channel) => {
    await sendDue(await withStoredMutes(deps), channel, { fresh: undefined, acknowledged, deadlineMs });
  });
  await endAnnouncements(deps, acknowledged);
  await deps.store.mutes.keepConfigured(deps.policy.mutes);
}

/**
 * Most rounds need the acknowledgements only for a channel that is informed of them, or names them in its messages. Without
 * such a channel they are read once an hour, to take out what is no longer announced.
 */
function acknowledgedNow({
  store,
  channels,
  clock,
}: NotifierDeps): ReturnType<typeof store.readAcknowledged> {
  const isShown = channels.some(
    ({ hearsOfAcknowledgements, edit }) => hearsOfAcknowledgements === true || edit !== undefined,
  );
  const isFirstOfHour = clock.now() % HOUR_MS < notifierSchedule.everyMs;
  return isShown || isFirstOfHour ? store.readAcknowledged() : Promise.resolve([]);
}

/** Adds each acknowledgement once, and only on a channel that has reported the incident. */
async function addAcknowledgements(
  { store }: NotifierDeps,
  channel: Channel,
  records: readonly IncidentRecord[],
): Promise<void> {
  if (channel.hearsOfAcknowledgements !== true) return;
  const remembered = await store.incidents.readMany(channel.name, records.map(incidentOf));
  for (const record of records) {
    const notice = noticeOf(record);
    const incident = remembered.get(incidentOf(record))?.incident;
    if (notice === undefined || incident === undefined) continue;
    const isKnown = Object.keys(incident.operations).length > 0;
    if (isKnown && !wasReported(incident, notice)) await store.inbox.add(channel.name, notice);
  }
}

/** Takes the incidents out of which every channel has had a day to learn. */
async function endAnnouncements(
  { store, clock }: NotifierDeps,
  records: readonly IncidentRecord[],
): Promise<void> {
  for (const record of records) {
    if (withoutAnnouncement(record, clock.now()) === undefined) continue;
    await store
      .incidentsOf(record.account_id)
      .change(record.incident_id, (found) => found && withoutAnnouncement(found, clock.now()));
  }
}

/**
 * Returns the same notice, with the same id, however often the sweep comes by. What has recovered is reported by its
 * end.
 */
function noticeOf(record: IncidentRecord): Notice | undefined {
  const { incident_id, account_id, project_id, action, acknowledged, gravity, state } = record;
  if (acknowledged === undefined || state === 'recovered') return undefined;
  return {
    id: `acknowledged ${incident_id} ${acknowledged.at}`,
    kind: 'acknowledged',
    severity: 'info',
    account_id,
    observed_at: acknowledged.at,
    acknowledged_by: acknowledged.client_id,
    acknowledged_gravity: gravity,
    ...(project_id !== undefined && { project_id }),
    ...(action !== undefined && { action }),
  };
}

/** Adds each announcement once, because its id is that of the mute. */
async function announceMutes({ store, policy, clock }: NotifierDeps, channel: Channel): Promise<void> {
  for (const mute of newsOfMutes(policy.stored_mutes ?? [], clock.now())) {
    const { mute_id, account_id, client_id, created_at, until, project_id, action, incident_id } = mute;
    const isOfAll = [project_id, action, incident_id].every((part) => part === undefined);
    if (!isOfAll || !isActive(mute, clock.now())) continue;
    const notice = {
      id: `muted ${mute_id}`,
      kind: 'muted_all',
      severity: 'info',
      account_id,
      observed_at: created_at,
      muted_by: client_id,
      muted_until: until,
    } as const;
    const isReported = isWantedBy(channel, notice, policy) && (channel.takes?.(notice) ?? true);
    if (isReported) await store.inbox.add(channel.name, notice);
  }
}

/** A muted reminder is looked at again after this time, because a mute can be lifted. Meanwhile it does not stand before others. */
const MUTED_FOR_MS = HOUR_MS;

/**
 * Reminds people once a day of what was reported as failing and has not ended since. What nothing will end any more is
 * forgotten: its account was removed, or its record has expired, with whatever a person has said of it.
 */
async function addReminders(deps: NotifierDeps, channel: string): Promise<void> {
  const { store, policy, clock } = deps;
  for (const stored of await store.reminders.listReminders(channel)) {
    if (!stored.isReadable) continue;
    const { incident } = stored;
    const reminder = reminderOf(stored.key.sk, incident, clock.now());
    const mutedMs = reminder === undefined ? 0 : mutedUntilMs(reminder, policy, clock.now());
    if (mutedMs > 0) {
      const remind_at_ms = Math.min(mutedMs, clock.now() + MUTED_FOR_MS);
      await store.incidents.change(channel, stored, (found) => ({ ...found, remind_at_ms }));
      continue;
    }
    if (reminder !== undefined && (await isForgotten(deps, reminder))) {
      await store.incidents.change(channel, stored, withoutReminder);
      continue;
    }
    if (reminder !== undefined && (await isWanted(deps, reminder))) await store.inbox.add(channel, reminder);
    await store.incidents.change(channel, stored, (found) => postponed(found, clock.now()));
  }
}

/** No record describes a channel. */
async function isForgotten({ store }: NotifierDeps, reminder: Notice): Promise<boolean> {
  const { account_id, channel } = reminder;
  if (channel !== undefined) return false;
  const record = await store.incidentsOf(account_id).read(incidentIdOf(incidentOf(reminder)));
  return record === undefined || (await store.isRemoved(account_id));
}

/** Returns false for a reminder of a channel that is no longer set up, and for one of an incident that a person has acknowledged. */
async function isWanted({ store, channels }: NotifierDeps, reminder: Notice): Promise<boolean> {
  const { channel: about } = reminder;
  if (about !== undefined && !channels.some(({ name }) => name === about)) return false;
  return !(await store.readAcknowledged()).some((record) => isAcknowledged(reminder, record));
}

function reminderOf(name: string, incident: Incident, nowMs: number): Notice | undefined {
  const { place, operations, remind_at_ms: remindAtMs } = incident;
  if (place === undefined || remindAtMs === undefined || standingOf(operations) !== 'failing')
    return undefined;
  const failing = Object.entries(operations).filter(([, { state }]) => state === 'failing');
  const [operationId] = failing.length === 1 && place.project_id !== undefined ? (failing[0] ?? []) : [];
  return {
    ...place,
    // Each attempt at this reminder gives it the same id, so that a crash between the two writes adds no second one.
    id: `reminder ${name} ${remindAtMs}`,
    kind: 'reminder',
    severity: 'warning',
    observed_at: new Date(nowMs).toISOString(),
    ...(operationId !== undefined && { operation_id: operationId }),
  };
}

function postponed(incident: Incident, nowMs: number): Incident {
  return standingOf(incident.operations) === 'failing'
    ? { ...incident, remind_at_ms: nowMs + REMINDER_MS }
    : withoutReminder(incident);
}

function withoutReminder({ remind_at_ms: _due, ...rest }: Incident): Incident {
  return rest;
}

/** Moves notices that a version before 2026-11 left inside an incident's item into items of their own. */
async function moveOlderNotices({ store, telemetry }: NotifierDeps, channel: string): Promise<void> {
  for (const stored of await store.older.list(channel)) {
    if (!stored.isReadable) continue;
    for (const pending of stored.incident.pending) {
      const parsed = noticeSchema.safeParse(pending);
      const notice = parsed.data ?? unreadableNotice(pending, stored.key.sk);
      if (!parsed.success) {
        telemetry.log('error', 'alert.item_unreadable', { pk: stored.key.pk, sk: stored.key.sk });
        telemetry.measure('ItemsUnreadable', 1);
      }
      await store.inbox.add(channel, notice);
    }
    // The write is refused when the older version still runs and has written again. The next sweep moves the rest.
    await store.older.empty(channel, stored);
  }
}

/**
 * Makes a notice that says at least where something happened, because the item's key names account, project and
 * action.
 */
function unreadableNotice(pending: unknown, sk: string): Notice {
  const { account_id, project_id, action } = subjectOfIncident(sk.replace(/^INCIDENT#/, ''));
  const { id } = Object(pending) as { id?: unknown };
  return {
    id: typeof id === 'string' ? id : `unreadable ${sk}`,
    kind: 'unreadable',
    severity: 'warning',
    observed_at: '',
    account_id,
    ...(project_id !== undefined && { project_id }),
    ...(action !== undefined && { action }),
  };
}

interface Named {
  readonly name: string;
}

/** More of them say no more to a person. */
const WAITING_COUNTED_MAX = 1_000;

/**
 * Reports a channel that takes no messages. The channel cannot report this itself, so a metric raises an alarm, and the
 * other channels report it. Every sweep emits the metric, also when all is well, so that its absence raises an alarm.
 */
async function reportDeafChannels(deps: NotifierDeps): Promise<void> {
  const { store, channels, clock, telemetry } = deps;
  const durations = [0];
  await onEachChannel(deps, async ({ name }) => {
    const state = await store.channels.read(name);
    const deafMs = deafMsOf(state, clock.now());
    durations.push(deafMs);
    const others = channels.filter((other) => other.name !== name);
    if (deafMs >= DEAF_MS) await reportDeaf(deps, { name, others }, state);
    else if (state.waiting_since_ms === undefined && state.deaf_reported_ms !== undefined)
      await reportBack(deps, { name, others }, state);
  });
  telemetry.measure('ChannelDeafMs', Math.max(...durations));
}

interface AmongOthers extends Named {
  readonly others: readonly Named[];
}

async function reportDeaf(
  { store, clock, telemetry }: NotifierDeps,
  { name, others }: AmongOthers,
  state: ChannelState,
): Promise<void> {
  const { waiting_since_ms: sinceMs = 0, last_reason: reason = 'no answer' } = state;
  telemetry.log('error', 'alert.channel_deaf', { channel: name, reason });
  if (state.deaf_reported_ms === sinceMs) return;
  const waiting = await store.waiting.list(name, WAITING_COUNTED_MAX, () => true);
  await addToAll(store.inbox, others, {
    ...aboutChannel(name, { sinceMs, nowMs: clock.now() }),
    waiting_count: Math.min(waiting.length, WAITING_COUNTED_MAX),
    id: `deaf ${name} ${sinceMs}`,
    kind: 'channel_deaf',
    severity: 'critical',
    reason,
  });
  await store.channels.write(name, { ...state, deaf_reported_ms: sinceMs });
}

async function reportBack(
  { store, clock }: NotifierDeps,
  { name, others }: AmongOthers,
  state: ChannelState,
): Promise<void> {
  const { deaf_reported_ms: sinceMs = 0 } = state;
  await addToAll(store.inbox, others, {
    ...aboutChannel(name, { sinceMs, nowMs: clock.now() }),
    id: `back ${name} ${sinceMs}`,
    kind: 'channel_back',
    severity: 'info',
  });
  await store.channels.write(name, { ...state, deaf_reported_ms: undefined });
}

function aboutChannel(
  channel: string,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
) {
  return {
    account_id: 'bridge',
    channel,
    since: new Date(sinceMs).toISOString(),
    observed_at: new Date(nowMs).toISOString(),
  };
}

/**
 * Adds the notice on every channel, whatever the routes say. Routes choose which channel reports which project, and
 * this notice is about whether alerts reach people at all.
 */
async function addToAll(
  inbox: AlertStore['inbox'],
  channels: readonly Named[],
  notice: Notice,
): Promise<void> {
  for (const { name } of channels) await inbox.add(name, notice);
}
