/** Brings messages that a channel keeps up to date when a person has acknowledged or muted their incident, or has withdrawn that. */

import { type IncidentRecord, incidentIdOf, incidentOf } from '../../../shared/alerts/incidents.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Channel } from '../channels/channel.ts';
import type { Thread } from '../deciding/incident.ts';
import { type Care, careOf, isSameCare, newsOfMutes } from '../deciding/incident-record.ts';
import type { StoredIncident } from './channel-state.ts';
import { listWith } from './lists.ts';
import { hold, type SendDeps, type Turn } from './turn.ts';

/** Slack takes about fifty edits a minute (Web API, tier 3). The next sweep goes on. */
export const EDITS_MAX = 20;

/**
 * Edits messages, and sends no new one. An edit is repeated in the next sweep until the channel has taken it, and says
 * the same however often it is sent.
 */
export async function showCare(turn: Turn): Promise<void> {
  const { deps, channel, look } = turn;
  if (channel.edit === undefined || look.fresh !== undefined || turn.state === undefined) return;
  const records = await recordsWithNews(turn);
  const remembered = await deps.store.incidents.readMany(channel.name, records.map(incidentOf));
  const stale = records.flatMap((record) => {
    const stored = remembered.get(incidentOf(record));
    const care = stored && staleCareOf(deps, stored, record);
    return stored === undefined || care === undefined ? [] : [{ stored, care }];
  });
  const messages = [...Map.groupBy(stale, ({ stored }) => stored.incident.thread?.ts).values()];
  for (const own of messages.slice(0, EDITS_MAX)) {
    if (deps.clock.now() >= look.deadlineMs || !(await hold(turn, {}))) return;
    if (!(await edit(turn, own))) return;
  }
}

interface Stale {
  readonly stored: StoredIncident;
  readonly care: Care;
}

/** Returns what the message should show, and undefined when it does already, or is about an earlier time. */
function staleCareOf(
  { policy, clock }: SendDeps,
  { incident: { thread } }: StoredIncident,
  record: IncidentRecord,
): Care | undefined {
  if (thread === undefined || !isAbout(thread, record)) return undefined;
  const care = careOf(record, policy.stored_mutes ?? [], clock.now());
  return isSameCare(thread.care, care) ? undefined : care;
}

/** An incident that has begun anew has a message of its own once its first alert is sent. */
function isAbout({ first, latest = first }: Thread, { began_at }: IncidentRecord): boolean {
  return began_at <= latest.observed_at;
}

/**
 * Resolves to the thread of an incident with the people who take care of it now, so that its message goes on naming
 * them when it is edited. An alert is never late or lost for it: when they cannot be read, the message names those of
 * before.
 */
export async function withCareNow(
  { store, policy, clock, telemetry }: SendDeps,
  { edit: keepsMessages }: Channel,
  thread: Thread | undefined,
): Promise<Thread | undefined> {
  if (thread === undefined || thread.is_of_many || keepsMessages === undefined) return thread;
  const { first } = thread;
  try {
    const record = await store.incidentsOf(first.account_id).read(incidentIdOf(incidentOf(first)));
    if (record === undefined || !isAbout(thread, record)) return thread;
    return { ...thread, care: careOf(record, policy.stored_mutes ?? [], clock.now()) };
  } catch (error) {
    telemetry.log('warn', 'alert.care_not_read', { reason: toError(error).name });
    return thread;
  }
}

/** Edits the message of these incidents, of which a list has several. Resolves to false when the channel does not take edits now. */
async function edit({ deps, channel }: Turn, own: readonly Stale[]): Promise<boolean> {
  const { thread, operations } = own[0]?.stored.incident ?? {};
  if (thread === undefined || operations === undefined || channel.edit === undefined) return true;
  const list = await listWith({ deps, channel }, thread, { message: [], incidents: new Map() });
  if (!thread.is_of_many || list !== undefined) {
    const result = await channel.edit({ ...thread, care: own[0]?.care }, operations, list);
    if (result.kind !== 'sent')
      deps.telemetry.log('warn', 'alert.edit_failed', { channel: channel.name, reason: result.reason });
    if (result.kind === 'failed') return false;
  }
  for (const { stored, care } of own)
    await deps.store.incidents.change(channel.name, stored, (incident) =>
      incident.thread?.ts === thread.ts ? { ...incident, thread: { ...incident.thread, care } } : incident,
    );
  return true;
}

/** A mute of one incident names it, and any other one can cover every open incident of its account. */
async function recordsWithNews({
  deps: { store, policy, clock },
  look,
}: Turn): Promise<readonly IncidentRecord[]> {
  const mutes = newsOfMutes(policy.stored_mutes ?? [], clock.now());
  const wide = new Set(mutes.filter(isWide).map(({ account_id }) => account_id));
  const narrow = Map.groupBy(
    mutes.filter((mute) => !isWide(mute)),
    ({ account_id }) => account_id,
  );
  const read = await Promise.all([
    ...[...wide].map((accountId) => store.readOpenRecords(accountId)),
    ...[...narrow].map(([accountId, own]) =>
      store.incidentsOf(accountId).readMany(own.flatMap(({ incident_id }) => incident_id ?? [])),
    ),
  ]);
  return [
    ...new Map([...look.acknowledged, ...read.flat()].map((record) => [incidentOf(record), record])).values(),
  ];
}

function isWide({ incident_id }: { readonly incident_id?: string | undefined }): boolean {
  return incident_id === undefined;
}
