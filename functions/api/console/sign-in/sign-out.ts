/** Signs visitors out: of the bridge for good, and of the company's provider if they want that, too. */

import type { Context, Hono } from 'hono';
import { messagePage, showPage } from '../pages/page.ts';
import { formOf, isHttps, isOwnOrigin } from '../session/browser-form.ts';
import { readCookie, removeCookie } from '../session/cookie.ts';
import type { EndedSessions } from '../session/ended-sessions.ts';
import { isFormKey, SESSION_COOKIE } from '../session/session.ts';
import { type Visitor, type VisitorDeps, visitorOf } from '../session/visitor.ts';
import { noteSession, noteVisitorRefusal, type SessionTraceDeps } from '../session/visitor-traces.ts';
import { baseUrlOf } from './console-address.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { openIdToken, PROVIDER_SESSION_COOKIE } from './provider-session.ts';
import { showSignedOut } from './sign-in-pages.ts';

export interface SignOutDeps extends VisitorDeps, SessionTraceDeps {
  readonly clock: SessionTraceDeps['clock'];
  readonly endedSessions: EndedSessions;
  /** It is undefined when people sign in with a token alone. */
  readonly provider: IdentityProvider | undefined;
  /** Browsers reach the console here, when that is not the address of the request. */
  readonly consoleBaseUrl: string | undefined;
}

const NOT_SIGNED_OUT = messagePage(
  'Not signed out',
  'The form did not come from a page of this session. Go to the overview and sign out there.',
  403,
);

export function addSignOut(app: Hono, deps: SignOutDeps): void {
  app.post('/sign-out', (c) => signOut(deps, c));
  const { provider } = deps;
  if (provider === undefined) return;
  app.get('/signed-out', async (c) => showSignedOut(c, provider.host));
  app.get('/sign-out/provider', (c) => signOutOfProvider(deps, provider, c));
}

async function signOut(deps: SignOutDeps, c: Context): Promise<Response> {
  const visitor = await visitorOf(deps, c);
  if (visitor !== undefined && !(await isOwnForm(c, visitor))) {
    noteVisitorRefusal(deps, visitor, 'form-refused', 'consoleSignOut');
    return showPage(c, visitor, NOT_SIGNED_OUT);
  }
  if (visitor !== undefined) {
    const { id, ends_at_ms } = visitor.session;
    await deps.endedSessions.end({ id, endsAtMs: ends_at_ms }, deps.clock.now());
    await noteSession(deps, visitor, 'signed-out');
  }
  c.header('set-cookie', removeCookie(SESSION_COOKIE, isHttps(c)));
  const isPerson = visitor !== undefined && 'person' in visitor.session;
  return c.redirect(isPerson && deps.provider !== undefined ? '/console/signed-out' : '/console', 303);
}

/** The cookie with the ID token does not come with links of other sites, so these cannot sign a known person out. */
async function signOutOfProvider(
  deps: SignOutDeps,
  provider: IdentityProvider,
  c: Context,
): Promise<Response> {
  const sealed = readCookie(PROVIDER_SESSION_COOKIE, c.req.header('cookie'), isHttps(c));
  const idToken = openIdToken(sealed, await deps.pepper());
  const returnTo = new URL('/console', baseUrlOf(c, deps.consoleBaseUrl));
  const url = await provider.signOutUrl(idToken, returnTo).catch(() => undefined);
  c.header('set-cookie', removeCookie(PROVIDER_SESSION_COOKIE, isHttps(c)));
  return url === undefined ? showSignedOut(c, provider.host, 'no-way-out') : c.redirect(url.href, 303);
}

async function isOwnForm(c: Context, { session, pepper }: Visitor): Promise<boolean> {
  return isOwnOrigin(c) && isFormKey((await formOf(c))?.get('form_key'), session, pepper);
}
