/**
 * Defines the routes under `/api/v2` and passes their calls on to the upstream: the calls of the specification, those
 * of the public API, and those that the configuration adds. The caller gets the upstream's answer, as far as the
 * token may see it.
 */

import * as z from 'zod';
import type { PerAccount, StandingOf } from '../../../shared/accounts/account-directory.ts';
import type { Caller } from '../../../shared/callers/scopes.ts';
import { type CursorSeal, cursorSealOf } from '../../../shared/callers/seal.ts';
import { needsApproval } from '../../../shared/callers/tokens.ts';
import { sendUnkeyed } from '../../../shared/commands/send-command.ts';
import { type CommandOutcome, sendOnce } from '../../../shared/commands/send-once.ts';
import type { ExtraRoute } from '../../../shared/config/api-config.ts';
import {
  type Call,
  declaredBody,
  isAboutOneProject,
  isRead,
  type TableCall,
} from '../../../shared/upstream/calls/call.ts';
import { type ClosedCallId, calls, publicCalls } from '../../../shared/upstream/calls/calls.ts';
import {
  type CommandRequest,
  type ForwardableCall,
  forwardCall,
  type Waiting,
} from '../../../shared/upstream/forward.ts';
import type { UpstreamAccount } from '../api-ports.ts';
import { refuseFor, refuseUnlessActive } from '../serving/admission.ts';
import { invalid, Problem } from '../serving/problem.ts';
import { type ApiAnswer, type ApiRequest, type Route, UPSTREAM_MOUNT } from '../serving/route.ts';
import {
  asksForLine,
  isAnsweredAtEnd,
  isReadyAwaited,
  preferredWaitMs,
  waitingPlace,
} from '../serving/waiting.ts';
import { queuedAnswer, refuseWhileFrozen, unlessFrozen } from './account-queue.ts';
import { askForApproval } from './approve-command.ts';
import {
  type CallbackDeps,
  settleCommand,
  startedCommand,
  taskTokenOf,
  withCallback,
} from './command-end.ts';
import { answerOfQueued, queueCommand } from './queue-command.ts';
import { commandAnswer, shownOutcome, shownTo, unansweredProblem } from './shown-answer.ts';

/** A configuration adds calls to the table, and opens closed ones. */
export interface ConfiguredCalls {
  readonly extraRoutes: readonly ExtraRoute[];
  readonly openCalls: readonly ClosedCallId[];
}

/** An extra route takes the place of the public call with the same method and path, so that its configuration keeps its meaning. */
export function passThroughRoutes(
  deps: PassThroughDeps,
  { extraRoutes, openCalls }: ConfiguredCalls,
): readonly Route[] {
  const specified = Object.entries(calls).map(([id, call]) => tableRoute(deps, id, call));
  const extra = extraRoutes.map((route) => extraRoute(deps, route));
  const configured = new Set(extra.map(shapeOf));
  const open: ReadonlySet<string> = new Set(openCalls);
  const further = Object.entries(publicCalls).map(([id, call]) => ({
    ...tableRoute(deps, id, call),
    isOfSecondEdition: true as const,
    ...(call.isClosed &&
      !open.has(id) && { closedUntil: `open_calls: ['${id}'] under api in bridge.config.ts` }),
  }));
  const kept = configured.size === 0 ? further : further.filter((route) => !configured.has(shapeOf(route)));
  return [...specified, ...kept, ...extra];
}

/** Two routes of one request have the same shape, whatever their ids are called. */
function shapeOf({ method, path }: Route): string {
  return `${method} ${path.replace(/\{\w+\}/g, '{}')}`;
}

function tableRoute(deps: PassThroughDeps, id: string, call: TableCall): Route {
  const { scope, shows, isFile, declared } = call;
  return {
    ...routeOf(deps, { id, call, isSecret: shows !== undefined, shows }),
    access: scope,
    ...(declared && { declared }),
    ...(isFile && { mediaType: '*/*' }),
  };
}

function extraRoute(deps: PassThroughDeps, route: ExtraRoute): Route {
  const { id, is_secret: isSecret, scope } = route;
  return { ...routeOf(deps, { id, call: callOfExtra(route), isSecret, shows: 'issued' }), access: scope };
}

