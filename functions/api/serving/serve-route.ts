/**
 * Serves one request to one route, from credentials to answer: who asks, whether they may, what exactly; then the
 * route; then the audit.
 */

import type { PerAccount, StandingOf } from '../../../shared/accounts/account-directory.ts';
import type { Caller } from '../../../shared/callers/scopes.ts';
import { tokenIdOf } from '../../../shared/callers/tokens.ts';
import { type AuditDeps, type AuditTrail, auditOutcomeOf } from '../../../shared/commands/audit.ts';
import type { FairShare } from '../../../shared/commands/fair-share.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import {
  type Authenticator,
  bearerOf,
  checkBody,
  checkPermission,
  checkQuery,
  refuseUnlessActive,
  useAllowance,
} from './admission.ts';
import { PROBLEM_MEDIA_TYPE, Problem, problemDocument } from './problem.ts';
import { type RawRequest, readBody, readIds, readQuery } from './read-request.ts';
import {
  type Asker,
  auditedIdsIn,
  lifeOf,
  noteAccess,
  noteRefusal,
  openRequestAudit,
  type RefusalCounts,
  refusalOf,
} from './request-audit.ts';
import { type ApiAnswer, type ApiRequest, isPassedOn, READ_HEADERS, type Route } from './route.ts';
import type { PatientCallers } from './waiting.ts';

