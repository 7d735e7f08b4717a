/** Who asked for what, and what came of it: one record per command, with no value of the request in it. */

import type { Clock } from '../runtime/clock.ts';
import { listed } from '../store/items.ts';
import { auditKey, auditListOf } from '../store/keys.ts';
import type { Table, Update } from '../store/table.ts';

export interface AuditIntent {
  readonly account_id: string;
  readonly request_id: string;
  readonly client_id: string;
  /** The call of the API. */
  readonly call: string;
  /** Undefined: the call is about no single project. */
  readonly project_id: string | undefined;
  /** Ids of the path beside the project. */
  readonly resource: Readonly<Record<string, string>>;
  /** ISO 8601, our clock. */
  readonly received_at: string;
}

export interface AuditOutcome {
  /** `done`: answered with a success; `refused`: nothing was done; `unknown`: nobody can say. */
  readonly outcome: 'done' | 'refused' | 'unknown';
  /** What the caller was answered. */
  readonly status: number;
  /** The problem that the bridge itself had with it. */
  readonly problem?: string | undefined;
  readonly duration_ms: number;
  /** What it started. */
  readonly operation_ids?: readonly string[] | undefined;
}

export interface AuditLog {
  /** Before anything is done: a crash afterwards leaves a record without an outcome. */
  begin(intent: AuditIntent): Promise<void>;
  /** Once; the whole record again, should its beginning have been lost. */
  end(intent: AuditIntent, outcome: AuditOutcome): Promise<void>;
}

/** Longer than a year, for whoever asks once a year. */
export const KEPT_SECONDS = 400 * 24 * 3_600;

export function createAuditLog(table: Table, clock: Clock): AuditLog {
  const update = (intent: AuditIntent, outcome?: AuditOutcome): Update => ({
    key: auditKey(intent.account_id, intent.request_id),
    set: {
      kind: 'audit',
      ...intent,
      ...outcome,
      ...listed(auditListOf(intent.account_id), `${intent.received_at}#${intent.request_id}`),
      expires_at: Math.floor(clock.now() / 1_000) + KEPT_SECONDS,
    },
    // Appended to, never changed: an outcome stays what it was.
    condition: { kind: 'absent', name: 'outcome' },
  });
  return {
    begin: async (intent) => void (await table.update(update(intent))),
    end: async (intent, outcome) => void (await table.update(update(intent, outcome))),
  };
}
