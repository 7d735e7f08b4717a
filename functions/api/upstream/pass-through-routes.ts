/**
 * Defines the routes under `/api/v2`: the calls of the specification, those of the public API, and those that the
 * configuration adds.
 */

import * as z from 'zod';
import type { ForwardableCall } from '../../../shared/commands/command-request.ts';
import type { ClosedCallId } from '../../../shared/config/closed-calls.ts';
import type { ExtraRoute } from '../../../shared/config/extra-routes.ts';
import { type Call, isRead } from '../../../shared/upstream/calls/call.ts';
import { type CallId, calls } from '../../../shared/upstream/calls/calls.ts';
import { callOf, declaredFieldsOf } from '../../../shared/upstream/public-calls/call-of.ts';
import { declaredBody } from '../../../shared/upstream/public-calls/declared-body.ts';
import type { PublicCall } from '../../../shared/upstream/public-calls/public-call.ts';
import { publicCalls } from '../../../shared/upstream/public-calls/public-calls.ts';
import { queuedAnswer } from '../queue/command-view.ts';
import { mayWaitInLine } from '../serving/prefer-async.ts';
import { type Route, UPSTREAM_MOUNT } from '../serving/route.ts';
import { type PassThroughDeps, passThrough } from './pass-through.ts';

/** The successes of these calls of the specification contain keys, or a URL that transfers an account. */
const SECRET_ANSWERS: ReadonlySet<CallId> = new Set([
  'createAuthIntegration',
  'createAuthKeys',
  'transferAuthOwnership',
  'addOauthProvider',
  'updateOauthProvider',
  'updateEmailServer',
]);

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
  const specified = (Object.keys(calls) as CallId[]).map((id) => specifiedRoute(deps, id));
  const extra = extraRoutes.map((route) => extraRoute(deps, route));
  const configured = new Set(extra.map(shapeOf));
  const open: ReadonlySet<string> = new Set(openCalls);
  const further = Object.entries<PublicCall>(publicCalls).map(([id, call]) =>
    publicRoute(deps, { id, call, isOpen: open.has(id) }),
  );
  const kept = configured.size === 0 ? further : further.filter((route) => !configured.has(shapeOf(route)));
  return [...specified, ...kept, ...extra];
}

/** Two routes of one request have the same shape, whatever their ids are called. */
function shapeOf({ method, path }: Route): string {
  return `${method} ${path.replace(/\{\w+\}/g, '{}')}`;
}

function specifiedRoute(deps: PassThroughDeps, id: CallId): Route {
  const target = { id, call: calls[id], isSecret: SECRET_ANSWERS.has(id), shows: 'issued' } as const;
  return { ...routeOf(deps, target), access: calls[id].scope };
}

function extraRoute(deps: PassThroughDeps, route: ExtraRoute): Route {
  const target = {
    id: route.id,
    call: callOfExtra(route),
    isSecret: route.is_secret,
    shows: 'issued',
  } as const;
  return { ...routeOf(deps, target), access: route.scope };
}

function publicRoute(
  deps: PassThroughDeps,
  { id, call, isOpen }: { readonly id: string; readonly call: PublicCall; readonly isOpen: boolean },
): Route {
  const target = { id, call: callOf(call), isSecret: call.shows !== undefined, shows: call.shows };
  return {
    ...routeOf(deps, target),
    access: call.scope,
    isOfSecondEdition: true,
    declared: declaredFieldsOf(call),
    ...(call.answer === 'file' && { mediaType: '*/*' }),
    ...(call.isClosed && !isOpen && { closedUntil: `open_calls: ['${id}'] under api in bridge.config.ts` }),
  };
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
  return mayWaitInLine(call)
    ? {
        lineAnswer: queuedAnswer,
        furtherProblems: ['account-paused', 'frozen', 'queue-full', 'not-queueable'],
      }
    : { furtherProblems: ['account-paused', 'frozen'] };
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
