/** Signs visitors in and out: a token becomes a session in a cookie, and signing out ends the session for good. */

import type { Context, Hono } from 'hono';
import { tokenIdOf } from '../../../shared/callers/bridge-token.ts';
import type { Authenticator } from '../identity/authenticate.ts';
import { noteRefusal } from '../serving/traces.ts';
import { messagePage, showPage, showSignIn } from './pages/page.ts';
import { formOf, isHttps, isOwnOrigin, isOwnPath } from './session/browser-form.ts';
import type { EndedSessions } from './session/ended-sessions.ts';
import { cookieHeader, isFormKey, seal, sessionOf } from './session/session.ts';
import { type Visitor, type VisitorDeps, visitorOf } from './session/visitor.ts';
import { noteSession, noteVisitorRefusal, type SessionTraceDeps } from './session/visitor-traces.ts';

export interface SignInDeps extends VisitorDeps, SessionTraceDeps {
  readonly authenticator: Authenticator;
  readonly endedSessions: EndedSessions;
}

const NOT_SIGNED_OUT = messagePage(
  'Not signed out',
  'The form did not come from a page of this session. Go to the overview and sign out there.',
  403,
);

export function addSignIn(app: Hono, deps: SignInDeps): void {
  app.get('/sign-in', (c) => c.redirect('/console'));
  app.post('/sign-in', (c) => signIn(deps, c));
  app.post('/sign-out', (c) => signOut(deps, c));
}

async function signIn(deps: SignInDeps, c: Context): Promise<Response> {
  const form = await formOf(c);
  const [token, next] = [(form?.get('token') ?? '').trim(), form?.get('next') ?? ''];
  const caller = isOwnOrigin(c) ? await deps.authenticator.authenticate(token) : undefined;
  if (caller === undefined) {
    const asker = { request_id: deps.newId(), call: 'consoleSignIn', token_id: tokenIdOf(token) };
    noteRefusal(deps.telemetry, 'sign-in-refused', asker);
    return showSignIn(c, 'This token is not valid here: it may be mistyped, expired or revoked.');
  }
  const nowMs = deps.clock.now();
  const session = sessionOf(caller, { id: deps.newId(), tokenId: tokenIdOf(token), nowMs });
  await noteSession(deps, { caller, session }, 'signed-in');
  const maxAgeSeconds = Math.max(0, Math.floor((session.ends_at_ms - nowMs) / 1_000));
  c.header('set-cookie', cookieHeader(seal(session, await deps.pepper()), maxAgeSeconds, isHttps(c)));
  return c.redirect(isOwnPath(next) ? next : '/console', 303);
}

async function signOut(deps: SignInDeps, c: Context): Promise<Response> {
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
  c.header('set-cookie', cookieHeader('', 0, isHttps(c)));
  return c.redirect('/console', 303);
}

async function isOwnForm(c: Context, { session, pepper }: Visitor): Promise<boolean> {
  return isOwnOrigin(c) && isFormKey((await formOf(c))?.get('form_key'), session, pepper);
}
