/** Signs visitors in with a token of the bridge or of the configured issuer, which they paste into a form. */

import type { Context, Hono } from 'hono';
import { tokenIdOf } from '../../../../shared/callers/bridge-token.ts';
import type { Authenticator } from '../../identity/authenticate.ts';
import { noteRefusal } from '../../serving/traces.ts';
import { showSignIn } from '../pages/page.ts';
import { formOf, isOwnOrigin, isOwnPath } from '../session/browser-form.ts';
import { sessionOf } from '../session/session.ts';
import { type BeginSessionDeps, beginSession } from './begin-session.ts';

export interface TokenSignInDeps extends BeginSessionDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
}

/** Only the tokens of an issuer are kept in the cookie with their projects. */
const TOO_LARGE =
  'This token names more projects than a session can hold. Use a token for fewer projects or for all of them, or a token of the bridge.';

export function addTokenSignIn(app: Hono, deps: TokenSignInDeps): void {
  app.get('/sign-in', (c) => c.redirect('/console'));
  app.post('/sign-in', (c) => signIn(deps, c));
}

async function signIn(deps: TokenSignInDeps, c: Context): Promise<Response> {
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
  if (!(await beginSession(deps, c, { caller, session }))) return showSignIn(c, TOO_LARGE);
  return c.redirect(isOwnPath(next) ? next : '/console', 303);
}
