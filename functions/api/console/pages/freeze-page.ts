/** Shows whether the commands of an account are held, with the switch for it, and the notice on other pages. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { empty, facts, freezePath, type Html } from '../html/markup.ts';
import { type PageTime, time } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  NOT_DONE,
  NOTHING_HERE,
  pageTimeOf,
  READING_REFUSED,
  showPage,
} from './page.ts';
import { genuineForm, type RouteDeps, readBridge, showOutcome } from './visitor-calls.ts';

export type FreezePageDeps = RefusalDeps & RouteDeps & { readonly clock: Clock };

/** The field has the bound of the route, which checks it again. */
const REASON_CHARACTERS_MAX = 300;

export interface FreezeView {
  readonly frozen: boolean;
  readonly reason?: string;
  readonly client_id?: string;
  readonly since?: string;
}

/** Resolves to undefined when the caller may not know whether commands are held. */
export async function readFreeze(deps: RouteDeps, caller: Caller): Promise<FreezeView | undefined> {
  return (await readBridge(deps, 'getFreeze', { caller, ids: {} })) as FreezeView | undefined;
}

/** A freeze concerns all projects, so a caller who is limited to some does not get the switch. */
export function maySwitchFreeze({ scopes, projectIds }: Caller): boolean {
  return scopes.has('commands:freeze') && projectIds === undefined;
}

export function buildFreeze(deps: FreezePageDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, session, pepper } = visitor;
    if (c.req.param('account_id') !== caller.account_id) return NOTHING_HERE;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const freeze = await readFreeze(deps, caller);
    const key = maySwitchFreeze(caller) ? formKey(session, pepper) : undefined;
    return {
      title: 'Freeze',
      content: freezePage(caller.account_id, freeze ?? { frozen: false }, key, pageTimeOf(c, deps.clock)),
    };
  };
}

/** Stands on the overview while commands are held, and leads to the switch. */
export function freezeNotice(accountId: string, freeze: FreezeView | undefined): Html | '' {
  if (freeze?.frozen !== true) return '';
  return html`<p class="notice bad">All commands are held: ${freeze.reason} <a href="${freezePath(accountId)}">Freeze</a></p>`;
}

/** Leads visitors who may use the switch to it. */
export function freezeLink(accountId: string, freeze: FreezeView | undefined): Html {
  const name = freeze?.frozen === true ? 'Let commands go on' : 'Hold all commands';
  return html`<a class="button" href="${freezePath(accountId)}">${name}</a>`;
}

/** `key` is undefined when the visitor may only look. */
function freezePage(accountId: string, freeze: FreezeView, key: string | undefined, at: PageTime): Html {
  return html`<h1>Freeze of account ${accountId}</h1>
${freeze.frozen ? frozenFacts(freeze, at) : html`<p class="verdict"><span class="good"><span aria-hidden="true">●</span> Commands go on as usual</span></p>`}
<p class="quiet">A freeze holds all commands of the account. Queued commands wait, within their deadlines. Other commands are answered 503 with the reason. Reads and polling go on.</p>
${key === undefined ? empty('Your token may not switch it: that needs the scope commands:freeze, for all projects.') : switchForm(freeze, key)}`;
}

function frozenFacts({ reason, client_id, since }: FreezeView, at: PageTime): Html {
  return html`<p class="verdict"><span class="bad"><span aria-hidden="true">▲</span> All commands are held</span></p>
${facts([
  ['Reason', reason],
  ['Since', since === undefined ? undefined : time(since, at)],
  ['By', client_id],
])}`;
}

function switchForm({ frozen }: FreezeView, key: string): Html {
  const hidden = html`<input type="hidden" name="form_key" value="${key}">`;
  if (frozen)
    return html`<form method="post">${hidden}<input type="hidden" name="switch" value="off"><button class="do">Let commands go on</button></form>`;
  return html`<form class="filter" method="post">${hidden}<input type="hidden" name="switch" value="on">
<div><label for="reason">Reason, which callers are shown</label><input id="reason" name="reason" required maxlength="${REASON_CHARACTERS_MAX}" size="60"></div>
<button class="do">Hold all commands</button></form>`;
}

export type FreezeSwitchDeps = VisitorDeps & RefusalDeps & RouteDeps;

export function addFreezeSwitch(app: Hono, deps: FreezeSwitchDeps): void {
  app.post('/accounts/:account_id/freeze', forVisitors(deps, switchFreeze));
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
