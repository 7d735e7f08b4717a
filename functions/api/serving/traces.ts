/**
 * Leaves traces beside the audit: one log line and one count for each refusal, each session and each read of secrets.
 * None contains a token.
 */

import type { splitFigures } from '../../../shared/runtime/metric-names.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Problem } from './problem.ts';

export type RefusalReason = (typeof splitFigures.ApiRefusals)[number];

export type AccessKind = (typeof splitFigures.ApiAccesses)[number];

/** This says who asked for what, as far as the bridge knows it at that moment. */
export interface Asker {
  readonly request_id: string;
  /** The call is the id of the route, or the name of the page of the console. */
  readonly call: string;
  readonly client_id?: string | undefined;
  readonly account_id?: string | undefined;
  /**
   * This is the public part of a token, by which the token can be revoked. When the token was refused, the id may be
   * made up.
   */
  readonly token_id?: string | undefined;
  /** This is a code of the reason, when there is more to say than the kind of the refusal. */
  readonly detail?: string | undefined;
}

export function noteRefusal(telemetry: Telemetry, reason: RefusalReason, asker: Asker): void {
  telemetry.measure('ApiRefusals', 1, reason);
  if (reason === 'unauthenticated') telemetry.measure('TokensRefused', 1);
  telemetry.log('warn', 'request.refused', { ...asker, reason });
}

export function noteAccess(telemetry: Telemetry, kind: AccessKind, asker: Asker): void {
  telemetry.measure('ApiAccesses', 1, kind);
  telemetry.log('info', 'access.noted', { ...asker, kind });
}

/** Returns undefined when the problem is a mistake in the request or a failure, and not a refusal of the caller. */
export function refusalOf({ type, isHidden }: Problem): RefusalReason | undefined {
  if (isHidden) return 'project-hidden';
  if (type === 'unauthenticated' || type === 'scope-missing') return type;
  return type === 'account-wide' || type === 'rate-limited' ? type : undefined;
}
