/** Knows whether the commands of an account are held, so that not every command has to wait for a read of the table. */

import type { AccountFreeze } from '../../../shared/commands/queue/account-freeze.ts';
import type { QueueStore } from '../../../shared/commands/queue/queue-store.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';

export interface FreezeWatch {
  /** Resolves to undefined when the account was not frozen `UNFROZEN_MS` ago or later. Rejects when the table does. */
  read(): Promise<AccountFreeze | undefined>;
  /** The next call reads the table, because this process has frozen the account. */
  forget(): void;
}

/**
 * An account that was not frozen is taken as not frozen for this time. Commands that follow each other, as those of a
 * deployment do, then wait for one read together. The call that freezes an account waits for the same time before it
 * answers, so that no command leaves that comes after its answer.
 */
export const UNFROZEN_MS = 500;

export function createFreezeWatch(store: Pick<QueueStore, 'readFreeze'>, clock: Clock): FreezeWatch {
  let unfrozenAtMs = Number.NEGATIVE_INFINITY;
  let readCount = 0;
  return {
    async read() {
      // The clock of a machine can be set back, so an age below 0 counts for nothing either.
      const askedAtMs = clock.now();
      const ageMs = askedAtMs - unfrozenAtMs;
      if (ageMs >= 0 && ageMs < UNFROZEN_MS) return undefined;
      const place = ++readCount;
      const freeze = await store.readFreeze();
      // A freeze is read anew each time, so that it ends for callers when it is lifted. A read that began before `forget` counts for nothing.
      if (place === readCount) unfrozenAtMs = freeze === undefined ? askedAtMs : Number.NEGATIVE_INFINITY;
      return freeze;
    },
    forget() {
      readCount += 1;
      unfrozenAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}
