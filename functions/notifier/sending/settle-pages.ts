/** Ends the pages of a channel whose trouble has ended, and informs it that a person takes care of what is left. */

import { isPageOver, type Page, settlementOf } from '../../../shared/alerts/channel-apps.ts';
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
