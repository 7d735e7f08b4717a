/**
 * Reads what a page shows of the upstream, and of the bridge beyond its records. It uses the API's own routes, so that
 * visitors see no more than their tokens may see.
 */

import type { Caller } from '../../../../shared/callers/authorize.ts';
import type { ApiAnswer, Route } from '../../serving/route.ts';

export interface RouteCall {
  readonly caller: Caller;
  readonly ids: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

export interface RouteDeps {
  readonly routes: readonly Route[];
  readonly call: (route: Route, request: RouteCall) => Promise<ApiAnswer>;
}

export interface Compute {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly branchId: string;
}

/**
 * Resolves to the parsed body of a success. Resolves to undefined when the caller must not ask, or the upstream gave no usable
 * answer.
 */
export async function readUpstream(deps: RouteDeps, routeId: string, request: RouteCall): Promise<unknown> {
  const body = await readBridge(deps, routeId, request);
  return body instanceof Uint8Array ? (JSON.parse(new TextDecoder().decode(body)) as unknown) : undefined;
}

/** Resolves to the body of a success of a route of the bridge's own, and to undefined when the caller must not ask. */
export async function readBridge(
  { routes, call }: RouteDeps,
  routeId: string,
  request: RouteCall,
): Promise<unknown> {
  const route = routes.find(({ id }) => id === routeId);
  if (route === undefined) return undefined;
  const answer = await call(route, request);
  return answer.status === 200 ? answer.body : undefined;
}

/** Resolves to undefined when the caller may not ask, or the upstream gave no usable answer. */
export async function readComputes(
  deps: RouteDeps,
  caller: Caller,
  projectId: string,
): Promise<readonly Compute[] | undefined> {
  const request = { caller, ids: { project_id: projectId } };
  const answer = (await readUpstream(deps, 'listEndpoints', request)) as { endpoints?: unknown } | undefined;
  if (!Array.isArray(answer?.endpoints)) return undefined;
  return (answer.endpoints as readonly Record<string, unknown>[]).map((endpoint) => ({
    id: textOf(endpoint['id']),
    type: textOf(endpoint['type']),
    state: textOf(endpoint['current_state']),
    branchId: textOf(endpoint['branch_id']),
  }));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