export interface ServeDeps extends AuditDeps {
  readonly authenticator: Authenticator;
  readonly standingOf: StandingOf;
  readonly refusals: RefusalCounts;
  /** Looks before each request whether the accounts have changed. Does not reject. */
  readonly refreshAccounts: () => Promise<void>;
  readonly fairShares: PerAccount<FairShare>;
  readonly patient: PatientCallers;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** API Gateway gives up after 30 s (HTTP API quotas), and the last writes need some time before that. */
export const REQUEST_MS_MAX = 28_000;

/** A public route has this caller, who can see nothing that belongs to an account. */
const ANONYMOUS: Caller = { client_id: '', account_id: '', scopes: new Set(), projectIds: new Set() };

/** This is a request together with its caller. */
interface Asked {
  readonly raw: RawRequest;
  readonly requestId: string;
  readonly caller: Caller;
}

interface Served extends Asked {
  /** This signal ends the request. */
  readonly signal: AbortSignal;
  /** In milliseconds since the epoch. */
  readonly receivedMs: number;
}

export async function serveRoute(deps: ServeDeps, route: Route, raw: RawRequest): Promise<ApiAnswer> {
  const requestId = deps.newId();
  let asker: Asker = { request_id: requestId, call: route.id };
  const serve = async () => {
    if (route.access === 'public') return serveAs(deps, route, { raw, requestId, caller: ANONYMOUS });
    const caller = await callerOf(deps.authenticator, raw);
    asker = { ...asker, client_id: caller.client_id, account_id: caller.account_id };
    return serveAs(deps, route, { raw, requestId, caller });
  };
  return answerTo(deps, requestId, serve, () => ({ ...asker, token_id: tokenIdIn(raw) }));
}

/** Serves a caller who is known already. What the console does for a person is a request like any other. */
export function serveCaller(
  deps: ServeDeps,
  route: Route,
  { raw, caller }: { readonly raw: RawRequest; readonly caller: Caller },
): Promise<ApiAnswer> {
  const requestId = deps.newId();
  const { client_id, account_id } = caller;
  const asker: Asker = { request_id: requestId, call: route.id, client_id, account_id };
  const serve = async () => {
    const living = deps.authenticator.living(caller);
    if (living === undefined) throw unauthenticated(`This person is not served, because ${ACCOUNT_GONE}`);
    return serveAs(deps, route, { raw, requestId, caller: living });
  };
  return answerTo(deps, requestId, serve, () => asker);
}

/** Throws `Problem` `unauthenticated` when the credentials are not valid. */
export async function callerOf(
  authenticator: Authenticator,
  { headers }: { readonly headers: Headers },
): Promise<Caller> {
  const credentials = bearerOf(headers.get('authorization'));
  const caller = credentials === undefined ? undefined : await authenticator.authenticate(credentials);
  if (caller !== undefined) return caller;
  throw unauthenticated(
    credentials === undefined
      ? 'Send a token of this bridge as "Authorization: Bearer <token>".'
      : `This token is not valid here: it may be mistyped, expired or revoked, or ${ACCOUNT_GONE} Ask for a new one.`,
  );
}

/** Nobody learns from a refusal whether a token was ever good, so one sentence says all that can be the reason. */
const ACCOUNT_GONE =
  'its account is not served: it was removed from this bridge, which ends its tokens for good, or it is not there yet.';

function unauthenticated(detail: string): Problem {
  return new Problem('unauthenticated', { detail, headers: { 'www-authenticate': 'Bearer' } });
}

/**
 * Returns the public part of a bridge token, and undefined for a token of an issuer, whose caller is known by its
 * client id.
 */
function tokenIdIn({ headers }: RawRequest): string | undefined {
  return tokenIdOf(bearerOf(headers.get('authorization')) ?? '');
}

async function serveAs(deps: ServeDeps, route: Route, asked: Asked): Promise<ApiAnswer> {
  // A caller who has gone needs no answer to a read. A command is seen through, because it may have been sent already.
  const end = openRequestEnd(REQUEST_MS_MAX, route.method === 'GET' ? asked.raw.signal : undefined);
  const served = { ...asked, signal: end.signal, receivedMs: deps.clock.now() };
  try {
    if (route.method === 'GET') return await serveRead(deps, route, served);
    return await (route.isAudited === false
      ? handle(deps, route, served)
      : serveAudited(deps, route, served));
  } finally {
    end.release();
    // Lambda freezes the process with its answer: a write that is still under way would wait for the next request.
    await Promise.all([deps.fairShares.get(served.caller.account_id)?.idle(), deps.refusals.recordEnded()]);
  }
}

/** The audit and the records of the operations are written side by side, because neither rests on the other. */
async function serveAudited(deps: ServeDeps, route: Route, served: Served): Promise<ApiAnswer> {
  const audit = openRequestAudit(deps, route, served);
  try {
    const answer = await handle(deps, route, served, audit);
    const { status, operationIds, recorded, concerns } = answer;
    if (answer.about !== undefined) audit.about(answer.about);
    const outcome = { outcome: auditOutcomeOf(status), status, operation_ids: operationIds };
    await Promise.all([
      audit.end(outcome, concerns && { account_id: concerns.account_id, ...lifeOf(concerns) }),
      recorded,
    ]);
    return answer;
  } catch (thrown) {
    const problem = toProblem(thrown);
    const { status, type, provesNoWork } = problem;
    const hasRecord = !provesNoWork || deps.refusals.note(served.caller, status) || audit.hasBegun();
    if (hasRecord) await audit.end({ outcome: provesNoWork ? 'refused' : 'unknown', status, problem: type });
    throw problem;
  }
}

/** Serves a read, which leaves no audit record except when its answer shows secrets. */
async function serveRead(deps: ServeDeps, route: Route, served: Served): Promise<ApiAnswer> {
  const answer = await handle(deps, route, served);
  if (answer.showsSecrets !== true) return answer;
  const { client_id, account_id } = served.caller;
  const token_id = tokenIdIn(served.raw);
  const asker = { request_id: served.requestId, call: route.id, client_id, account_id, token_id };
  noteAccess(deps.telemetry, 'secret-read', asker);
  const audit = openRequestAudit(deps, route, served);
  await audit.end({ outcome: 'done', status: answer.status });
  return answer;
}

/** The first record of `audit` is written together with the command. */
async function handle(deps: ServeDeps, route: Route, served: Served, audit?: AuditTrail): Promise<ApiAnswer> {
  const checked = await checkedRequest(deps, route, served);
  const beginRecord = () => audit?.begin();
  audit?.about(auditedIdsIn(route, checked.body));
  // The audit is begun together with the command and not before it: only when both the process and the table fail is a record lost.
  const answer = route.handle({ ...checked, beginRecord });
  // What the bridge does alone may be refused as often as a caller likes, so the record of one who was refused often waits.
  if (!isPassedOn(route) && !deps.refusals.isOver(served.caller)) beginRecord();
  return answer;
}

/**
 * Makes the checks in an order in which a refusal reveals nothing that the caller must not know: scope, project,
 * rate, and the body last. Throws `Problem`.
 */
async function checkedRequest(
  { standingOf, fairShares, patient }: ServeDeps,
  route: Route,
  served: Served,
): Promise<Omit<ApiRequest, 'beginRecord'>> {
  const { raw, requestId, caller, signal, receivedMs } = served;
  checkPermission(caller, route, raw);
  if (route.isClosedWhilePaused && raw.ids['account_id'] !== caller.account_id)
    refuseUnlessActive(standingOf, caller);
  const ids = readIds(route, raw.ids);
  await useAllowance({ fairShare: fairShares.get(caller.account_id), patient }, route, served);
  const query = readQuery(route, raw.query);
  checkQuery(caller, route, query);
  const { body, json } = await readBody(route, raw);
  checkBody(caller, route, body);
  const { url } = raw;
  return { requestId, caller, ids, query, body, json, url, headers: headersOf(raw), signal, receivedMs };
}

/** Returns the only headers that a route gets to see. */
function headersOf({ headers }: RawRequest): ApiRequest['headers'] {
  const found = READ_HEADERS.map((name) => [name, headers.get(name)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== null));
}

export interface RequestEnd {
  readonly signal: AbortSignal;
  /** Must be called when the answer is there. Nothing that was made for the signal is left then. */
  release(): void;
}

/**
 * The signal aborts with a `TimeoutError` after `durationMs`, and with the reason of `callerSignal` when that aborts.
 * `AbortSignal.any` would do the same, but what it makes is freed only by the garbage collector, and costs several
 * times as much of a short read.
 */
export function openRequestEnd(durationMs: number, callerSignal?: AbortSignal): RequestEnd {
  const end = new AbortController();
  const onGone = () => end.abort(callerSignal?.reason);
  const onLate = () =>
    end.abort(new DOMException(`The request took longer than ${durationMs} ms`, 'TimeoutError'));
  const timer = setTimeout(onLate, durationMs).unref();
  if (callerSignal?.aborted === true) onGone();
  else callerSignal?.addEventListener('abort', onGone, { once: true });
  return {
    signal: end.signal,
    release() {
      clearTimeout(timer);
      callerSignal?.removeEventListener('abort', onGone);
    },
  };
}

/**
 * `askerOf` returns who asked, as far as it is known when the request is refused. Without it refusals are not noted.
 */
export async function answerTo(
  { telemetry }: { readonly telemetry: Telemetry },
  requestId: string,
  serve: () => Promise<ApiAnswer>,
  askerOf?: () => Asker,
): Promise<ApiAnswer> {
  try {
    const answer = await serve();
    return { ...answer, headers: headersWith(answer.headers, requestId) };
  } catch (thrown) {
    const problem = toProblem(thrown);
    const refusal = refusalOf(problem);
    if (refusal !== undefined && askerOf !== undefined) noteRefusal(telemetry, refusal, askerOf());
    if (problem.status >= 500) logFailure(telemetry, requestId, problem);
    return problemAnswer(problem, requestId);
  }
}

/** Turns anything that was thrown into a problem that a caller may see. This happens in no other place. */
function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isUnreadable(thrown)) {
    return new Problem('record-unreadable', {
      detail:
        'A newer version of the bridge wrote the item, or it is damaged. It is kept unchanged, and everything else continues to work. The operators of the bridge find it in the log under item.unreadable.',
      cause: thrown,
    });
  }
  return new Problem('internal', {
    detail: 'The bridge failed. The request id finds the reason in its log; asking again may help.',
    cause: thrown,
  });
}

/** Logs only the kind of the cause, because its message may have values of the request in it. */
function logFailure(telemetry: Telemetry, requestId: string, { type, cause }: Problem): void {
  telemetry.log('error', 'request.failed', {
    request_id: requestId,
    problem: type,
    reason: isUpstreamError(cause) ? cause.code : toError(cause).name,
  });
}

function problemAnswer(problem: Problem, requestId: string): ApiAnswer {
  return {
    status: problem.status,
    headers: { ...headersWith(problem.headers, requestId), 'content-type': PROBLEM_MEDIA_TYPE },
    body: JSON.stringify(problemDocument(problem, requestId)),
  };
}

/**
 * No cache keeps an answer, except where the route says otherwise; no header of the upstream says so. `x-request-id` is
 * the upstream's where the answer is.
 */
function headersWith(headers: ApiAnswer['headers'], requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    ...headers,
    'x-content-type-options': 'nosniff',
    'bridge-request-id': requestId,
  };
}
