/**
 * Makes the audit record of a request: who asked, for what, and about which things. It holds no text of the caller's
 * own.
 */

import type { Caller } from '../../../shared/callers/authorize.ts';
import type { AuditIntent } from '../../../shared/commands/audit-log.ts';
import { type AuditDeps, type AuditTrail, openAuditTrail } from '../../../shared/commands/audit-trail.ts';
import type { RawRequest } from './read-request.ts';
import type { ApiRequest, Route } from './route.ts';

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
  const request = {
    account_id: caller.account_id,
    ...lifeOf(caller),
    request_id: requestId,
    client_id: caller.client_id,
    email: caller.email,
    call: route.id,
    project_id: project_id !== undefined && isId(project_id) ? project_id : undefined,
    resource: idsIn(others),
  };
  return openAuditTrail(deps, request, receivedMs);
}

/** Returns the ids that the body of the request names, by the fields that the route declares. */
export function auditedIdsIn(
  { audited = [] }: Route,
  body: ApiRequest['body'],
): Readonly<Record<string, string>> {
  return idsIn(Object.fromEntries(audited.map((name) => [name, body?.[name]])));
}

/** The first life of an account leaves no mark in its records. */
export function lifeOf({ generation }: Pick<Caller, 'generation'>): Pick<AuditIntent, 'generation'> {
  return generation === undefined || generation === 1 ? {} : { generation };
}

function idsIn(named: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const ids = Object.entries(named).filter((entry): entry is [string, string] => isId(entry[1]));
  return Object.fromEntries(ids);
}

/**
 * Returns whether the text can be an id. The audit begins before the ids of the path are checked, and arbitrary text
 * of a caller must not get into it.
 */
function isId(text: unknown): text is string {
  return typeof text === 'string' && /^[\w-]{1,100}$/.test(text);
}
