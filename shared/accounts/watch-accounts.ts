/** Keeps a process up to date about the accounts of the table, at the price of one small read in some seconds. */

import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { AccountItem } from './account-item.ts';
import type { AccountReader } from './account-store.ts';

export interface AccountWatch {
  /**
   * Resolves to the items as they were at most `LOOK_MS` ago. While the table cannot be read it resolves to what was
   * read last, and rejects only when nothing was ever read.
   */
  items(): Promise<readonly AccountItem[]>;
  /** The next call of `items` reads the table, because this process has changed it. */
  forget(): void;
}

/** A change is seen within this time. Reading the stamp costs half a read unit, all accounts together. */
export const LOOK_MS = 15_000;

/** A change whose stamp was lost by a crash is seen within this time, because everything is read again. */
const WHOLE_MS = 600_000;

interface Known {
  readonly items: readonly AccountItem[];
  readonly stamp: string | undefined;
  readonly wholeAtMs: number;
}

export function watchAccounts(reader: AccountReader, clock: Clock, telemetry: Telemetry): AccountWatch {
  let known: Known | undefined;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let underWay: Promise<readonly AccountItem[]> | undefined;

  const look = async (): Promise<readonly AccountItem[]> => {
    const nowMs = clock.now();
    try {
      // The stamp is read first: a change that comes between the two reads is then seen at the next look at the latest.
      const stamp = await reader.stamp();
      const isCurrent = known?.stamp === stamp && nowMs - (known?.wholeAtMs ?? 0) < WHOLE_MS;
      if (known === undefined || !isCurrent) known = { items: await reader.list(), stamp, wholeAtMs: nowMs };
      lookedAtMs = nowMs;
      return known.items;
    } catch (error) {
      if (known === undefined) throw error;
      telemetry.log('warn', 'accounts.not_read', { reason: toError(error).name });
      lookedAtMs = nowMs;
      return known.items;
    }
  };
  return {
    async items() {
      if (known !== undefined && clock.now() - lookedAtMs < LOOK_MS) return known.items;
      underWay ??= look().finally(() => {
        underWay = undefined;
      });
      return underWay;
    },
    forget() {
      lookedAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}
