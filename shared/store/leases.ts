/**
 * Reads and writes the lease of an account: which process polls it, until when, and what the previous process has
 * spent.
 */

import * as z from 'zod';
import type { Clock } from '../runtime/clock.ts';
import { leaseKey } from './keys.ts';
import type { Condition, Key, Table } from './table.ts';
import type { NoteUnreadable } from './unreadable.ts';

/** Says when the next request would leave if all left evenly, in milliseconds since the epoch. */
const leaseSpending = z.object({ next_at_ms: z.number(), ended_at_ms: z.number().optional() });

export type LeaseSpending = z.infer<typeof leaseSpending>;

export interface LeaseAdapterDeps {
  readonly clock: Clock;
  readonly noteUnreadable: NoteUnreadable;
}

/**
 * Records are safe without a lease, because every write has its own condition. It keeps two pollers from sending at
 * once.
 */
export function createLeases(table: Table, accountId: string, { clock, noteUnreadable }: LeaseAdapterDeps) {
  const key = leaseKey(accountId);

  return {
    /**
     * Resolves to `false` while another holder's lease has not ended. The same holder may acquire it again, which
     * prolongs it.
     */
    async acquireLease(holder: string, durationMs: number): Promise<boolean> {
      const nowMs = clock.now();
      const lease = { kind: 'lease', holder, expires_at_ms: nowMs + durationMs };
      const result = await table.update({
        key,
        set: lease,
        remove: ['spending'],
        condition: isFreeFor(holder, nowMs),
      });
      if (result === 'applied') return true;
      if (!(await hasUnreadableEnd(table, key))) return false;
      noteUnreadable({ key, fields: ['expires_at_ms'] });
      await table.update({ key, set: lease });
      return true;
    },

    /** Ends the lease at once, and stores what its holder has spent for the next one. */
    async releaseLease(holder: string, spending?: LeaseSpending): Promise<void> {
      await table.update({
        key,
        set: { expires_at_ms: 0, ...(spending && { spending: { ...spending } }) },
        condition: { kind: 'equals', name: 'holder', value: holder },
      });
    },

    /**
     * Resolves to undefined when there is no lease item. `spending` is undefined when the last holder did not release
     * its lease.
     */
    async readLease(): Promise<{ readonly spending: LeaseSpending | undefined } | undefined> {
      const item = await table.get(key);
      return item && { spending: leaseSpending.safeParse(item['spending']).data };
    },
  };
}

/**
 * A lease whose end cannot be read would never end, so it is taken over. It is the only kind of item that is
 * overwritten although it cannot be read.
 */
async function hasUnreadableEnd(table: Table, key: Key): Promise<boolean> {
  const endsAtMs = (await table.get(key))?.['expires_at_ms'];
  return endsAtMs !== undefined && typeof endsAtMs !== 'number';
}

function isFreeFor(holder: string, nowMs: number): Condition {
  return {
    kind: 'any',
    of: [
      { kind: 'absent', name: 'expires_at_ms' },
      { kind: 'less', name: 'expires_at_ms', value: nowMs },
      { kind: 'equals', name: 'holder', value: holder },
    ],
  };
}
