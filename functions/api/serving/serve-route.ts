/** One request to one route, from credentials to answer: who, may they, how often, what; then the route; then the audit. */

import { authorize, type Caller, maySee } from '../../../shared/callers/authorize.ts';
import { tokenIdOf } from '../../../shared/callers/bridge-token.ts';
import type { AuditIntent, AuditLog, AuditOutcome } from '../../../shared/commands/audit-log.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import { undeclaredFields } from '../../../shared/upstream/calls/undeclared-fields.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { type Authenticator, bearerOf } from './authenticate.ts';
import type { FairShare } from './fair-share.ts';
import { patienceMsOf } from './patience.ts';
import { PROBLEM_MEDIA_TYPE, Problem, problemDocument } from './problem.ts';
import {
  invalid,
  nameable,
  projectIdsIn,
  type RawRequest,
  readBody,
  readIds,
  readQuery,
} from './read-request.ts';
import type { ApiAnswer, ApiRequest, Route } from './route.ts';
import { type Asker, noteAccess, noteAuditFailure, noteRefusal, refusalOf } from './traces.ts';

export interface ServeDeps {
  readonly authenticator: Authenticator;
  /** By account. */
  readonly fairShares: ReadonlyMap<string, FairShare>;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly newId: () => string;
}

/** Below the 30 s after which API Gateway gives up (HTTP API quotas), with time for the last writes. */
export const REQUEST_MS_MAX = 28_000;

/** A route that is about a caller's data is given none of anybody else's; public ones are given nobody's. */
const NOBODY: Caller = { client_id: '', account_id: '', scopes: new Set(), projectIds: new Set() };

export async function serveRoute(deps: ServeDeps, route: Route, raw: RawRequest): Promise<ApiAnswer> {
  const requestId = deps.newId();
  let asker: Asker = { request_id: requestId, call: route.id, token_id: tokenIdIn(raw) };
  const serve = async () => {
    if (route.access === 'public') return serveAs(deps, route, { raw, requestId, caller: NOBODY });
    const caller = await callerOf(deps, raw);
    asker = { ...asker, client_id: caller.client_id, account_id: caller.account_id };
    return serveAs(deps, route, { raw, requestId, caller });
  };
  return answerTo(deps, requestId, serve, () => asker);
}

/** Of a token of the bridge; what an issuer's token is known by is its client. */
function tokenIdIn({ headers }: RawRequest): string | undefined {
  return tokenIdOf(bearerOf(headers.get('authorization')) ?? '');
}

/** For a caller who is known already: the console's actions are commands like any other. */
export function serveCaller(
  deps: ServeDeps,
  route: Route,
  { raw, caller }: { readonly raw: RawRequest; readonly caller: Caller },
): Promise<ApiAnswer> {
  const requestId = deps.newId();
  const { client_id, account_id } = caller;
  const asker = { request_id: requestId, call: route.id, client_id, account_id };
  return answerTo(
    deps,
    requestId,
    () => serveAs(deps, route, { raw, requestId, caller }),
    () => asker,
  );
}

/** Every failure ends here, as a problem document with the id under which the log has the rest. */
export async function answerTo(
  { telemetry }: Pick<ServeDeps, 'telemetry'>,
  requestId: string,
  serve: () => Promise<ApiAnswer>,
  askerOf?: () => Asker,
): Promise<ApiAnswer> {
  try {
    const answer = await serve();
    return { ...answer, headers: { ...answer.headers, ...commonHeaders(requestId) } };
  } catch (thrown) {
    const problem = problemOf(thrown);
    const refusal = refusalOf(problem);
    if (refusal !== undefined && askerOf !== undefined) noteRefusal(telemetry, refusal, askerOf());
    if (problem.status >= 500) {
      telemetry.log('error', 'request.failed', {
        request_id: requestId,
        problem: problem.type,
        reason: isUpstreamError(problem.cause) ? problem.cause.code : toError(problem.cause).name,
      });
    }
    return {
      status: problem.status,
      headers: {
        'x-request-id': requestId,
        ...problem.headers,
        ...commonHeaders(requestId),
        'content-type': PROBLEM_MEDIA_TYPE,
      },
      body: JSON.stringify(problemDocument(problem, requestId)),
    };
  }
}

function commonHeaders(requestId: string): Record<string, string> {
  return { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'bridge-request-id': requestId };
}