function routeOf(deps: PassThroughDeps, target: ForwardableCall): Omit<Route, 'access'> {
  const { id, call } = target;
  return {
    id,
    method: call.method,
    path: `${UPSTREAM_MOUNT}${call.path}`,
    summary: call.summary,
    description: `Passed on as it is; see "${call.section}" of the upstream API.`,
    group: 'Upstream API',
    reach: call.reach ?? 'account',
    limit: 'upstream',
    ...(call.query && { query: call.query }),
    ...(call.body && { body: call.body }),
    ...(call.isBodyOptional && { isBodyOptional: true }),
    status: call.status,
    ...(call.otherStatus !== undefined && { otherStatuses: [call.otherStatus] }),
    answer: call.answer,
    ...(isRead(call) ? { furtherProblems: ['account-paused'] } : lineOf(call)),
    handle: (request) => passThrough(deps, target, request),
  };
}

/** A freeze holds every command, and a command about one project may wait in line. */
function lineOf(call: Call): Pick<Route, 'lineAnswer' | 'furtherProblems'> {
  return isAboutOneProject(call)
    ? {
        lineAnswer: queuedAnswer,
        furtherProblems: [
          'account-paused',
          'frozen',
          'queue-full',
          'not-queueable',
          'approval-required',
          'approval-denied',
        ],
      }
    : { furtherProblems: ['account-paused', 'frozen', 'not-queueable'] };
}

function callOfExtra(route: ExtraRoute): Call {
  const { method, path, summary, query, body, body_fields, stays_within_project } = route;
  const parameters = query.map((name) => [name, z.string().max(1_000).optional()] as const);
  return {
    method,
    path,
    reach: stays_within_project ? 'path_project' : 'account',
    summary,
    section: 'Further calls',
    ...(query.length > 0 && { query: z.strictObject(Object.fromEntries(parameters)) }),
    ...(body === 'json' && { body: declaredBody(body_fields) }),
    answer: z.unknown(),
    status: 200,
  };
}

interface PassThroughDeps extends CallbackDeps {
  readonly accounts: PerAccount<UpstreamAccount>;
  readonly standingOf: StandingOf;
}

async function passThrough(
  deps: PassThroughDeps,
  target: ForwardableCall,
  request: ApiRequest,
): Promise<ApiAnswer> {
  refuseUnlessActive(deps.standingOf, request.caller);
  const account = accountOf(deps, request.caller);
  const token = taskTokenOf(request.headers, deps, isRead(target.call));
  const answer = isRead(target.call)
    ? passRead(deps, account, target, request)
    : passCommand(deps, account, { target, token }, request);
  return sandboxed(await answer);
}

async function passCommand(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  { target, token }: { readonly target: ForwardableCall; readonly token: string | undefined },
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { requestId, caller, ids, query, body, json, headers } = request;
  const idempotencyKey = headers['idempotency-key'];
  const traceparent = traceparentOf(headers);
  const userAgent = headers['user-agent'];
  const command = {
    requestId,
    caller,
    target,
    ids,
    query,
    body,
    json,
    idempotencyKey,
    traceparent,
    userAgent,
  };
  const named = { token, command, prefer: headers.prefer };
  return withCallback(deps, account.queue.callbacks, named, () =>
    sendForCaller(deps, account, command, request),
  );
}

async function sendForCaller(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  command: CommandRequest,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { caller, headers } = request;
  const { target, ids } = command;
  const mustAsk = caller.approve !== undefined && needsApproval(caller.approve, target.call, ids);
  const isQueued = asksForLine(target.call, headers.prefer);
  if (mustAsk || isQueued) {
    // Such a command takes its permit when it leaves, and this one does not leave yet.
    if (!isQueued && isAnsweredAtEnd(caller, headers.prefer))
      refuseFor(await account.fairShare.admitQueued(caller.client_id));
    const answerLater = mustAsk ? askForApproval : queueCommand;
    const queued = await answerLater(deps, account.queue, command, request);
    return 'kind' in queued ? shownToCaller(command, request, queued) : queued;
  }
  await refuseWhileFrozen(account.queue.freeze);
  if (isAnsweredAtEnd(caller, headers.prefer)) return passSettled(deps, account, command, request);
  const waiting = lockWait(deps, account, request);
  const mayRepeat = unlessFrozen(account.queue.freeze, waiting.mayRepeat);
  const outcome = await sendOnce(deps, command, () => {
    request.beginRecord();
    return sendUnkeyed(deps.telemetry, account, command, { ...waiting, mayRepeat });
  });
  const queued = await answerOfQueued(deps, account.queue, outcome, request);
  return queued ?? shownOnceRecorded(command, request, outcome);
}

/** A refusal to show the answer waits for the records as the answer itself does. */
async function shownOnceRecorded(
  command: CommandRequest,
  request: ApiRequest,
  outcome: CommandOutcome,
): Promise<ApiAnswer> {
  try {
    return shownToCaller(command, request, outcome);
  } catch (problem) {
    if (outcome.kind === 'answered') await outcome.recorded;
    throw problem;
  }
}

