/** Records what a visitor of the console did: log lines and counts of refusals, and audit records of sessions. */

import type { AuditLog } from '../../../../shared/commands/audit-log.ts';
import { reportAuditFailure } from '../../../../shared/commands/audit-trail.ts';
import { isoTimeOf } from '../../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import { lifeOf } from '../../serving/audit-request.ts';
import { type Asker, noteAccess, noteRefusal, type RefusalReason } from '../../serving/traces.ts';
import type { Visitor } from './visitor.ts';

export interface RefusalDeps {
  readonly telemetry: Telemetry;
  readonly newId: () => string;
}

export interface SessionTraceDeps extends RefusalDeps {
  readonly audit: Pick<AuditLog, 'end'>;
  readonly clock: Clock;
}

/** These fields describe the holder of a session. Whether a page is shown to them is decided elsewhere. */
export type SessionHolder = Pick<Visitor, 'caller' | 'session'>;

/** `call` names the page, or what was asked for on it. */
export function noteVisitorRefusal(
  deps: RefusalDeps,
  visitor: SessionHolder,
  reason: RefusalReason,
  call: string,
): void {
  noteRefusal(deps.telemetry, reason, askerOf(deps, visitor, call));
}

/** Notes the beginning or the end of a session with one log line, one count, and one record of the audit. */
export async function noteSession(
  deps: SessionTraceDeps,
  visitor: SessionHolder,
  kind: 'signed-in' | 'signed-out',
): Promise<void> {
  const { telemetry, audit, clock } = deps;
  const call = kind === 'signed-in' ? 'consoleSignIn' : 'consoleSignOut';
  const asker = askerOf(deps, visitor, call);
  noteAccess(telemetry, kind, asker);
  const { request_id } = asker;
  const { client_id, account_id, email } = visitor.caller;
  const received_at = isoTimeOf(clock.now());
  const intent = {
    request_id,
    client_id,
    email,
    account_id,
    ...lifeOf(visitor.caller),
    call,
    received_at,
    resource: {},
    project_id: undefined,
  };
  await audit
    .end(intent, { outcome: 'done', status: 303, duration_ms: 0 })
    .catch((error: unknown) => reportAuditFailure(telemetry, intent, error));
}

function askerOf({ newId }: RefusalDeps, { caller, session }: SessionHolder, call: string): Asker {
  return {
    request_id: newId(),
    call,
    client_id: caller.client_id,
    account_id: caller.account_id,
    token_id: 'token_id' in session ? session.token_id : undefined,
  };
}
