/** Finds the alert channels that are deaf, from the notifier's items. A deaf channel cannot report this itself. */

import { DEAF_MS, deafMsOf } from '../../../shared/alerts/deaf-channel.ts';
import { alertChannelKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';

/**
 * Resolves to a sentence for each channel that accepts nothing. A channel that is not set up has no item, and is not
 * deaf.
 */
export async function deafChannelReasons(
  table: Table,
  channels: readonly string[],
  nowMs: number,
): Promise<readonly string[]> {
  const reasons = await Promise.all(channels.map((channel) => reasonOf(table, channel, nowMs)));
  return reasons.filter((reason) => reason !== undefined);
}

async function reasonOf(table: Table, channel: string, nowMs: number): Promise<string | undefined> {
  const item = await table.get(alertChannelKey(channel));
  const [sinceMs, reason] = [item?.['waiting_since_ms'], item?.['last_reason']];
  const deafMs = deafMsOf({ waiting_since_ms: typeof sinceMs === 'number' ? sinceMs : undefined }, nowMs);
  if (deafMs < DEAF_MS) return undefined;
  const answer = typeof reason === 'string' ? ` (${reason})` : '';
  return `The alert channel ${channel} has taken nothing for ${Math.round(deafMs / 60_000)} min although alerts wait for it${answer}: see channel-deaf in the runbook.`;
}
