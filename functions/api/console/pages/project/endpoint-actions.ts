/** Lists what a visitor can do with a compute, and makes the page that asks before it is done. */

import { html } from 'hono/html';
import type { Caller } from '../../../../../shared/callers/authorize.ts';
import type { Route } from '../../../serving/route.ts';
import type { Html } from '../../html/markup.ts';
import { projectPath } from '../../html/paths.ts';
import type { RouteDeps } from '../upstream-view.ts';

const ROUTE_IDS = { start: 'startEndpoint', restart: 'restartEndpoint', suspend: 'suspendEndpoint' } as const;

export type EndpointAction = keyof typeof ROUTE_IDS;

export const ENDPOINT_ACTIONS = ['start', 'restart', 'suspend'] as const satisfies readonly EndpointAction[];

/** Returns undefined when the configuration does not open the call. */
export function routeOfAction(routes: readonly Route[], action: EndpointAction): Route | undefined {
  return routes.find(({ id }) => id === ROUTE_IDS[action]);
}

/** Returns the actions that the configuration opens and the scopes of the caller allow. */
export function actionsFor(
  { routes }: Pick<RouteDeps, 'routes'>,
  { scopes }: Caller,
): readonly EndpointAction[] {
  if (!scopes.has('computes:restart')) return [];
  return ENDPOINT_ACTIONS.filter((action) => routeOfAction(routes, action) !== undefined);
}

export const ACTION_NAMES: Readonly<Record<EndpointAction, string>> = {
  start: 'Start',
  restart: 'Restart',
  suspend: 'Suspend',
};

const CONSEQUENCES: Readonly<Record<EndpointAction, string>> = {
  start: 'It costs money while it runs.',
  restart: 'A restart drops all connections to it.',
  suspend: 'This drops all connections to it. The next connection starts it again.',
};

/** Says whether the action makes sense in the compute's state. */
export function suitsState(action: EndpointAction, state: string): boolean {
  return (action === 'start') === (state === 'idle');
}

export function confirmPage(parts: {
  readonly action: EndpointAction;
  readonly accountId: string;
  readonly projectId: string;
  readonly endpointId: string;
  readonly formKey: string;
  /** The command gets this Idempotency-Key, so that a form that is sent twice is one command. */
  readonly commandKey: string;
}): Html {
  const { action, accountId, projectId, endpointId, formKey, commandKey } = parts;
  const what = ACTION_NAMES[action];
  return html`<div class="sign"><h1>${what} ${endpointId}?</h1>
<p>This compute belongs to project <code>${projectId}</code>. ${CONSEQUENCES[action]}</p>
<form method="post"><input type="hidden" name="form_key" value="${formKey}"><input type="hidden" name="command_key" value="${commandKey}">
<button class="do">${what} it</button> <a class="button" href="${projectPath(accountId, projectId)}">Back</a></form></div>`;
}