async function callerOf({ authenticator }: ServeDeps, { headers }: RawRequest): Promise<Caller> {
  const credentials = bearerOf(headers.get('authorization'));
  const caller = credentials === undefined ? undefined : await authenticator.authenticate(credentials);
  if (caller !== undefined) return caller;
  throw new Problem('unauthenticated', {
    detail:
      credentials === undefined
        ? 'Send a token of this bridge as "Authorization: Bearer <token>".'
        : 'This token is not valid here: it may be mistyped, expired or revoked. Ask for a new one.',
    headers: { 'www-authenticate': 'Bearer' },
  });
}

interface Served {
  readonly raw: RawRequest;
  readonly requestId: string;
  readonly caller: Caller;
}

async function serveAs(deps: ServeDeps, route: Route, served: Served): Promise<ApiAnswer> {
  if (route.method === 'GET') return read(deps, route, served);
  if (route.isAudited === false) return handle(deps, route, served);
  const { clock } = deps;
  const receivedMs = clock.now();
  const intent = intentOf(route, served, receivedMs);
  const end = (outcome: Omit<AuditOutcome, 'duration_ms'>) =>
    endAudit(deps, intent, { ...outcome, duration_ms: Math.max(0, clock.now() - receivedMs) });
  try {
    const answer = await handle(deps, route, served, intent);
    await end({
      outcome: outcomeOf(answer.status),
      status: answer.status,
      operation_ids: answer.operationIds,
    });
    return answer;
  } catch (thrown) {
    const problem = problemOf(thrown);
    const outcome = problem.status >= 500 ? 'unknown' : 'refused';
    await end({ outcome, status: problem.status, problem: problem.type });
    throw problem;
  }
}

/** Reads leave no record, but those that show secrets do. */
async function read(deps: ServeDeps, route: Route, served: Served): Promise<ApiAnswer> {
  const receivedMs = deps.clock.now();
  const answer = await handle(deps, route, served);
  if (answer.showsSecrets !== true) return answer;
  const intent = intentOf(route, served, receivedMs);
  const { request_id, call, client_id, account_id } = intent;
  noteAccess(deps.telemetry, 'secret-read', {
    request_id,
    call,
    client_id,
    account_id,
    token_id: tokenIdIn(served.raw),
  });
  const duration_ms = Math.max(0, deps.clock.now() - receivedMs);
  await endAudit(deps, intent, { outcome: 'done', status: answer.status, duration_ms });
  return answer;
}

async function handle(
  deps: ServeDeps,
  route: Route,
  served: Served,
  intent?: AuditIntent,
): Promise<ApiAnswer> {
  const request = await requestOf(deps, route, served);
  try {
    return await answerOf(deps, route, request, intent);
  } finally {
    // A function is frozen with its answer, and what it had begun to write would wait for the next request.
    await deps.fairShares.get(request.caller.account_id)?.settled();
  }
}

async function answerOf(
  deps: ServeDeps,
  route: Route,
  request: ApiRequest,
  intent: AuditIntent | undefined,
): Promise<ApiAnswer> {
  if (intent === undefined) return route.handle(request);
  // Together with the command and not before it: what is lost when both the process and the table fail is one line.
  const begun = deps.audit
    .begin(intent)
    .catch((error: unknown) => noteAuditFailure(deps.telemetry, intent, error));
  const [answer] = await Promise.allSettled([route.handle(request), begun]);
  if (answer.status === 'rejected') throw answer.reason;
  return answer.value;
}

/** In this order, so that nobody learns anything they may not know: scope, project, rate, and only then the body. */
async function requestOf(
  deps: ServeDeps,
  route: Route,
  { raw, requestId, caller }: Served,
): Promise<ApiRequest> {
  const { access } = route;
  const hidden = raw.ids['project_id'] !== undefined && !maySee(caller, raw.ids['project_id']);
  if (access !== 'public' && access !== 'signed_in') {
    const decision = authorize(caller, access, undefined);
    if (decision.kind === 'scope_missing') throw scopeMissing(decision.scope);
  }
  if (hidden) throw notFound({ isHidden: true });
  if (isClosedTo(caller, route)) throw accountWide();
  const ids = readIds(route, raw.ids);
  // The bridge's own routes read its table, which nobody limits.
  admit(deps, route, caller, raw);
  const query = readQuery(route, raw.query);
  const body = await readBody(route, raw);
  if (caller.projectIds !== undefined) checkFence(caller, route, body);
  return {
    requestId,
    caller,
    ids,
    query,
    body,
    headers: headersOf(raw),
    signal: signalOf(route, raw),
  };
}

/** Nobody has decided that the call stays within a project, so a caller that is limited to some may not send it. */
function isClosedTo({ projectIds }: Caller, { group, reach = 'account' }: Route): boolean {
  return projectIds !== undefined && group === 'Upstream API' && reach === 'account';
}

