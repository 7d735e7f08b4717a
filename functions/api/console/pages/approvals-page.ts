/** Lists the calls that wait for a person, with the forms that approve or deny one. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { empty, type Html } from '../html/markup.ts';
import { projectLink } from '../html/records.ts';
import { type PageTime, timeAndAge, timeAndRest } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  messagePage,
  pageTimeOf,
  READING_REFUSED,
  showPage,
} from './page.ts';
import { genuineForm, type RouteDeps, readBridge, showOutcome } from './visitor-calls.ts';

const APPROVALS_PAGE = '/console/approvals';

export interface ApprovalsDeps extends RefusalDeps, RouteDeps {
  readonly clock: Clock;
}

interface ShownApproval {
  readonly approval_id: string;
  readonly project_id: string;
  readonly client_id: string;
  readonly call: string;
  readonly request?: string;
  readonly asked_at: string;
  readonly expires_at: string;
}

interface ApprovalsView {
  readonly accountId: string;
  readonly approvals: readonly ShownApproval[];
  readonly names: ReadonlyMap<string, string>;
  readonly clientId: string;
  /** The visitor sees the forms only with this key. */
  readonly key: string | undefined;
  readonly at: PageTime;
}

export function buildApprovals(deps: ApprovalsDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model, session, pepper } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const [answer, names] = await Promise.all([
      readBridge(deps, 'listApprovals', { caller, ids: {} }),
      model.projectNames(),
    ]);
    const { approvals = [] } = (answer ?? {}) as { approvals?: readonly ShownApproval[] };
    const key = caller.scopes.has('commands:approve') ? formKey(session, pepper) : undefined;
    const [accountId, clientId] = [model.accountId, caller.client_id];
    const view = { accountId, approvals, names, clientId, key, at: pageTimeOf(c, deps.clock) };
    return { title: 'Approvals', about: 'time', content: approvalsPage(view) };
  };
}

function approvalsPage(view: ApprovalsView): Html {
  const { approvals, key } = view;
  return html`<h1>Approvals</h1>
<p class="quiet">These calls wait for a person, because a rule of the token says so. Nothing of them is done yet. An approved call is sent in its turn.</p>
${approvals.length === 0 ? empty('Nothing waits for a person.') : approvalTable(view)}
${key === undefined && approvals.length > 0 ? html`<p class="quiet">Your token may not decide: it needs the scope commands:approve.</p>` : ''}`;
}

function approvalTable(view: ApprovalsView): Html {
  const { accountId, approvals, names, at } = view;
  return html`<table class="stack"><thead><tr><th>What would be done</th><th>Project</th><th>Asked by</th><th>Waits until</th><th>Decide</th></tr></thead>
<tbody>${approvals.map(
    (
      one,
    ) => html`<tr><td>${one.call}${one.request === undefined ? '' : html`<br><span class="id quiet">${one.request}</span>`}</td>
<td>${projectLink(accountId, one.project_id, names)}</td>
<td data-label="Asked by">${one.client_id} ${timeAndAge(one.asked_at, at)}</td>
<td data-label="Waits until">${timeAndRest(one.expires_at, at)}</td><td>${decisionForm(view, one)}</td></tr>`,
  )}</tbody></table>`;
}

function decisionForm({ key, clientId }: ApprovalsView, one: ShownApproval): Html | string {
  if (key === undefined) return '';
  if (one.client_id === clientId) return html`<span class="quiet">You asked; another person decides.</span>`;
  const what = html`<span class="only-read"> ${one.call} in ${one.project_id}</span>`;
  return html`<form class="pair" method="post" action="${APPROVALS_PAGE}/${encodeURIComponent(one.approval_id)}"><input type="hidden" name="form_key" value="${key}">
<button class="do" name="decision" value="approve">Approve${what}</button> <button name="decision" value="deny">Deny${what}</button></form>`;
}

const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token lacks the scope commands:approve. Nothing was changed.',
  403,
);

export type DecisionDeps = VisitorDeps & RefusalDeps & RouteDeps;

export function addDecisions(app: Hono, deps: DecisionDeps): void {
  app.post('/approvals/:approval_id', forVisitors(deps, decide));
}

async function decide(deps: DecisionDeps, c: Context, visitor: Visitor): Promise<Response> {
  const form = await genuineForm(deps, c, visitor, 'consoleApproval');
  const route = deps.routes.find(({ id }) => id === 'decideApproval');
  const mayDecide = checkScope(deps, visitor, 'commands:approve', 'consoleApproval');
  if (form === undefined || route === undefined || !mayDecide) return showPage(c, visitor, NOT_DONE);
  const { approval_id = '' } = c.req.param();
  const decision = form.get('decision') ?? '';
  const answer = await deps.call(route, { caller: visitor.caller, ids: { approval_id }, body: { decision } });
  return showOutcome(c, visitor, answer, {
    what: 'The decision',
    backTo: APPROVALS_PAGE,
    done: decision === 'approve' ? 'The call is approved and is sent in its turn.' : 'The call is denied.',
  });
}
