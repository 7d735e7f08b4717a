/** Starts or restarts a compute from a page. A page asks first, and the command is audited like any other. */

import type { Context, Hono } from 'hono';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import type { ApiAnswer } from '../serving/route.ts';
import { commandPath, operationPath, projectPath } from './html/paths.ts';
import { messagePage, type Page, showPage, showSignIn } from './pages/page.ts';
import { checkReading, checkScope } from './pages/permission.ts';
import {
  confirmPage,
  ENDPOINT_ACTIONS,
  type EndpointAction,
  routeOfAction,
} from './pages/project/endpoint-actions.ts';
import type { RouteDeps } from './pages/upstream-view.ts';
import { formKey } from './session/session.ts';
import { type Visitor, type VisitorDeps, visitorOf } from './session/visitor.ts';
import type { RefusalDeps } from './session/visitor-traces.ts';
import { firstOperationIn, genuineForm, showOutcome } from './visitor-command.ts';

export type EndpointCommandDeps = VisitorDeps & RefusalDeps & RouteDeps;

const PATH =
  '/accounts/:account_id/projects/:project_id/endpoints/:endpoint_id/:action{start|restart|suspend}';

const NO_ACCESS = messagePage(
  'No access',
  'Your token needs the scope computes:restart and this project.',
  403,
);

const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token does not allow this. Nothing was changed.',
  403,
);

export function addEndpointCommands(app: Hono, deps: EndpointCommandDeps): void {
  app.get(PATH, async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : showPage(c, visitor, askFirst(deps, c, visitor));
  });
  app.post(PATH, async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : sendCommand(deps, c, visitor);
  });
}

interface Target {
  readonly accountId: string;
  readonly projectId: string;
  readonly endpointId: string;
  readonly action: EndpointAction;
}

function targetOf(c: Context): Target {
  const { account_id = '', project_id = '', endpoint_id = '', action } = c.req.param();
  // The path lets no other action through.
  const known = ENDPOINT_ACTIONS.find((each) => each === action) ?? 'start';
  return { accountId: account_id, projectId: project_id, endpointId: endpoint_id, action: known };
}

function mayAct(deps: EndpointCommandDeps, visitor: Visitor, { accountId, projectId }: Target): boolean {
  return (
    checkReading(deps, visitor, accountId, projectId) &&
    checkScope(deps, visitor, 'computes:restart', 'consoleCommand')
  );
}

function askFirst(deps: EndpointCommandDeps, c: Context, visitor: Visitor): Page {
  const target = targetOf(c);
  if (!mayAct(deps, visitor, target)) return NO_ACCESS;
  const keys = { formKey: formKey(visitor.session, visitor.pepper), commandKey: deps.newId() };
  return { title: `${target.action} ${target.endpointId}`, content: confirmPage({ ...target, ...keys }) };
}

/**
 * The page of the command shows how far it is. A form that was sent twice is one command, which the operations of its
 * repeated answer name.
 */
async function progressPath({ model }: Visitor, projectId: string, answer: ApiAnswer): Promise<string> {
  const requestId = answer.headers?.['bridge-request-id'] ?? '';
  const sent = await unlessUnreadable(model.command(projectId, requestId));
  if (sent !== undefined) return commandPath(model.accountId, projectId, requestId);
  const operationId = firstOperationIn(answer);
  if (operationId === undefined) return projectPath(model.accountId, projectId);
  const operation = await unlessUnreadable(model.operation(projectId, operationId));
  const origin = operation?.command?.request_id;
  return origin === undefined
    ? operationPath(model.accountId, projectId, operationId)
    : commandPath(model.accountId, projectId, origin);
}

async function sendCommand(deps: EndpointCommandDeps, c: Context, visitor: Visitor): Promise<Response> {
  const target = targetOf(c);
  const { projectId, endpointId, action } = target;
  const form = await genuineForm(deps, c, visitor, `console_${action}`);
  const route = routeOfAction(deps.routes, action);
  if (form === undefined || !mayAct(deps, visitor, target) || route === undefined)
    return showPage(c, visitor, NOT_DONE);
  const ids = { project_id: projectId, endpoint_id: endpointId };
  const idempotencyKey = form.get('command_key') ?? '';
  const answer = await deps.call(route, { caller: visitor.caller, ids, idempotencyKey });
  const backTo = await progressPath(visitor, projectId, answer);
  return showOutcome(c, visitor, answer, { what: 'The command', backTo });
}
