/**
 * Stores the notice that an event from the queue makes, for each channel that has to report it. The notice gets the
 * name of its project, which is remembered for a while, and how long its action usually takes, and the record of its
 * incident is kept up to date.
 */

import * as z from 'zod';
import { type IncidentStore, incidentIdOf, incidentOf } from '../../shared/alerts/incidents.ts';
import type { Mute } from '../../shared/alerts/mutes.ts';
import { projectTransferred } from '../../shared/events/catalog.ts';
import { REPLAY_RESOURCE } from '../../shared/events/event-names.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError, toError } from '../../shared/runtime/errors.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { Channel } from './channels/channel.ts';
import { incidentAfter, saysHowItStands } from './deciding/incident-record.ts';
import type { Notice, PendingNotice } from './deciding/notice.ts';
import { noticeOf } from './deciding/notice-of-event.ts';
import { type AlertPolicy, isWantedBy, type Mutes, routeOf, usesNames } from './deciding/policy.ts';
import { type MoveDeps, noticesOfMove } from './moved-projects.ts';

export interface NoticeInbox {
  /**
   * Stores the notice for the channel until it is reported. Resolves to undefined when it is a copy of one that was
   * stored before.
   */
  add(channel: string, notice: Notice): Promise<PendingNotice | undefined>;
}

interface NameDeps {
  /** Resolves to undefined when no list has shown the name yet. Without it, notices have no names. */
  readonly projectNameOf?:
    | ((accountId: string, projectId: string) => Promise<string | undefined>)
    | undefined;
  readonly policy: Pick<AlertPolicy, 'routes' | 'labels'>;
  readonly telemetry: Telemetry;
}

/**
 * When the name cannot be read, the notice stays as it is, unless a route needs the name: then it rejects, and the queue
 * repeats the event, because the alert could otherwise go to the wrong people.
 */
async function withProjectName(
  { projectNameOf, policy, telemetry }: NameDeps,
  notice: Notice,
): Promise<Notice> {
  const { account_id, project_id } = notice;
  if (projectNameOf === undefined || project_id === undefined) return notice;
  try {
    const name = await projectNameOf(account_id, project_id);
    return name === undefined ? notice : { ...notice, project_name: name };
  } catch (error) {
    if (usesNames(policy)) throw error;
    telemetry.log('warn', 'alert.name_not_read', { project_id, reason: toError(error).name });
    return notice;
  }
}

interface UsualDeps {
  /** Resolves to undefined when too little is known of the action. Without it, alerts do not say what is usual. */
  readonly usualDurationOf?:
    | ((accountId: string, projectId: string, action: string) => Promise<Notice['usual_duration']>)
    | undefined;
  readonly telemetry: Telemetry;
}

/** An alert is never late or lost for it: when it cannot be read, the notice stays as it is. */
async function withUsualDuration({ usualDurationOf, telemetry }: UsualDeps, notice: Notice): Promise<Notice> {
  const { account_id, project_id, action, severity, usual_duration } = notice;
  const isKnown = usual_duration !== undefined || severity === 'info';
  if (isKnown || usualDurationOf === undefined || project_id === undefined || action === undefined)
    return notice;
  try {
    const usual = await usualDurationOf(account_id, project_id, action);
    return usual === undefined ? notice : { ...notice, usual_duration: usual };
  } catch (error) {
    telemetry.log('warn', 'insights.not_read', { project_id, reason: toError(error).name });
    return notice;
  }
}

export interface StoredMutes {
  /** Resolves to the mutes of all accounts, and to those that ended within the last day. */
  readAll(): Promise<readonly Mute[]>;
}

export interface KeptMutes {
  /** Writes the mutes of the configuration where the API finds them, once in this process. */
  keepConfigured(mutes: Mutes['mutes']): Promise<void>;
}

interface MuteDeps {
  readonly store: { readonly mutes: StoredMutes };
  readonly policy: Mutes;
}

/**
 * Resolves to the dependencies with the mutes as they are now. Rejects when the table does: what people have muted must
 * not wake them, and the next round of the notifier sends the rest.
 */
export async function withStoredMutes<Deps extends MuteDeps>(deps: Deps): Promise<Deps> {
  const stored_mutes = await deps.store.mutes.readAll();
  return { ...deps, policy: { ...deps.policy, stored_mutes } };
}

export interface IncidentRecordDeps {
  readonly store: { readonly incidentsOf: (accountId: string) => IncidentStore };
  readonly clock: Clock;
}

