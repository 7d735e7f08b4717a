/**
 * Writes nudges, small items that name an account for which another process has left work, in the order of time. The
 * table of a process that leaves work for pollers nudges the account with each write that a poller has to notice.
 */

import { MINUTE_MS } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { accountIdOfWork, isReadRequestKey, nudgeKey } from './keys.ts';
import { type Table, type Update, WORK_INDEX } from './table.ts';
import { KEY } from './table-access.ts';

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
type Nudge = (accountId: string) => Promise<void>;

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

/**
 * The nudge is written beside the item, so that a command does not wait for it. A poller that comes too early looks
 * again. A nudge that fails is logged, and the poller finds the work within a minute.
 */
export function nudgingTable(table: Table, nudge: Nudge, telemetry: Telemetry): Table {
  return {
    ...table,
    async update(update) {
      const accountId = leavesWork(update) ? accountIdOfWork(update.key) : undefined;
      if (accountId === undefined) return table.update(update);
      const [outcome] = await Promise.all([table.update(update), nudged(nudge, accountId, telemetry)]);
      return outcome;
    },
  };
}

async function nudged(nudge: Nudge, accountId: string, telemetry: Telemetry): Promise<void> {
  try {
    await nudge(accountId);
  } catch (error) {
    telemetry.log('warn', 'nudge.failed', { account_id: accountId, reason: toError(error).name });
  }
}

/** A record that the write does not put into the work index leaves nothing to do. */
function leavesWork({ key, set }: Update): boolean {
  return isReadRequestKey(key) || set[WORK_INDEX.partitionKey] !== undefined;
}
