/**
 * Shows one compute: its state and since when, the last changes of it, and what the visitor can do with it. A page
 * asks before a compute is started or restarted, and the command is audited like any other.
 */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import type { ComputeRecord } from '../../../../shared/records/journal-record.ts';
import type { OperationRecord } from '../../../../shared/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { eventsOf } from '../../read-model/event-feed.ts';
import type { ApiAnswer, Route } from '../../serving/route.ts';
import {
  branchPath,
  commandPath,
  computePath,
  empty,
  endpointActionPath,
  facts,
  type Html,
  operationPath,
  projectPath,
} from '../html/markup.ts';
import { badge, eventTable, projectCrumbs } from '../html/records.ts';
import { timeAndAge } from '../html/times.ts';
import { formKey as formKeyOf } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  messagePage,
  NOT_DONE,
  NOTHING_HERE,
  type Page,
  pageTimeOf,
  showPage,
} from './page.ts';
import {
  type ProjectTroubles,
  readProjectTroubles,
  type TroublePage,
  troubleSections,
  troubleVerdict,
} from './troubles.ts';
import {
  type Compute,
  firstOperationIn,
  genuineForm,
  type RouteDeps,
  readComputes,
  showOutcome,
} from './visitor-calls.ts';

export interface ComputeDeps extends RefusalDeps, RouteDeps {
  readonly clock: Clock;
}

interface ComputeView extends TroublePage {
  readonly found: ProjectTroubles;
  readonly projectId: string;
  readonly endpointId: string;
  /** What the bridge has seen of it. It is undefined when the bridge has seen no change. */
  readonly record: ComputeRecord | undefined;
  /** What the upstream says of it now. It is undefined when the visitor must not ask, or it does not answer. */
  readonly present: Compute | undefined;
  readonly actions: readonly EndpointAction[];
  readonly name: string | undefined;
}

const NOT_KNOWN = messagePage(
  'Not known',
  'Neither the bridge nor the upstream shows this compute to you. The bridge keeps a compute for 400 days after its last change.',
  404,
);

export function buildCompute(deps: ComputeDeps): BuildPage {
  return async (c, visitor) => {
    const {
      account_id: accountId = '',
      project_id: projectId = '',
      endpoint_id: endpointId = '',
    } = c.req.param();
    if (!checkReading(deps, visitor, accountId, projectId)) return NOTHING_HERE;
    const { caller, model, session, pepper } = visitor;
    const at = pageTimeOf(c, deps.clock);
    const isAbout = (operation: OperationRecord) => operation.endpoint_id === endpointId;
    const [record, computes, name, found] = await Promise.all([
      model.compute(projectId, endpointId),
      readComputes(deps, caller, projectId),
      model.projectName(projectId),
      readProjectTroubles(visitor, projectId, { nowMs: at.nowMs, isAbout }),
    ]);
    const present = computes?.find(({ id }) => id === endpointId);
    if (record === undefined && present === undefined) return NOT_KNOWN;
    const content = computePage({
      accountId,
      projectId,
      endpointId,
      record,
      present,
      actions: actionsFor(deps, caller),
      name,
      found,
      isOfProject: true,
      names: new Map(name === undefined ? [] : [[projectId, name]]),
      caller,
      formKey: formKeyOf(session, pepper),
      path: computePath(accountId, projectId, endpointId),
      at,
    });
    return { title: endpointId, section: '/console/projects', about: projectId, content };
  };
}

function computePage(view: ComputeView): Html {
  const { accountId, projectId, endpointId, record, present, at } = view;
  const state = present?.state ?? record?.state ?? '';
  const branchId = present?.branchId ?? record?.branch_id;
  const operation = record?.state_operation;
  return html`${projectCrumbs(accountId, projectId, view.name)}
<h1><span class="quiet">Compute</span> ${endpointId}</h1>
<p class="verdict">${badge(state)}</p>
${view.found.troubles.length === 0 ? '' : troubleVerdict(view.found)}
${troubleSections(view, view.found)}
${actionRow(view, state)}
${facts([
  ['In this state since', record?.state_since === undefined ? undefined : timeAndAge(record.state_since, at)],
  ['Kind', present?.type],
  [
    'Branch',
    branchId && html`<a class="id" href="${branchPath(accountId, projectId, branchId)}">${branchId}</a>`,
  ],
  [
    'Changed by',
    operation &&
      html`<a href="${operationPath(accountId, projectId, operation.operation_id)}">${operation.action}</a>`,
  ],
  ['Changes that were seen', record?.sequence],
])}
<h2>Its last two changes</h2>
${record === undefined || record.entries.length === 0 ? empty('The bridge has seen no change of this compute.') : eventTable(view, eventsOf(record).toReversed(), at)}`;
}

