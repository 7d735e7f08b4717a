/** Handles the switch that holds all commands of an account, or lets them go on. It uses the routes of the API. */

import type { Context, Hono } from 'hono';
import { freezePath } from './html/paths.ts';
import { maySwitchFreeze } from './pages/administration/freeze-page.ts';
import { messagePage, showPage, showSignIn } from './pages/page.ts';
import { checkReading, checkScope } from './pages/permission.ts';
import type { RouteDeps } from './pages/upstream-view.ts';
import { type Visitor, type VisitorDeps, visitorOf } from './session/visitor.ts';
import type { RefusalDeps } from './session/visitor-traces.ts';
import { genuineForm, showOutcome } from './visitor-command.ts';

export type FreezeSwitchDeps = VisitorDeps & RefusalDeps & RouteDeps;

const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token does not allow this. Nothing was changed.',
  403,
);

export function addFreezeSwitch(app: Hono, deps: FreezeSwitchDeps): void {
  app.post('/accounts/:account_id/freeze', async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : switchFreeze(deps, c, visitor);
  });
}

async function switchFreeze(deps: FreezeSwitchDeps, c: Context, visitor: Visitor): Promise<Response> {
  const accountId = c.req.param('account_id') ?? '';
  const { caller } = visitor;
  const form = await genuineForm(deps, c, visitor, 'consoleFreeze');
  const isOn = form?.get('switch') === 'on';
  const route = deps.routes.find(({ id }) => id === (isOn ? 'freezeAccount' : 'liftFreeze'));
  const mayAct =
    checkReading(deps, visitor, accountId) &&
    checkScope(deps, visitor, 'commands:freeze', 'consoleFreeze') &&
    maySwitchFreeze(caller);
  if (form === undefined || route === undefined || !mayAct) return showPage(c, visitor, NOT_DONE);
  const body = isOn ? { reason: form.get('reason') ?? '' } : undefined;
  const answer = await deps.call(route, { caller, ids: {}, ...(body && { body }) });
  return showOutcome(c, visitor, answer, { what: 'The switch', backTo: freezePath(accountId) });
}
