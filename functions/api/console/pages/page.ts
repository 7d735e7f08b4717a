/**
 * Defines what a page of the console is made of, and shows it to a visitor who may see it, or the sign-in form to a
 * person without a session. Every page lets a visitor choose the time zone.
 */

import type { Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { type Caller, maySee, type Scope } from '../../../../shared/callers/scopes.ts';
import { type Frame, type Navigation, page } from '../html/layout.ts';
import { accountPath, type Html, simple } from '../html/markup.ts';
import { keepZone, type PageTime, ZONES, zoneOf } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import {
  isLinkOfAnotherSite,
  isOwnPath,
  noteVisitorRefusal,
  type RefusalDeps,
  type Visitor,
  type VisitorDeps,
  visitorOf,
} from '../sign-in/visitor.ts';

export type Page = Omit<Frame, 'who' | 'live' | 'zone' | 'done'> & {
  /**
   * Events about this project or operation refresh the page. With `*` any event does, and with `time` the page refreshes
   * every few seconds, because no event says that it has changed. Without `about` it does not refresh itself.
   */
  readonly about?: string;
  readonly status?: 200 | 403 | 404;
  /** The visitor is led to this page of the console at once. */
  readonly redirect?: string;
};

/** Makes a page for a visitor who has signed in. */
export type BuildPage = (c: Context, visitor: Visitor) => Promise<Page>;

export const NOTHING_HERE = messagePage(
  'Nothing here',
  'There is no such page, or your token may not see it.',
  404,
);

export const READING_REFUSED = messagePage('No access', 'Your token needs the scope operations:read.', 403);

export const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token does not allow this. Nothing was changed.',
  403,
);

export function messagePage(title: string, sentence: string, status: 403 | 404): Page {
  return { title, content: simple(title, sentence), status };
}

export function showPage(c: Context, visitor: Visitor, { about, status = 200, redirect, ...frame }: Page) {
  if (redirect !== undefined) return c.redirect(redirect, 303);
  const { caller, session, pepper, model } = visitor;
  const live = about === undefined ? undefined : { about, cursor: model.feed.start('now') };
  const { pathname, search } = new URL(c.req.url);
  const who = {
    clientId: caller.email ?? caller.client_id,
    formKey: formKey(session, pepper),
    path: `${pathname}${search}`,
    navigation: navigationFor(caller),
  };
  keepZone(c);
  const done = getCookie(c, DONE_COOKIE);
  if (done !== undefined) deleteCookie(c, DONE_COOKIE, { path: '/console' });
  return c.html(page({ section: pathname, ...frame, who, live, zone: zoneOf(c), done }), status);
}

const DONE_COOKIE = 'done';

/** The next page says it, and a link of another site cannot have the console say anything. */
export function noteDone(c: Context, sentence: string): void {
  const secure = new URL(c.req.url).protocol === 'https:';
  setCookie(c, DONE_COOKIE, sentence, {
    path: '/console',
    maxAge: 60,
    httpOnly: true,
    sameSite: 'Strict',
    secure,
  });
}

/** Returns the moment for which a page is made, and the zone in which its visitor reads times. */
export function pageTimeOf(c: Context, { now }: { readonly now: () => number }): PageTime {
  return { zone: zoneOf(c), nowMs: now() };
}

/** Leaves out the pages that the visitor must not see. */
function navigationFor({ scopes, account_id, projectIds }: Caller): Navigation {
  const mayAudit = scopes.has('audit:read');
  return {
    daily: [
      { path: '/console', name: 'Overview' },
      { path: '/console/projects', name: 'Projects' },
      { path: '/console/events', name: 'Events' },
      { path: '/console/commands', name: 'Commands' },
      ...(scopes.has('commands:approve') ? [{ path: '/console/approvals', name: 'Approvals' }] : []),
      { path: '/console/alerts', name: 'Alerts' },
      { path: '/console/mutes', name: 'Mutes' },
      { path: '/console/subscriptions', name: 'Subscriptions' },
    ],
    administration: [
      { path: accountPath(account_id), name: 'Account' },
      ...(scopes.has('accounts:read') && projectIds === undefined
        ? [{ path: '/console/accounts', name: 'Accounts' }]
        : []),
      ...(mayAudit ? [{ path: '/console/audit', name: 'Audit' }] : []),
      ...(mayAudit && projectIds === undefined ? [{ path: '/console/tokens', name: 'Tokens' }] : []),
      { path: '/bridge/v1/docs', name: 'API' },
    ],
  };
}

/**
 * Shows the form to sign in with, which leads back to the page that was asked for. After a link of another site the
 * page is asked for once more from here, because a visitor who has signed in looks like a stranger then.
 */
