/**
 * Keeps the sessions of the console that their holders have ended, and the sign-ins that were completed. Their cookies
 * last longer, and are refused.
 */

import { endedSessionKey } from '../../../../shared/store/keys.ts';
import type { Table } from '../../../../shared/store/table.ts';

/** The item of an ended session has these attributes. */
export const ENDED_SESSION_ATTRIBUTES = ['ended_at_ms'] as const;

/**
 * The item is kept this long past the end of the session, after which the cookie is refused because it has expired.
 */
const KEPT_LONGER_SECONDS = 3_600;

export interface EndedSessions {
  /** Resolves to false when it had ended before. Of several calls at once, exactly one resolves to true. */
  end(session: { readonly id: string; readonly endsAtMs: number }, nowMs: number): Promise<boolean>;
  isEnded(sessionId: string): Promise<boolean>;
}

export function createEndedSessions(table: Table): EndedSessions {
  return {
    async end({ id, endsAtMs }, nowMs) {
      const expires_at = Math.ceil(endsAtMs / 1_000) + KEPT_LONGER_SECONDS;
      const set = { kind: 'ended_session', ended_at_ms: nowMs, expires_at };
      const condition = { kind: 'absent', name: 'ended_at_ms' } as const;
      return (await table.update({ key: endedSessionKey(id), set, condition })) === 'applied';
    },
    isEnded: async (sessionId) => (await table.get(endedSessionKey(sessionId))) !== undefined,
  };
}
