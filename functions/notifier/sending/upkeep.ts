/**
 * Keeps up to date what a channel has shown already: a list of many incidents, the messages of incidents that a person
 * has acknowledged or muted, and the pages of a pager, so that nobody is woken for what has ended or is cared for.
 */

import { isPageForgotten, isPageOver, type Page, settlementOf } from '../../../shared/alerts/channel-apps.ts';
import { type IncidentRecord, incidentIdOf, incidentOf } from '../../../shared/alerts/incidents.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { KnownNotice, NotifierDeps } from '../alert-store.ts';
import type { StoredIncident, StoredIncidents } from '../channel-memory.ts';
import type { Channel, ShownList } from '../channels/channel.ts';
import type { Thread } from '../deciding/incident.ts';
import { type Care, careOf, isSameCare, newsOfMutes } from '../deciding/incident-record.ts';
import type { Message, Notice } from '../deciding/notice.ts';
import { rankOf } from '../deciding/policy.ts';
import { latestOfEach } from '../deciding/waking.ts';
import { isOnlyListed, withContext } from './plan-messages.ts';
import { hold, type Turn } from './turn.ts';

type Place = Pick<Turn, 'deps' | 'channel'>;

/** No incident has such a name, because the parts of a name have no space. */
async function readList({ deps, channel }: Place, { ts }: Thread): Promise<StoredIncident | undefined> {
  const name = `list ${ts}`;
  return (await deps.store.incidents.readMany(channel.name, [name])).get(name);
}

/** When a list remembers more notices than this, it forgets those of which it shows a later one. */
const LISTED_MAX = 500;

/** Remembers that the list shows these notices as well. Doing it twice changes nothing. */
export async function noteListed(place: Place, thread: Thread, sks: readonly string[]) {
  const stored = await readList(place, thread);
  if (stored === undefined) return;
  const all = [...new Set([...(stored.incident.listed ?? []), ...sks])];
  const listed = all.length > LISTED_MAX ? (await readShown(place, all)).map(({ sk }) => sk) : all;
  const { deps, channel } = place;
  await deps.store.incidents.change(channel.name, stored, (incident) => ({ ...incident, listed }));
}

/** Resolves to the latest notice of each operation, in the order of the list. */
async function readShown({ deps, channel }: Place, sks: readonly string[]): Promise<readonly KnownNotice[]> {
  const known = new Map(
    (await deps.store.waiting.readKnown(channel.name, sks)).map((one) => [one.sk, one] as const),
  );
  const ordered = sks.flatMap((sk) => known.get(sk) ?? []);
  const latest = new Set(latestOfEach([ordered.map(({ notice }) => notice)]).flat());
  return ordered.filter(({ notice }) => latest.has(notice));
}

/**
 * Resolves to the list as it is with this message in it. It is undefined when the message belongs to no list, or to one
 * that would be longer than a message of the channel. An alert is never lost for its list: it then has a message.
 */
export async function listWith(
  place: Place,
  thread: Thread | undefined,
  { message, incidents }: { readonly message: Message; readonly incidents: StoredIncidents },
): Promise<ShownList | undefined> {
  if (thread?.is_of_many !== true) return undefined;
  const { deps, channel } = place;
  try {
    const { listed = [] } = (await readList(place, thread))?.incident ?? {};
    const before = (await readShown(place, listed)).map(({ notice }) => notice);
    if (before.length === 0) return undefined;
    const all = latestOfEach([[...before, ...message.flat()]])
      .flat()
      .toSorted((a, b) => rankOf(b.severity) - rankOf(a.severity));
    const { noticesPerMessageMax } = channel.pace;
    if (all.slice(noticesPerMessageMax).some(({ severity }) => severity !== 'info')) return undefined;
    const shown = all.slice(0, noticesPerMessageMax);
    return {
      message: await withContext(deps, [shown]),
      careOf: await caresOf(deps, shown),
      isEnough: message.flat().every((notice) => isOnlyListed(notice, incidents)),
    };
  } catch (error) {
    deps.telemetry.log('warn', 'alert.list_not_read', { reason: toError(error).name });
    return undefined;
  }
}