export function showSignIn(c: Context, problem?: string) {
  const { pathname, search } = new URL(c.req.url);
  const next = c.req.method === 'GET' ? `${pathname}${search}` : '/console';
  if (isLinkOfAnotherSite(c) && isOwnPath(next)) return showOnceMore(c, next);
  return c.html(
    page({ title: 'Sign in', content: signInPage({ next, problem, provider: offeredProvider(c) }) }),
    401,
  );
}

/** Handles a request of a visitor who has signed in. Anybody else sees the ways to sign in. */
export function forVisitors<Deps extends VisitorDeps>(
  deps: Deps,
  handle: (deps: Deps, c: Context, visitor: Visitor) => Response | Promise<Response>,
): (c: Context) => Promise<Response> {
  return async (c) => {
    const visitor = await visitorOf(deps, c);
    if (visitor !== undefined) return handle(deps, c, visitor);
    return showSignIn(
      c,
      c.req.method === 'POST' ? 'Your session had ended, so nothing was done.' : undefined,
    );
  };
}

/** The browser then comes from this site and sends the cookie, so this happens once. */
function showOnceMore(c: Context, path: string) {
  const content = html`<div class="sign"><h1>One moment</h1><p><a class="button" href="${path}">Continue</a></p></div>`;
  return c.html(page({ title: 'One moment', content, continueTo: path }), 200);
}

/** `projectId` names the project that the page is about. Without it the page is about the account. */
export function checkReading(
  deps: RefusalDeps,
  visitor: Visitor,
  accountId: string,
  projectId?: string,
): boolean {
  const { caller } = visitor;
  const mayReadAny = caller.scopes.has('operations:read');
  const isOwn = caller.account_id === accountId && (projectId === undefined || maySee(caller, projectId));
  if (mayReadAny && isOwn) return true;
  noteVisitorRefusal(deps, visitor, mayReadAny ? 'project-hidden' : 'scope-missing', 'consolePage');
  return false;
}

/** `call` names the page or the action that needs the scope. */
export function checkScope(deps: RefusalDeps, visitor: Visitor, scope: Scope, call: string): boolean {
  if (visitor.caller.scopes.has(scope)) return true;
  noteVisitorRefusal(deps, visitor, 'scope-missing', call);
  return false;
}

declare module 'hono' {
  interface ContextVariableMap {
    /** People know the company's provider by this host. It is undefined when they sign in with a token alone. */
    signInProvider: string | undefined;
  }
}

/** Must be called before the routes are added. */
export function offerProvider(app: Hono, host: string | undefined): void {
  app.use(async (c, next) => {
    c.set('signInProvider', host);
    await next();
  });
}

/** Returns the provider's host, and undefined when people sign in with a token alone. */
function offeredProvider(c: Context): string | undefined {
  return c.get('signInProvider');
}

function signInPage({
  next,
  problem,
  provider,
}: {
  readonly next: string;
  readonly problem?: string | undefined;
  /** People know the company's provider by this host. It is undefined when they sign in with a token alone. */
  readonly provider?: string | undefined;
}): Html {
  return html`<div class="sign">
<h1>Sign in</h1>
${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
${provider === undefined ? '' : providerLink(provider, next)}
<p>Use a token of this bridge, or an access token of the configured issuer. The session ends after an hour, and earlier if the bridge token expires or is revoked.</p>
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required placeholder="opb_...">
<button${provider === undefined ? html` class="do"` : ''}>Sign in</button>
</form>
<p class="quiet">Do you have no token? The operators of the bridge create one with <code>operations-bridge tokens create</code>.</p>
</div>`;
}

/** It is a link and not a form, because a form may lead only to this origin. */
function providerLink(provider: string, next: string): Html {
  return html`<p><a class="button do" id="provider" href="/console/sign-in/start?next=${encodeURIComponent(next)}">Sign in at ${provider}</a></p>
<h2>Or with a token</h2>`;
}

export const buildTimeZone: BuildPage = async (c) => {
  const asked = c.req.query('next') ?? '';
  const next = new URL(isOwnPath(asked) ? asked : '/console', 'https://console.invalid');
  const kept = [...next.searchParams].filter(([name]) => name !== 'tz');
  const zone = zoneOf(c);
  const content = html`<h1>Time zone</h1>
<p>All times and the axes of all charts are shown in this zone. This browser keeps the choice for a year.</p>
<form class="filter" action="${next.pathname}">
${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div><label for="tz">Zone</label><select id="tz" name="tz">${ZONES.map((each) => html`<option value="${each}"${each === zone ? html` selected` : ''}>${each}</option>`)}</select></div>
<button class="do">Use this zone</button> <button type="submit" data-own-zone hidden></button></form>`;
  return { title: 'Time zone', content };
};
