/** Ends the pages of a channel whose trouble has ended, and informs pagers that a person takes care of what is left, so that they do not wake another person for it. */

import { isPageOver, type Page, settlementOf } from '../../../shared/alerts/channel-apps.ts';
import { type IncidentRecord, incidentOf, withoutAnnouncement } from '../../../shared/alerts/incidents.ts';
import type { Channel } from '../channels/channel.ts';
import { wasReported } from '../deciding/incident.ts';
import type { Notice } from '../deciding/notice.ts';
import type { IncidentRecordDeps, NoticeInbox } from '../store-event.ts';
import type { IncidentMemory } from './channel-state.ts';
import { hold, type SendDeps, type Turn } from './turn.ts';

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
  const due = pages
    .flatMap((page) => {
      const settlement = settlementOf(page, records, nowMs);
      return settlement === undefined
        ? []
        : [{ key: page.key, settlement, isOver: isPageOver(page, records) }];
    })
    .slice(0, SETTLED_MAX);
  if (due.length === 0 || !(await hold(turn, {}))) return;
  const result = await channel.settle(due);
  if (result.kind !== 'sent')
    deps.telemetry.log('warn', 'alert.pages_not_settled', { channel: channel.name, reason: result.reason });
  if (result.kind === 'failed') return;
  const settled = new Map(due.map((one) => [one.key, one]));
  const left = pages.flatMap((page) => {
    const found = settled.get(page.key);
    if (found === undefined) return [page];
    return found.settlement === 'resolve' || found.isOver ? [] : [{ ...page, is_acknowledged: true }];
  });
  await hold(turn, { pages: left });
}

/** Resolves to how the incidents of the pages stand. A channel that takes no alerts has no record, and its own item says so. */
async function recordsOf({ store }: SendDeps, pages: readonly Page[]): Promise<Records> {
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
    const { deaf_reported_ms } = await store.channels.read(channel);
    for (const id of incident_ids)
      records.set(id, { state: deaf_reported_ms === undefined ? 'recovered' : 'failing' });
  }
  return records;
}

export interface AcknowledgementDeps extends IncidentRecordDeps {
  readonly store: IncidentRecordDeps['store'] & {
    readonly inbox: NoticeInbox;
    readonly incidents: IncidentMemory;
  };
}

/** Adds each acknowledgement once, and only on a channel that has reported the incident. */
export async function addAcknowledgements(
  { store }: AcknowledgementDeps,
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
export async function endAnnouncements(
  { store, clock }: IncidentRecordDeps,
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
