/**
 * Makes the audit record of a request: who asked, for what, and about which things. It holds no text of the caller's
 * own.
 */

import type { Caller } from '../../../shared/callers/authorize.ts';
import { type AuditDeps, type AuditTrail, openAuditTrail } from '../../../shared/commands/audit-trail.ts';
import type { RawRequest } from './read-request.ts';
import type { Route } from './route.ts';

export interface AuditedRequest {
  readonly raw: Pick<RawRequest, 'ids'>;
  readonly requestId: string;
  readonly caller: Caller;
  /** The request came at this time, in milliseconds since the epoch by our clock. */
  readonly receivedMs: number;
}

export function openRequestAudit(
  deps: AuditDeps,
  route: Route,
  { raw, requestId, caller, receivedMs }: AuditedRequest,
): AuditTrail {
  const { project_id, ...others } = raw.ids;
  const resource = Object.entries(others).filter(([, id]) => isId(id));
  const request = {
    account_id: caller.account_id,
    request_id: requestId,
    client_id: caller.client_id,
    email: caller.email,
    call: route.id,
    project_id: project_id !== undefined && isId(project_id) ? project_id : undefined,
    resource: Object.fromEntries(resource),
  };
  return openAuditTrail(deps, request, receivedMs);
}

/**
 * Returns whether the text can be an id. The audit begins before the ids of the path are checked, and arbitrary text
 * of a caller must not get into it.
 */
function isId(text: string): boolean {
  return /^[\w-]{1,100}$/.test(text);
}
