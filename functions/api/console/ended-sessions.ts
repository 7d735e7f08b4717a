/** Sessions of the console that somebody has ended: until their cookies end by themselves, they are good for nothing. */

import { endedSessionKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';

/** Names of the attributes of its items. */
export const ENDED_SESSION_ATTRIBUTES = ['ended_at_ms'] as const;

/** TTL deletes some time later; a session that is over is refused by its own end. */
const KEPT_LONGER_SECONDS = 3_600;

export interface EndedSessions {
  end(session: { readonly id: string; readonly endsAtMs: number }, nowMs: number): Promise<void>;
  isEnded(sessionId: string): Promise<boolean>;
}

export function createEndedSessions(table: Pick<Table, 'get' | 'update'>): EndedSessions {
  return {
    async end({ id, endsAtMs }, nowMs) {
      const expires_at = Math.ceil(endsAtMs / 1_000) + KEPT_LONGER_SECONDS;
      const set = { kind: 'ended_session', ended_at_ms: nowMs, expires_at };
      await table.update({ key: endedSessionKey(id), set });
    },
    isEnded: async (sessionId) => (await table.get(endedSessionKey(sessionId))) !== undefined,
  };
}
