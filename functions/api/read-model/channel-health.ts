/** Whether every alert channel accepts the alerts that wait for it, as the items of the notifier say. A deaf channel cannot alert about itself. */

import { DEAF_MS, deafMsOf } from '../../../shared/alerts/channel-health.ts';
import { alertChannelKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';

/** The names that the notifier uses. A channel that is not set up has no item. */
const CHANNELS = ['slack', 'email'] as const;

/** Sentences for a person; empty when every channel accepts its alerts. */
export async function deafChannelReasons(
  table: Pick<Table, 'get'>,
  nowMs: number,
): Promise<readonly string[]> {
  const reasons = await Promise.all(CHANNELS.map((channel) => reasonOf(table, channel, nowMs)));
  return reasons.filter((reason) => reason !== undefined);
}

async function reasonOf(
  table: Pick<Table, 'get'>,
  channel: string,
  nowMs: number,
): Promise<string | undefined> {
  const item = await table.get(alertChannelKey(channel));
  const [sinceMs, reason] = [item?.['waiting_since_ms'], item?.['last_reason']];
  const deafMs = deafMsOf({ waiting_since_ms: typeof sinceMs === 'number' ? sinceMs : undefined }, nowMs);
  if (deafMs < DEAF_MS) return undefined;
  const answer = typeof reason === 'string' ? ` (${reason})` : '';
  return `The alert channel ${channel} has taken nothing for ${Math.round(deafMs / 60_000)} min although alerts wait for it${answer}: see channel-deaf in the runbook.`;
}