function actionRow({ accountId, projectId, endpointId, actions }: ComputeView, state: string): Html | '' {
  const offered = actions.filter((action) => suitsState(action, state));
  if (offered.length === 0) return '';
  return html`<p class="row">${offered.map((action) => html`<a class="button" href="${endpointActionPath(accountId, projectId, { endpointId, action })}">${ACTION_NAMES[action]}</a>`)}</p>`;
}

const ROUTE_IDS = { start: 'startEndpoint', restart: 'restartEndpoint', suspend: 'suspendEndpoint' } as const;

export type EndpointAction = keyof typeof ROUTE_IDS;

const ENDPOINT_ACTIONS = ['start', 'restart', 'suspend'] as const satisfies readonly EndpointAction[];

/** Returns undefined when the configuration does not open the call. */
function routeOfAction(routes: readonly Route[], action: EndpointAction): Route | undefined {
  return routes.find(({ id }) => id === ROUTE_IDS[action]);
}

/** Returns the actions that the configuration opens and the scopes of the caller allow. */
export function actionsFor({ routes }: RouteDeps, { scopes }: Caller): readonly EndpointAction[] {
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

function confirmPage(parts: {
  readonly action: EndpointAction;
  readonly accountId: string;
  readonly projectId: string;
  readonly endpointId: string;
  readonly formKey: string;
  /** The command gets this Idempotency-Key, so that a form that is sent twice is one command. */
  readonly commandKey: string;
  readonly cameFrom: string;
}): Html {
  const { action, projectId, endpointId, formKey, commandKey, cameFrom } = parts;
  const what = ACTION_NAMES[action];
  return html`<div class="sign"><h1>${what} ${endpointId}?</h1>
<p>This compute belongs to project <code>${projectId}</code>. ${CONSEQUENCES[action]}</p>
<form method="post"><input type="hidden" name="form_key" value="${formKey}"><input type="hidden" name="command_key" value="${commandKey}">
<button class="do">${what} it</button> <a class="button" href="${cameFrom}">Back</a></form></div>`;
}

export type EndpointCommandDeps = VisitorDeps & RefusalDeps & RouteDeps;

const ACTION_PATH =
  '/accounts/:account_id/projects/:project_id/endpoints/:endpoint_id/:action{start|restart|suspend}';

const NO_ACCESS = messagePage(
  'No access',
  'Your token needs the scope computes:restart and this project.',
  403,
);

export function addEndpointCommands(app: Hono, deps: EndpointCommandDeps): void {
  app.get(
    ACTION_PATH,
    forVisitors(deps, (_deps, c, visitor) => showPage(c, visitor, askFirst(deps, c, visitor))),
  );
  app.post(ACTION_PATH, forVisitors(deps, sendCommand));
}

interface Target {
  readonly accountId: string;
  readonly projectId: string;
  readonly endpointId: string;
  readonly action: EndpointAction;
  /** The command repeats this operation. */
  readonly repeats: string | undefined;
  /** The visitor came from this page. */
  readonly cameFrom: string;
}

function targetOf(c: Context): Target {
  const { account_id = '', project_id = '', endpoint_id = '', action } = c.req.param();
  // The path lets no other action through.
  const known = ENDPOINT_ACTIONS.find((each) => each === action) ?? 'start';
  const repeats = c.req.query('repeats')?.slice(0, 100) || undefined;
  const cameFrom =
    repeats === undefined
      ? computePath(account_id, project_id, endpoint_id)
      : operationPath(account_id, project_id, repeats);
  const ids = { accountId: account_id, projectId: project_id, endpointId: endpoint_id };
  return { ...ids, action: known, repeats, cameFrom };
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
  const keys = { formKey: formKeyOf(visitor.session, visitor.pepper), commandKey: deps.newId() };
  return { title: `${target.action} ${target.endpointId}`, content: confirmPage({ ...target, ...keys }) };
}

/**
 * The page of the command shows how far it is, and that of its operation the new story of one that was repeated. A form
 * that was sent twice is one command, which the operations of its repeated answer name.
 */
async function progressPath(
  { model }: Visitor,
  { projectId, repeats }: Target,
  answer: ApiAnswer,
): Promise<string> {
  const first = firstOperationIn(answer);
  const recorded =
    first === undefined ? undefined : await unlessUnreadable(model.operation(projectId, first));
  if (repeats !== undefined && recorded !== undefined)
    return `${operationPath(model.accountId, projectId, recorded.operation_id)}?repeats=${encodeURIComponent(repeats)}`;
  const requestId = answer.headers?.['bridge-request-id'] ?? '';
  const sent = await unlessUnreadable(model.command(projectId, requestId));
  if (sent !== undefined) return commandPath(model.accountId, projectId, requestId);
  if (first === undefined) return projectPath(model.accountId, projectId);
  const origin = recorded?.command?.request_id;
  return origin === undefined
    ? operationPath(model.accountId, projectId, first)
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
  const backTo = await progressPath(visitor, target, answer);
  return showOutcome(c, visitor, answer, { what: 'The command', backTo, cameFrom: target.cameFrom });
}
