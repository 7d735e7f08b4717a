/**
 * Defines what a page of the console is made of, and shows it to a visitor, or the sign-in form to a person without a
 * session.
 */

import type { Context } from 'hono';
import type { Caller } from '../../../../shared/callers/authorize.ts';
import { type Frame, type NavigationEntry, page } from '../html/layout.ts';
import { simple } from '../html/markup.ts';
import { keepZone, zoneOf } from '../html/time-zone.ts';
import type { PageTime } from '../html/times.ts';
import { formKey } from '../session/session.ts';
import { signInPage } from '../session/sign-in-page.ts';
import type { Visitor } from '../session/visitor.ts';

export type Page = Omit<Frame, 'who' | 'live' | 'zone'> & {
  /**
   * Events about this project or operation refresh the page. With `*` any event does. Without `about` the page does
   * not refresh itself.
   */
  readonly about?: string;
  readonly status?: 200 | 403 | 404;
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

export function showPage(c: Context, visitor: Visitor, { about, status = 200, ...frame }: Page) {
  const { caller, session, pepper, model } = visitor;
  const live = about === undefined ? undefined : { about, cursor: model.feed.start('now') };
  const { pathname, search } = new URL(c.req.url);
  const who = {
    clientId: caller.client_id,
    formKey: formKey(session, pepper),
    path: `${pathname}${search}`,
    entries: navigationFor(caller),
  };
  keepZone(c);
  return c.html(page({ section: pathname, ...frame, who, live, zone: zoneOf(c) }), status);
}

/** Returns the moment for which a page is made, and the zone in which its visitor reads times. */
export function pageTimeOf(c: Context, { now }: { readonly now: () => number }): PageTime {
  return { zone: zoneOf(c), nowMs: now() };
}

/** Leaves out the pages that the visitor must not see. */
function navigationFor({ scopes }: Caller): readonly NavigationEntry[] {
  return [
    { path: '/console', name: 'Overview' },
    { path: '/console/events', name: 'Events' },
    { path: '/console/subscribe', name: 'Subscribe' },
    ...(scopes.has('audit:read') ? [{ path: '/console/audit', name: 'Audit' }] : []),
    { path: '/bridge/v1/docs', name: 'API' },
  ];
}

/** Shows the form to sign in with, which leads back to the page that was asked for. */
export function showSignIn(c: Context, problem?: string) {
  const { pathname, search } = new URL(c.req.url);
  const next = c.req.method === 'GET' ? `${pathname}${search}` : '/console';
  return c.html(page({ title: 'Sign in', content: signInPage({ next, problem }) }), 401);
}
