/** Lets a visitor say that they take care of an incident. It uses the route of the API. */

import type { Context, Hono } from 'hono';
import { messagePage, showPage, showSignIn } from './pages/page.ts';
import { checkScope } from './pages/permission.ts';
import type { RouteDeps } from './pages/upstream-view.ts';
import { isOwnPath } from './session/browser-form.ts';
import { type Visitor, type VisitorDeps, visitorOf } from './session/visitor.ts';
import type { RefusalDeps } from './session/visitor-traces.ts';
import { genuineForm, showOutcome } from './visitor-command.ts';

export type AcknowledgeSwitchDeps = VisitorDeps & RefusalDeps & RouteDeps;

const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token does not allow this. Nothing was changed.',
  403,
);

export function addAcknowledgeSwitch(app: Hono, deps: AcknowledgeSwitchDeps): void {
  app.post('/incidents/:incident_id/acknowledge', async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : acknowledge(deps, c, visitor);
  });
}

async function acknowledge(deps: AcknowledgeSwitchDeps, c: Context, visitor: Visitor): Promise<Response> {
  const form = await genuineForm(deps, c, visitor, 'consoleAcknowledge');
  const route = deps.routes.find(({ id }) => id === 'acknowledgeIncident');
  const mayAct = checkScope(deps, visitor, 'alerts:mute', 'consoleAcknowledge');
  if (form === undefined || route === undefined || !mayAct) return showPage(c, visitor, NOT_DONE);
  const ids = { incident_id: c.req.param('incident_id') ?? '' };
  const answer = await deps.call(route, { caller: visitor.caller, ids });
  const asked = form.get('back') ?? '';
  const backTo = isOwnPath(asked) ? asked : '/console';
  return showOutcome(c, visitor, answer, { what: 'The acknowledgement', backTo });
}