/** Applying a notice twice gives the same record. Rejects when the table does; the queue then repeats the event. */
async function recordIncident({ store, clock }: IncidentRecordDeps, notice: Notice): Promise<void> {
  if (!saysHowItStands(notice)) return;
  const incidentId = incidentIdOf(incidentOf(notice));
  await store
    .incidentsOf(notice.account_id)
    .change(incidentId, (found) => incidentAfter(found, notice, clock.now()));
}

export interface StoreEventDeps extends UsualDeps, NameDeps, IncidentRecordDeps {
  readonly store: MoveDeps['store'] & { readonly inbox: NoticeInbox };
  readonly policy: Pick<AlertPolicy, 'routes' | 'labels' | 'channels'>;
  readonly channels: readonly Channel[];
}

/** Names, for each channel, the notices for it that this invocation has stored. */
export type FreshNotices = ReadonlyMap<string, PendingNotice[]>;

const busEvent = z.object({
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  resources: z.array(z.string()).default([]),
  detail: z.record(z.string(), z.unknown()),
});

/**
 * Adds what it stores to `fresh`. Throws when the event cannot be read or stored, so that the queue hands it out
 * again.
 */
export async function storeEvent(deps: StoreEventDeps, body: string, fresh: FreshNotices): Promise<void> {
  const event = busEvent.parse(JSON.parse(body));
  // The rule keeps replays out already. This check also holds when the rule is changed.
  if (event['replay-name'] !== undefined || event.resources.some(isReplay)) return;
  if (event['detail-type'] === projectTransferred.detailType) {
    for (const notice of await noticesOfMove(deps, event.detail)) {
      // A copy of the event finds what has no record yet, so the record comes last.
      await storeNotice(deps, notice, fresh);
      await recordIncident(deps, notice);
    }
    return;
  }
  const notice = noticeOf(event['detail-type'], event.detail);
  if (notice === undefined) return;
  const stored = storeNotice(deps, notice, fresh);
  const results = await Promise.allSettled([stored, recordIncident(deps, notice)]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  // The alert is stored. The event itself does not fit its schema, so the dead-letter queue keeps it for a person to
  // look at.
  if (notice.unread === 'unknown_value')
    throw new AppError('event_unreadable', `Event ${notice.id} does not fit its schema`);
}

function storeNotice(deps: StoreEventDeps, notice: Notice, fresh: FreshNotices): Promise<void> {
  return withProjectName(deps, notice)
    .then((named) => withUsualDuration(deps, named))
    .then((whole) => storeOnChannels(deps, whole, fresh));
}

function isReplay(resource: string): boolean {
  return resource.startsWith(REPLAY_RESOURCE);
}

/**
 * Tries every channel, also when the write for another one fails. The queue then repeats the event, and copies are
 * recognised.
 */
async function storeOnChannels(
  { store, policy, telemetry, channels }: StoreEventDeps,
  notice: Notice,
  fresh: FreshNotices,
): Promise<void> {
  const { channels: wanted, isDefault } = routeOf(notice, policy);
  if (isDefault) telemetry.log('warn', 'alert.no_route', { event_id: notice.id, kind: notice.kind });
  const reporting = channels.filter(
    (channel) =>
      (wanted === 'every' || wanted.includes(channel.name)) &&
      isWantedBy(channel, notice, policy) &&
      (channel.takes?.(notice) ?? true),
  );
  const results = await Promise.allSettled(
    reporting.map(async ({ name }) => {
      const pending = await store.inbox.add(name, notice);
      if (pending !== undefined) fresh.get(name)?.push(pending);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** A project that was renamed has its new name in alerts after this time. */
const NAME_REREAD_MS = 10 * 60_000;

/** Beyond this many projects, at about a hundred bytes each, all are read again. */
const REMEMBERED_MAX = 5_000;

type NameOf = (accountId: string, projectId: string) => Promise<string | undefined>;

/** Returns the same function, which reads a name at most once in ten minutes. A name that is not known is read each time. */
export function rememberNames(read: NameOf, clock: Clock): NameOf {
  const known = new Map<string, { readonly name: string; readonly atMs: number }>();
  return async (accountId, projectId) => {
    const key = `${accountId} ${projectId}`;
    const found = known.get(key);
    if (found !== undefined && clock.now() - found.atMs < NAME_REREAD_MS) return found.name;
    const name = await read(accountId, projectId);
    if (name === undefined) return undefined;
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(key, { name, atMs: clock.now() });
    return name;
  };
}
