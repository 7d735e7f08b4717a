/**
 * Keeps one record per command in the table: who asked for what, and what came of it. The record is written while the
 * request runs, and holds no value of the request.
 */

import { provesNoWork } from '../rates/retry-decision.ts';
import { isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { auditKey, auditListOf } from '../store/keys.ts';
import { listed, type Table, type Update } from '../store/table.ts';

/** A record is `open` while it has no outcome. */
export const AUDIT_OUTCOMES = ['done', 'refused', 'unknown', 'open'] as const;

export interface AuditIntent {
  readonly account_id: string;
  /** The record belongs to this life of the account, whose callers may read it. It is absent in the first life. */
  readonly generation?: number | undefined;
  /** The caller belongs to this other account. It is absent when the record is about the caller's own account. */
  readonly by_account_id?: string | undefined;
  readonly request_id: string;
  readonly client_id: string;
  /** This is the address of a person who signed in at the company's provider, whose `client_id` people cannot read. */
  readonly email?: string | undefined;
  /** This is the name of the call of the API. */
  readonly call: string;
  /** This is undefined when the call concerns no single project. */
  readonly project_id: string | undefined;
  /** These are the other ids of the path, by their names there. */
  readonly resource: Readonly<Record<string, string>>;
  /** The time is in ISO 8601, by our clock. */
  readonly received_at: string;
}

interface AuditOutcome {
  /**
   * `done` means that the answer was a success, `refused` that nothing was done, `unknown` that it may have been
   * done.
   */
  readonly outcome: 'done' | 'refused' | 'unknown';
  /** This is the HTTP status of the caller's answer. */
  readonly status: number;
  /** This is the type of the problem, when the bridge itself refused the request or failed. */
  readonly problem?: string | undefined;
  readonly duration_ms: number;
  /** These are the ids of the operations that the command started. */
  readonly operation_ids?: readonly string[] | undefined;
}

export interface AuditLog {
  /** Writes the record without an outcome. */
  begin(intent: AuditIntent): Promise<void>;
  /** Writes the whole record, because its beginning may have been lost. An outcome that is stored stays as it is. */
  end(intent: AuditIntent, outcome: AuditOutcome): Promise<void>;
}

/** A record is kept for longer than a year, so that a yearly review finds everything. */
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
    // A write may add to a record, and must never change it.
    condition: { kind: 'absent', name: 'outcome' },
  });
  return {
    begin: async (intent) => void (await table.update(update(intent))),
    end: async (intent, outcome) => void (await table.update(update(intent, outcome))),
  };
}

export interface AuditDeps {
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

type OtherAccount = Pick<AuditIntent, 'account_id' | 'generation'>;

export interface AuditTrail {
  /** Adds what the request names beside the ids of its path. It must be called before `begin`. */
  about(resource: AuditIntent['resource']): void;
  /** Begins to write the record, together with the command. A crash afterwards leaves a record without an outcome. */
  begin(): void;
  hasBegun(): boolean;
  /**
   * Writes the outcome, and resolves when the beginning is written, too. It does not wait for the beginning first, because
   * a beginning that comes late changes no outcome. It never rejects: a request that was carried out must be answered,
   * whatever the audit's table does. `other` is another account that the request has changed, whose audit gets the record,
   * too.
   */
  end(outcome: Omit<AuditOutcome, 'duration_ms'>, other?: OtherAccount): Promise<void>;
}

/** The request came at `receivedMs`, in milliseconds since the epoch by our clock. The duration counts from then. */
export function openAuditTrail(
  { audit, clock, telemetry }: AuditDeps,
  request: Omit<AuditIntent, 'received_at'>,
  receivedMs: number,
): AuditTrail {
  let intent = { ...request, received_at: isoTimeOf(receivedMs) };
  const reportFailure = (error: unknown) => reportAuditFailure(telemetry, intent, error);
  let begun: Promise<void> | undefined;
  return {
    about(resource) {
      intent = { ...intent, resource: { ...intent.resource, ...resource } };
    },
    begin() {
      begun = audit.begin(intent).catch(reportFailure);
    },
    hasBegun: () => begun !== undefined,
    async end(outcome, other) {
      const whole = { ...outcome, duration_ms: Math.max(0, clock.now() - receivedMs) };
      const { account_id: by_account_id, generation: _own, ...about } = intent;
      const written = [
        audit.end(intent, whole),
        other && audit.end({ ...about, ...other, by_account_id }, whole),
      ];
      await Promise.all([...written.map((each) => each?.catch(reportFailure)), begun]);
    },
  };
}

export function reportAuditFailure(telemetry: Telemetry, intent: AuditIntent, error: unknown): void {
  const { request_id, client_id, call } = intent;
  telemetry.measure('AuditFailed', 1);
  telemetry.log('error', 'audit.failed', { request_id, client_id, call, reason: toError(error).name });
}

/** Returns what the upstream's answer says about the command. */
export function auditOutcomeOf(status: number): AuditOutcome['outcome'] {
  if (status < 300) return 'done';
  return provesNoWork(status) ? 'refused' : 'unknown';
}
