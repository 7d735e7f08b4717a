/**
 * Writes nudges: small items that name an account for which another process has left work, in the order of time. A lane
 * reads the newest ones once a second, for all its accounts together. A nudge that is lost delays work and loses none,
 * because each account looks for its work by itself once a minute.
 */

import { MINUTE_MS } from '../core/time/durations.ts';
import type { Clock } from '../runtime/clock.ts';
import { nudgeKey } from '../store/keys.ts';
import type { Table } from '../store/table.ts';
import { KEY } from '../store/table-access.ts';

/** A nudge has these attributes. */
export const NUDGE_ATTRIBUTES = [...KEY, 'kind', 'expires_at'] as const;

/** A nudge is read within seconds. It stays for a few minutes, for people who look for the cause of a delay. */
const KEPT_MS = 10 * MINUTE_MS;

/**
 * One process nudges an account at most once in this time, because the poller looks again for some seconds after each
 * nudge.
 */
const INTERVAL_MS = 1_000;

/** A process remembers the last nudge of at most this many accounts. Beyond that it begins to remember anew. */
const REMEMBERED_MAX = 10_000;

/** Resolves when the nudge is written, or at once when the same process nudged the account a moment ago. */
export type Nudge = (accountId: string) => Promise<void>;

export function createNudge(table: Table, clock: Clock): Nudge {
  const nudgedAtMs = new Map<string, number>();
  return async (accountId) => {
    const nowMs = clock.now();
    const beforeMs = nudgedAtMs.get(accountId);
    if (beforeMs !== undefined && Math.abs(nowMs - beforeMs) < INTERVAL_MS) return;
    if (nudgedAtMs.size >= REMEMBERED_MAX) nudgedAtMs.clear();
    nudgedAtMs.set(accountId, nowMs);
    const expires_at = Math.floor((nowMs + KEPT_MS) / 1_000);
    await table.update({ key: nudgeKey(nowMs, accountId), set: { kind: 'nudge', expires_at } });
  };
}
