/** Stores the wishes of callers for a fresh reading of a project. The poller takes them and reads the projects soon. */

import type { Clock } from '../../runtime/clock.ts';
import { wishesOf, wishKey } from '../keys.ts';
import type { Table } from '../table.ts';
import { expiresAtOf } from './retention.ts';

export function createReadingWishes(table: Table, accountId: string, clock: Clock) {
  const work = wishesOf(accountId);
  return {
    /**
     * Asks the poller to read the project at once. Within `intervalMs` of another wish for the project it changes
     * nothing: the other wish still waits, or was fulfilled just now.
     */
    async wishForReading(projectId: string, intervalMs: number): Promise<void> {
      const nowMs = clock.now();
      await table.update({
        key: wishKey(accountId, projectId),
        set: { kind: 'read_request', work, asked_at_ms: nowMs, expires_at: expiresAtOf(clock) },
        condition: {
          kind: 'any',
          of: [
            { kind: 'absent', name: 'asked_at_ms' },
            { kind: 'less', name: 'asked_at_ms', value: nowMs - intervalMs + 1 },
          ],
        },
      });
    },

    /** Resolves to the projects that were wished for since the previous call. */
    async takeWishes(): Promise<readonly string[]> {
      const keys = await table.queryWork({ work });
      await Promise.all(keys.map((key) => table.update({ key, set: {}, remove: ['work'] })));
      return keys.map(({ sk }) => sk);
    },
  };
}
