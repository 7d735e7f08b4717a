/** What a page shows of the upstream: through the API's own routes, so that callers see there what they may see. */

import type { Caller } from '../../../shared/callers/authorize.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import type { Compute } from './project-page.ts';
import { textOf } from './request-parts.ts';

export interface UpstreamViewDeps {
  /** The API's own routes: what a page shows of the upstream, and what its forms do, goes through them. */
  readonly routes: readonly Route[];
  readonly call: (
    route: Route,
    request: {
      readonly caller: Caller;
      readonly ids: Readonly<Record<string, string>>;
      readonly idempotencyKey?: string;
    },
  ) => Promise<ApiAnswer>;
}

const ACTIONS = { start: 'startEndpoint', restart: 'restartEndpoint' } as const;

export type EndpointAction = keyof typeof ACTIONS;

export type UpstreamView = ReturnType<typeof createUpstreamView>;

export function createUpstreamView(deps: UpstreamViewDeps) {
  return { routeOf, answerOf, computesOf };

  function routeOf(action: EndpointAction): Route | undefined {
    return deps.routes.find(({ id }) => id === ACTIONS[action]);
  }

  /** Undefined when the caller may not ask, or nothing usable was answered: a page shows what there is. */
  async function answerOf(
    caller: Caller,
    routeId: string,
    ids: Readonly<Record<string, string>>,
  ): Promise<unknown> {
    const route = deps.routes.find(({ id }) => id === routeId);
    if (route === undefined) return undefined;
    const answer = await deps.call(route, { caller, ids });
    if (answer.status !== 200 || !(answer.body instanceof Uint8Array)) return undefined;
    return JSON.parse(new TextDecoder().decode(answer.body)) as unknown;
  }

  async function computesOf(caller: Caller, projectId: string): Promise<readonly Compute[] | undefined> {
    const answer = (await answerOf(caller, 'listEndpoints', { project_id: projectId })) as
      | { endpoints?: unknown }
      | undefined;
    if (!Array.isArray(answer?.endpoints)) return undefined;
    return (answer.endpoints as readonly Record<string, unknown>[]).map((endpoint) => ({
      id: textOf(endpoint['id']),
      type: textOf(endpoint['type']),
      state: textOf(endpoint['current_state']),
      branchId: textOf(endpoint['branch_id']),
    }));
  }
}
