/**
 * Defines what a page of the console is made of, and shows it to a visitor, or the sign-in form to a person without a
 * session.
 */

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/authorize.ts';
import { type Frame, type Navigation, page } from '../html/frame/layout.ts';
import { simple } from '../html/markup.ts';
import { accountPath } from '../html/paths.ts';
import { keepZone, zoneOf } from '../html/time/time-zone.ts';
import type { PageTime } from '../html/time/times.ts';
import { isLinkOfAnotherSite, isOwnPath } from '../session/browser-form.ts';
import { formKey } from '../session/session.ts';
import { offeredProvider } from '../session/sign-in-offer.ts';
import { signInPage } from '../session/sign-in-page.ts';
import type { Visitor } from '../session/visitor.ts';

export type Page = Omit<Frame, 'who' | 'live' | 'zone'> & {
  /**
   * Events about this project or operation refresh the page. With `*` any event does. Without `about` the page does
   * not refresh itself.
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
  return c.html(page({ section: pathname, ...frame, who, live, zone: zoneOf(c) }), status);
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
      { path: '/console/mutes', name: 'Mutes' },
      { path: '/console/subscribe', name: 'Subscribe' },
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

/** The browser then comes from this site and sends the cookie, so this happens once. */
function showOnceMore(c: Context, path: string) {
  const content = html`<div class="sign"><h1>One moment</h1><p><a class="button" href="${path}">Continue</a></p></div>`;
  return c.html(page({ title: 'One moment', content, continueTo: path }), 200);
}
