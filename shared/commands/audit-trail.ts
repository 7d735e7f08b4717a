/**
 * Writes the audit record of one request while the request runs: its beginning, its end, and what is reported when
 * the table fails.
 */

import { provesNoWork } from '../core/rates/no-work.ts';
import { isoTimeOf } from '../core/time/timestamp.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { AuditIntent, AuditLog, AuditOutcome } from './audit-log.ts';

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
