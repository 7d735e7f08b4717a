/**
 * Keeps who asked for what: an audit record of each request, bounded ones of refusals, and log lines and counts
 * beside them. None of them holds text of the call.
 */

import { generationOf } from '../../../shared/accounts/account.ts';
import type { Caller } from '../../../shared/callers/scopes.ts';
import {
  type AuditDeps,
  type AuditIntent,
  type AuditTrail,
  openAuditTrail,
  reportAuditFailure,
} from '../../../shared/commands/audit.ts';
import { isoTimeOf, MINUTE_MS } from '../../../shared/records/time.ts';
import type { splitFigures, Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Problem } from './problem.ts';
import type { RawRequest } from './read-request.ts';
import type { ApiRequest, Route } from './route.ts';

export interface AuditedRequest {
  readonly raw: RawRequest;
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

/** A person who makes mistakes stays below it, and a program that goes on after them is seen by the first ones. */
export const RECORDED_REFUSALS_MAX = 10;

/** This is the name of the record that says how many refusals had none of their own. */
const COUNTED_CALL = 'countedRefusals';

export interface RefusalCounts {
  /** Returns true when the caller's refusals of this minute have no records of their own any more. */
  isOver(caller: Caller): boolean;
  /** Counts a refusal, and returns whether it has a record of its own. */
  note(caller: Caller, status: number): boolean;
  /**
   * Writes how many refusals of past minutes had no record. It never rejects. A process that is asked for nothing more
   * does not come to it; the count `ApiRefusals` has each refusal in any case.
   */
  recordEnded(): Promise<void>;
}

interface Counted {
  readonly caller: Caller;
  readonly minute: number;
  count: number;
  /** The last refusal had this status. */
  status: number;
}

/** Each process counts for itself. A caller has at most one count for each minute in which requests came. */
export function createRefusalCounts(deps: AuditDeps, newId: () => string): RefusalCounts {
  const { clock } = deps;
  let counts = new Map<string, Counted>();
  const minuteNow = () => Math.floor(clock.now() / MINUTE_MS);
  const nameOf = (caller: Caller) =>
    JSON.stringify([caller.account_id, generationOf(caller), caller.client_id, minuteNow()]);
  return {
    isOver: (caller) => (counts.get(nameOf(caller))?.count ?? 0) >= RECORDED_REFUSALS_MAX,
    note(caller, status) {
      const counted = counts.get(nameOf(caller)) ?? { caller, minute: minuteNow(), count: 0, status };
      counts.set(nameOf(caller), counted);
      counted.count += 1;
      counted.status = status;
      return counted.count <= RECORDED_REFUSALS_MAX;
    },
    async recordEnded() {
      const minute = minuteNow();
      const ended = [...counts.values()].filter((counted) => counted.minute < minute);
      if (ended.length === 0) return;
      counts = new Map([...counts].filter(([, counted]) => counted.minute >= minute));
      const isBeyond = ({ count }: Counted) => count > RECORDED_REFUSALS_MAX;
      await Promise.all(ended.filter(isBeyond).map((counted) => record(deps, newId(), counted)));
    },
  };
}

async function record(
  { audit, telemetry }: AuditDeps,
  request_id: string,
  { caller, minute, count, status }: Counted,
): Promise<void> {
  const intent = {
    account_id: caller.account_id,
    ...lifeOf(caller),
    request_id,
    client_id: caller.client_id,
    email: caller.email,
    call: COUNTED_CALL,
    project_id: undefined,
    resource: { count: String(count - RECORDED_REFUSALS_MAX) },
    received_at: isoTimeOf(minute * MINUTE_MS),
  };
  await audit
    .end(intent, { outcome: 'refused', status, duration_ms: 0 })
    .catch((error: unknown) => reportAuditFailure(telemetry, intent, error));
}

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
