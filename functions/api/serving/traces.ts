/** What leaves a trace beside the audit: refusals, sessions and reads of secrets, each with one log line and one count. No token is in any. */

import type { AuditIntent } from '../../../shared/commands/audit-log.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { splitMetrics } from '../../../shared/runtime/metric-names.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Problem } from './problem.ts';

export type RefusalReason = (typeof splitMetrics.ApiRefusals.values)[number];

export type AccessKind = (typeof splitMetrics.ApiAccesses.values)[number];

/** Who asked for what, as far as it is known. */
export interface Asker {
  readonly request_id: string;
  /** The route, or the page of the console. */
  readonly call: string;
  readonly client_id?: string | undefined;
  readonly account_id?: string | undefined;
  /** The public part of a token, by which it is revoked. It may be made up when the token was refused. */
  readonly token_id?: string | undefined;
}

export function noteRefusal(telemetry: Telemetry, reason: RefusalReason, asker: Asker): void {
  telemetry.measure('ApiRefusals', 1, reason);
  telemetry.log('warn', 'request.refused', { ...asker, reason });
}

export function noteAccess(telemetry: Telemetry, kind: AccessKind, asker: Asker): void {
  telemetry.measure('ApiAccesses', 1, kind);
  telemetry.log('info', 'access.noted', { ...asker, kind });
}

/** What was asked for has been done or refused: its caller must know that, whatever the audit's table says. */
export function noteAuditFailure(telemetry: Telemetry, intent: AuditIntent, error: unknown): void {
  const { request_id, client_id, call } = intent;
  telemetry.measure('AuditFailed', 1);
  telemetry.log('error', 'audit.failed', { request_id, client_id, call, reason: toError(error).name });
}

/** Undefined: the problem is no refusal of this caller, but a mistake in the request or a failure. */
export function refusalOf({ type, isHidden }: Problem): RefusalReason | undefined {
  if (isHidden) return 'project-hidden';
  if (type === 'unauthenticated' || type === 'scope-missing') return type;
  return type === 'account-wide' || type === 'rate-limited' ? type : undefined;
}
