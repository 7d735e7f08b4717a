/** Handles the button of a project's page that asks the poller for a fresh reading. */

import type { Context, Hono } from 'hono';
import { projectPath } from './html/paths.ts';
import { messagePage, showPage, showSignIn } from './pages/page.ts';
import { checkReading } from './pages/permission.ts';
import type { RouteDeps } from './pages/upstream-view.ts';
import { type Visitor, type VisitorDeps, visitorOf } from './session/visitor.ts';
import type { RefusalDeps } from './session/visitor-traces.ts';
import { genuineForm, showOutcome } from './visitor-command.ts';

export type ReadWishDeps = VisitorDeps & RefusalDeps & RouteDeps;

const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token does not allow this.',
  403,
);

export function addReadWish(app: Hono, deps: ReadWishDeps): void {
  app.post('/accounts/:account_id/projects/:project_id/read', async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : sendWish(deps, c, visitor);
  });
}

async function sendWish(deps: ReadWishDeps, c: Context, visitor: Visitor): Promise<Response> {
  const { account_id: accountId = '', project_id: projectId = '' } = c.req.param();
  const form = await genuineForm(deps, c, visitor, 'consoleRead');
  const route = deps.routes.find(({ id }) => id === 'requestRead');
  if (form === undefined || route === undefined || !checkReading(deps, visitor, accountId, projectId))
    return showPage(c, visitor, NOT_DONE);
  const answer = await deps.call(route, { caller: visitor.caller, ids: { project_id: projectId } });
  const backTo = `${projectPath(accountId, projectId)}?asked`;
  return showOutcome(c, visitor, answer, { what: 'The wish', backTo });
}