/** What reaches the upstream from a limited caller is declared, field by field, and names none but their own projects. */
function checkFence(caller: Caller, route: Route, body: ApiRequest['body']): void {
  const isForeign = (id: unknown) => typeof id !== 'string' || !maySee(caller, id);
  if (projectIdsIn(body).some(isForeign)) throw notFound({ isHidden: true });
  if (route.reach === 'named_project' && isForeign(body?.['project_id'])) throw notFound({ isHidden: true });
  const undeclared = undeclaredFields(route.body, body);
  if (undeclared.length === 0) return;
  throw invalid(
    undeclared.map((field) => ({
      field: `body.${nameable(field)}`,
      reason: 'a token that is limited to projects may send only fields that this call declares',
    })),
  );
}

function accountWide(): Problem {
  return new Problem('account-wide', {
    detail:
      'This token is limited to projects, and this call reaches beyond one project; ask whoever runs the bridge for a token without a list of projects.',
  });
}

function admit({ fairShares }: ServeDeps, { group, limit }: Route, caller: Caller, raw: RawRequest): void {
  const fairShare = fairShares.get(caller.account_id);
  if (group === 'Upstream API') {
    // Asked before anything else is read, so that a mistake in it costs nothing.
    patienceMsOf(raw.headers.get('prefer'));
    refuseFor(fairShare?.admit(caller.client_id));
  }
  if (limit === 'wishes') refuseFor(fairShare?.admitWish(caller.client_id));
}

function refuseFor(delayMs = 0): void {
  if (delayMs === 0) return;
  const seconds = Math.ceil(delayMs / 1_000);
  throw new Problem('rate-limited', {
    detail: `This caller has used its part of the account's rate limit; ask again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}

/** A caller that has gone needs no answer to a read; a command that was sent is seen through. */
function signalOf({ method }: Route, { signal }: RawRequest): AbortSignal {
  const timeout = AbortSignal.timeout(REQUEST_MS_MAX);
  return method === 'GET' && signal !== undefined ? AbortSignal.any([timeout, signal]) : timeout;
}

/** Those that mean something here; no other header of a caller is looked at. */
function headersOf({ headers }: RawRequest): ApiRequest['headers'] {
  const [key, prefer] = [headers.get('idempotency-key'), headers.get('prefer')];
  return { ...(key !== null && { 'idempotency-key': key }), ...(prefer !== null && { prefer }) };
}

function scopeMissing(scope: string): Problem {
  return new Problem('scope-missing', {
    detail: `This call needs the scope ${scope}; ask whoever runs the bridge for a token that has it.`,
  });
}

/** Unknown and forbidden look alike to the caller; only the log tells them apart. */
export function notFound({ isHidden = false } = {}): Problem {
  return new Problem('not-found', {
    detail: 'There is no such thing here, or this token may not see it.',
    isHidden,
  });
}

function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isUnreadable(thrown)) {
    return new Problem('record-unreadable', {
      detail:
        'A newer version of the bridge wrote it, or it is damaged; it is kept, and everything else goes on. Whoever runs the bridge finds it in the log as item.unreadable.',
      cause: thrown,
    });
  }
  return new Problem('internal', {
    detail: 'The bridge failed. The request id finds the reason in its log; asking again may help.',
    cause: thrown,
  });
}

function intentOf(route: Route, { raw, requestId, caller }: Served, nowMs: number): AuditIntent {
  const { project_id, ...resource } = raw.ids;
  return {
    account_id: caller.account_id,
    request_id: requestId,
    client_id: caller.client_id,
    call: route.id,
    project_id: wellFormed(project_id),
    resource: Object.fromEntries(
      Object.entries(resource).flatMap(([name, id]) => pairOf(name, wellFormed(id))),
    ),
    received_at: new Date(nowMs).toISOString(),
  };
}

/** Somebody's own text has no place in the audit. */
function wellFormed(id: string | undefined): string | undefined {
  return id !== undefined && /^[\w-]{1,100}$/.test(id) ? id : undefined;
}

function pairOf(name: string, id: string | undefined): readonly (readonly [string, string])[] {
  return id === undefined ? [] : [[name, id]];
}

function outcomeOf(status: number): AuditOutcome['outcome'] {
  if (status < 300) return 'done';
  return status >= 500 && status !== 503 ? 'unknown' : 'refused';
}

async function endAudit(deps: ServeDeps, intent: AuditIntent, outcome: AuditOutcome): Promise<void> {
  await deps.audit
    .end(intent, outcome)
    .catch((error: unknown) => noteAuditFailure(deps.telemetry, intent, error));
}
