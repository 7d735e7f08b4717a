/** Lists what a visitor can do with a compute, and makes the page that asks before it is done. */

import { html } from 'hono/html';
import type { Route } from '../../serving/route.ts';
import type { Html } from '../html/markup.ts';
import { projectPath } from '../html/paths.ts';

const ROUTE_IDS = { start: 'startEndpoint', restart: 'restartEndpoint' } as const;

export type EndpointAction = keyof typeof ROUTE_IDS;

export const ENDPOINT_ACTIONS = ['start', 'restart'] as const satisfies readonly EndpointAction[];

/** Returns undefined when the configuration does not open the call. */
export function routeOfAction(routes: readonly Route[], action: EndpointAction): Route | undefined {
  return routes.find(({ id }) => id === ROUTE_IDS[action]);
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
  const what = action === 'start' ? 'Start' : 'Restart';
  return html`<div class="sign"><h1>${what} ${endpointId}?</h1>
<p>This compute belongs to project <code>${projectId}</code>. ${action === 'restart' ? 'A restart drops all connections to it.' : 'It costs money while it runs.'}</p>
<form method="post"><input type="hidden" name="form_key" value="${formKey}"><input type="hidden" name="command_key" value="${commandKey}">
<button class="do">${what} it</button> <a class="button" href="${projectPath(accountId, projectId)}">Back</a></form></div>`;
}
