/**
 * Defines the routes under `/api/v2`: every call of the specification, and the further calls that the configuration
 * opens.
 */

import * as z from 'zod';
import { type Scope, scopeOfCall } from '../../../shared/callers/scopes.ts';
import type { ForwardableCall } from '../../../shared/commands/command-request.ts';
import type { ExtraRoute } from '../../../shared/config/extra-routes.ts';
import type { Call } from '../../../shared/upstream/calls/call.ts';
import { type CallId, calls } from '../../../shared/upstream/calls/calls.ts';
import type { Route } from '../serving/route.ts';
import { type PassThroughDeps, passThrough } from './pass-through.ts';

const UPSTREAM_MOUNT = '/api/v2';

/** The successes of these calls contain keys, or a URL that transfers an account. */
const SECRET_ANSWERS: ReadonlySet<CallId> = new Set([
  'createAuthIntegration',
  'createAuthKeys',
  'transferAuthOwnership',
  'addOauthProvider',
  'updateOauthProvider',
  'updateEmailServer',
]);

export function passThroughRoutes(
  deps: PassThroughDeps,
  extraRoutes: readonly ExtraRoute[],
): readonly Route[] {
  const specified = (Object.keys(calls) as CallId[]).map((id) =>
    routeOf(deps, { id, call: calls[id], isSecret: SECRET_ANSWERS.has(id) }, scopeOfCall[id]),
  );
  const extra = extraRoutes.map((route) =>
    routeOf(deps, { id: route.id, call: callOf(route), isSecret: route.is_secret }, route.scope),
  );
  return [...specified, ...extra];
}

function routeOf(deps: PassThroughDeps, target: ForwardableCall, access: Scope): Route {
  const { id, call } = target;
  return {
    id,
    method: call.method,
    path: `${UPSTREAM_MOUNT}${call.path}`,
    summary: call.summary,
    description: `Passed on as it is; see "${call.section}" of the upstream API.`,
    group: 'Upstream API',
    access,
    reach: call.reach ?? 'account',
    limit: 'upstream',
    ...(call.query && { query: call.query }),
    ...(call.body && { body: call.body }),
    status: call.status,
    answer: call.answer,
    handle: (request) => passThrough(deps, target, request),
  };
}

function callOf({ method, path, summary, query, body, body_fields, stays_within_project }: ExtraRoute): Call {
  const parameters = query.map((name) => [name, z.string().max(1_000).optional()] as const);
  return {
    method,
    path,
    reach: stays_within_project ? 'path_project' : 'account',
    summary,
    section: 'Further calls',
    ...(query.length > 0 && { query: z.strictObject(Object.fromEntries(parameters)) }),
    ...(body === 'json' && { body: looseBody(body_fields) }),
    answer: z.unknown(),
    status: 200,
  };
}

/** Returns a schema that takes any field. Callers who are limited to projects may send only the declared fields. */
function looseBody(paths: readonly string[]): z.ZodObject {
  const inner = new Map<string, string[]>();
  for (const path of paths) {
    const [name = '', ...rest] = path.split('.');
    inner.set(name, [...(inner.get(name) ?? []), ...(rest.length > 0 ? [rest.join('.')] : [])]);
  }
  const shape = [...inner].map(
    ([name, deeper]) => [name, (deeper.length > 0 ? looseBody(deeper) : z.unknown()).optional()] as const,
  );
  return z.looseObject(Object.fromEntries(shape));
}