function shownToCaller(
  command: CommandRequest,
  { caller, headers }: ApiRequest,
  outcome: CommandOutcome,
): ApiAnswer {
  const { target } = command;
  const answer = shownOutcome(caller, commandAnswer(outcome, target.call), target);
  if (headers['bridge-callback'] === undefined) return answer;
  const started = startedCommand(command, outcome);
  return started === undefined ? answer : { ...answer, command: { ...started, isQueued: false } };
}

/** A success without `bridge-command` means that the operations of the command have ended well. */
async function passSettled(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  command: CommandRequest,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { outcome, askAt } = await settleCommand(deps, account, command, request);
  const queued = await answerOfQueued(deps, account.queue, outcome, request);
  if (queued !== undefined) return queued;
  const answer = shownToCaller(command, request, outcome);
  if (askAt !== undefined) return withHeader(answer, 'bridge-command', askAt);
  const isApplied = answer.status < 300 && isReadyAwaited(request.headers.prefer);
  return isApplied ? withHeader(answer, 'preference-applied', 'wait=ready') : answer;
}

function withHeader(answer: ApiAnswer, name: string, value: string): ApiAnswer {
  return { ...answer, headers: { ...answer.headers, [name]: value } };
}

/** A page or a picture of the upstream that is opened in a browser must not run as a page of the bridge. */
function sandboxed(answer: ApiAnswer): ApiAnswer {
  if (/^application\/(json|problem\+json)\b/i.test(answer.headers?.['content-type'] ?? '')) return answer;
  const headers = { ...answer.headers, 'content-security-policy': "default-src 'none'; sandbox" };
  return { ...answer, headers };
}

function accountOf({ accounts }: PassThroughDeps, { account_id }: Caller): UpstreamAccount {
  const account = accounts.get(account_id);
  if (account !== undefined) return account;
  throw new Problem('not-found', {
    detail: 'The account of this token is not configured here; ask whoever runs the bridge.',
  });
}

/**
 * A process has at most this many sockets for reads. On Lambda it serves one request at a time, and on one machine as
 * many as callers send: each read has an answer of up to four and a half megabytes in memory.
 */
export const READ_SOCKETS_MAX = 100;

async function passRead(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  target: ForwardableCall,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { caller, requestId, ids, body, headers } = request;
  const cursors = cursorSealOf(caller, await deps.pepper());
  const listsProjects = target.call.reach === 'own_projects' || target.call.reach === 'listed_projects';
  const query =
    listsProjects && caller.projectIds !== undefined ? opened(request.query, cursors) : request.query;
  const [userAgent, traceparent] = [headers['user-agent'], traceparentOf(headers)];
  const call = { requestId, target, ids, query, body, userAgent, traceparent };
  const waiting = lockWait(deps, account, request);
  const result = await forwardCall({ upstream: account.upstream, telemetry: deps.telemetry }, call, waiting);
  if (result.kind === 'unanswered') throw unansweredProblem(result.failure, target.call);
  return shownTo({ caller, cursors }, result.answer, target);
}

/** The cursor of a project list is the id of a project, so a caller who may see only some projects has it in sealed form. */
function opened(query: ApiRequest['query'], cursors: CursorSeal): ApiRequest['query'] {
  const { cursor } = query;
  if (typeof cursor !== 'string') return query;
  try {
    return { ...query, cursor: cursors.open(cursor) };
  } catch {
    throw invalid([
      { field: 'query.cursor', reason: 'is not one that this list gave out; begin without one' },
    ]);
  }
}

/** The wait for a permit was a part of the caller's wait. The caller's free place is taken before the first wait, and given back when the upstream's last answer is there. */
function lockWait(
  { patient, clock }: PassThroughDeps,
  { fairShare }: UpstreamAccount,
  { caller, headers, signal, receivedMs }: ApiRequest,
) {
  const patienceMs = Math.max(0, receivedMs + preferredWaitMs(headers.prefer) - clock.now());
  const place = waitingPlace(patient, caller, patienceMs);
  return {
    signal,
    patienceMs,
    mayWait: () => place.take(),
    mayRepeat: async (restMs: number) =>
      (await fairShare.admit(caller.client_id, { forMs: restMs, signal })) === 0,
    endWait: () => place.giveBack(),
  } satisfies Waiting;
}

/** Version 00 of W3C Trace Context; a trace of zeros is not valid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A header of another form is ignored, as the recommendation says. */
function traceparentOf({ traceparent = '' }: ApiRequest['headers']): string | undefined {
  return TRACEPARENT.test(traceparent) ? traceparent : undefined;
}