/** Resolves to a function that returns who takes care of what a notice is about, unless that was before it. */
async function caresOf(
  { store, policy, clock }: NotifierDeps,
  notices: readonly Notice[],
): Promise<ShownList['careOf']> {
  const byAccount = Map.groupBy(notices, ({ account_id }) => account_id);
  const records = await Promise.all(
    [...byAccount].map(([accountId, own]) =>
      store.incidentsOf(accountId).readMany(own.map((notice) => incidentIdOf(incidentOf(notice)))),
    ),
  );
  const known = new Map(records.flat().map((record) => [record.incident_id, record]));
  return (notice) => {
    const record = known.get(incidentIdOf(incidentOf(notice)));
    if (record === undefined || record.began_at > notice.observed_at) return {};
    return careOf(record, policy.stored_mutes ?? [], clock.now());
  };
}

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
  { policy, clock }: NotifierDeps,
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
  { store, policy, clock, telemetry }: NotifierDeps,
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

/** PagerDuty takes some 120 requests a minute, and pages of new trouble go first. The next sweep goes on. */
const SETTLED_MAX = 30;

type Records = Parameters<typeof settlementOf>[1];

/** Only a sweep looks. What the channel did not take is tried again by the next one. */
export async function settlePages(turn: Turn): Promise<void> {
  const { deps, channel, look, state } = turn;
  const pages = state?.pages ?? [];
  if (channel.settle === undefined || look.fresh !== undefined || pages.length === 0) return;
  const nowMs = deps.clock.now();
  if (nowMs >= look.deadlineMs) return;
  const records = await recordsOf(deps, pages);
  const found = pages.map((page) => ({ page, settlement: settlementOf(page, records, nowMs) }));
  const kept = found
    .filter(({ page, settlement }) => settlement !== undefined || !isPageForgotten(page, records, nowMs))
    .map(({ page }) => page);
  if (kept.length < pages.length && !(await hold(turn, { pages: kept }))) return;
  const due = found
    .flatMap(({ page, settlement }) =>
      settlement === undefined ? [] : [{ key: page.key, settlement, isOver: isPageOver(page, records) }],
    )
    .slice(0, SETTLED_MAX);
  if (due.length === 0 || !(await hold(turn, {}))) return;
  const result = await channel.settle(due);
  if (result.kind !== 'sent')
    deps.telemetry.log('warn', 'alert.pages_not_settled', { channel: channel.name, reason: result.reason });
  if (result.kind === 'failed') return;
  const settled = new Map(due.map((one) => [one.key, one]));
  const left = kept.flatMap((page) => {
    const one = settled.get(page.key);
    if (one === undefined) return [page];
    return one.settlement === 'resolve' || one.isOver ? [] : [{ ...page, is_acknowledged: true }];
  });
  await hold(turn, { pages: left });
}

/**
 * Resolves to how the incidents of the pages stand. A channel that takes no alerts has no record, and its own item says so
 * for as long as it is set up.
 */
async function recordsOf({ store, channels }: NotifierDeps, pages: readonly Page[]): Promise<Records> {
  const byAccount = Map.groupBy(
    pages.filter(({ channel }) => channel === undefined),
    ({ account_id }) => account_id,
  );
  const read = await Promise.all(
    [...byAccount].map(([accountId, own]) =>
      store.incidentsOf(accountId).readMany(own.flatMap(({ incident_ids }) => incident_ids)),
    ),
  );
  const records = new Map<string, { state: 'failing' | 'stalled' | 'given_up' | 'recovered' }>(
    read.flat().map((record) => [record.incident_id, record]),
  );
  for (const { channel, incident_ids } of pages) {
    if (channel === undefined) continue;
    const isSetUp = channels.some(({ name }) => name === channel);
    const isDeaf = isSetUp && (await store.channels.read(channel)).deaf_reported_ms !== undefined;
    for (const id of incident_ids) records.set(id, { state: isDeaf ? 'failing' : 'recovered' });
  }
  return records;
}
