/**
 * Wraps the table of a process that leaves work for pollers: each write that a poller has to notice nudges the account
 * of the item, so that no writer has to think of it.
 */

import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { accountIdOfUsage, accountIdOfWork, isReadRequestKey } from '../store/keys.ts';
import { type Table, type TableCounters, type Update, WORK_INDEX } from '../store/table.ts';
import type { Nudge } from './nudges.ts';

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

/**
 * Wraps the counters of such a process: what commands have used of the rate limit is used up for the poller of the
 * account, too.
 */
export function nudgingCounters(counters: TableCounters, nudge: Nudge, telemetry: Telemetry): TableCounters {
  return {
    async incrementMembers(increment) {
      const accountId = accountIdOfUsage(increment.key);
      if (accountId === undefined) return counters.incrementMembers(increment);
      const [counted] = await Promise.all([
        counters.incrementMembers(increment),
        nudged(nudge, accountId, telemetry),
      ]);
      return counted;
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
