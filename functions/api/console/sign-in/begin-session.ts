/** Begins a session for a person or for the holder of a token: one audit record, and the cookie. */

import type { Context } from 'hono';
import type { Caller } from '../../../../shared/callers/authorize.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import { isHttps } from '../session/browser-form.ts';
import { COOKIE_CHARACTERS_MAX, setCookie } from '../session/cookie.ts';
import { SESSION_COOKIE, type Session, seal } from '../session/session.ts';
import { noteSession, type SessionTraceDeps } from '../session/visitor-traces.ts';

export interface BeginSessionDeps extends SessionTraceDeps {
  readonly pepper: () => Promise<Secret>;
}

/**
 * `session` must have a new id, so that an id which another person knows never becomes a session. Resolves to false, and
 * begins nothing, when the browser would not keep the cookie.
 */
export async function beginSession(
  deps: BeginSessionDeps,
  c: Context,
  holder: { readonly caller: Caller; readonly session: Session },
): Promise<boolean> {
  const { session } = holder;
  const sealed = seal(session, await deps.pepper());
  if (sealed.length > COOKIE_CHARACTERS_MAX) return false;
  await noteSession(deps, holder, 'signed-in');
  const maxAgeSeconds = Math.max(0, Math.floor((session.ends_at_ms - deps.clock.now()) / 1_000));
  c.header('set-cookie', setCookie(SESSION_COOKIE, sealed, { maxAgeSeconds, isHttps: isHttps(c) }), {
    append: true,
  });
  return true;
}
