/**
 * Signs people in at the company's provider. The start seals what belongs to this one sign-in in a cookie, and the return
 * is accepted once, from the same browser, and only with an ID token that answers this start.
 */

import type { Context, Hono } from 'hono';
import type { Caller } from '../../../../shared/callers/authorize.ts';
import type { SignInSettings } from '../../../../shared/config/sign-in-settings.ts';
import { noteRefusal } from '../../serving/traces.ts';
import { isHttps, isOwnPath } from '../session/browser-form.ts';
import { readCookie, removeCookie, setCookie } from '../session/cookie.ts';
import type { EndedSessions } from '../session/ended-sessions.ts';
import { type Person, personSession } from '../session/session.ts';
import { type BeginSessionDeps, beginSession } from './begin-session.ts';
import { baseUrlOf } from './console-address.ts';
import type { IdentityProvider } from './identity-provider.ts';
import {
  openPending,
  PENDING_COOKIE,
  type PendingSignIn,
  SIGN_IN_MS_MAX,
  sealPending,
} from './pending-sign-in.ts';
import { type PersonDecision, personOf } from './person-of-claims.ts';
import { PROVIDER_SESSION_COOKIE, sealIdToken } from './provider-session.ts';
import { failureOf } from './sign-in-failure.ts';
import { type NotSignedIn, showNotSignedIn, showSignedIn } from './sign-in-pages.ts';

export interface ProviderSignInDeps extends BeginSessionDeps {
  readonly provider: IdentityProvider | undefined;
  readonly signIn: SignInSettings | undefined;
  readonly endedSessions: Pick<EndedSessions, 'end'>;
  readonly callerOfPerson: (person: Person) => Caller | undefined;
}

/** The settings and the provider of a bridge at which people sign in. */
interface Offer {
  readonly provider: IdentityProvider;
  readonly signIn: SignInSettings;
}

const CALLBACK = '/console/sign-in/callback';

export function addProviderSignIn(app: Hono, deps: ProviderSignInDeps): void {
  const { provider, signIn } = deps;
  if (provider === undefined || signIn === undefined) return;
  const offer = { provider, signIn };
  app.get('/sign-in/start', (c) => start(deps, offer, c));
  app.get('/sign-in/callback', (c) => comeBack(deps, offer, c));
}

async function start(deps: ProviderSignInDeps, { provider, signIn }: Offer, c: Context): Promise<Response> {
  const asked = c.req.query('next') ?? '';
  const next = isOwnPath(asked) ? asked : '/console';
  try {
    const { url, checks } = await provider.begin(new URL(CALLBACK, baseUrlOf(c, signIn.base_url)));
    const pending = { ...checks, id: deps.newId(), next, ends_at_ms: deps.clock.now() + SIGN_IN_MS_MAX };
    const sealed = sealPending(pending, await deps.pepper());
    const lifetime = { maxAgeSeconds: SIGN_IN_MS_MAX / 1_000, isHttps: isHttps(c) };
    c.header('set-cookie', setCookie(PENDING_COOKIE, sealed, lifetime));
    return c.redirect(url.href, 303);
  } catch (error) {
    const { kind, detail } = failureOf(error);
    return refuse(deps, c, { provider, next, why: { kind, detail } });
  }
}

async function comeBack(deps: ProviderSignInDeps, offer: Offer, c: Context): Promise<Response> {
  const { provider, signIn } = offer;
  const pending = await pendingOf(deps, c);
  if (pending === undefined)
    return refuse(deps, c, { provider, next: '/console', why: { kind: 'not-begun', detail: 'no_cookie' } });
  const { next } = pending;
  // Another page may have sent the browser here. It must not be able to end the sign-in that the person began.
  if (c.req.query('state') !== pending.state)
    return refuse(deps, c, { provider, next, why: { kind: 'not-begun', detail: 'another_state' } });
  c.header('set-cookie', removeCookie(PENDING_COOKIE, isHttps(c)));
  const { id, ends_at_ms } = pending;
  if (!(await deps.endedSessions.end({ id, endsAtMs: ends_at_ms }, deps.clock.now())))
    return refuse(deps, c, { provider, next, why: { kind: 'not-begun', detail: 'used_before' } });
  try {
    const callback = new URL(CALLBACK, baseUrlOf(c, signIn.base_url));
    callback.search = new URL(c.req.url).search;
    const { claims, idToken } = await provider.finish(callback, pending);
    const decision = personOf(claims, signIn);
    if (decision?.kind === 'person')
      return await welcome(deps, c, { person: decision.person, idToken, next });
    return refuse(deps, c, { provider, next, why: reasonOf(decision, signIn) });
  } catch (error) {
    const { kind, detail } = failureOf(error);
    return refuse(deps, c, { provider, next, why: { kind, detail } });
  }
}

async function pendingOf(deps: ProviderSignInDeps, c: Context): Promise<PendingSignIn | undefined> {
  const sealed = readCookie(PENDING_COOKIE, c.req.header('cookie'), isHttps(c));
  return sealed === undefined ? undefined : openPending(sealed, await deps.pepper(), deps.clock.now());
}

async function welcome(
  deps: ProviderSignInDeps,
  c: Context,
  { person, idToken, next }: { readonly person: Person; readonly idToken: string; readonly next: string },
): Promise<Response> {
  const caller = deps.callerOfPerson(person);
  if (caller === undefined) throw new Error('A role of the settings has no caller');
  const session = personSession(person, deps.newId(), deps.clock.now());
  if (!(await beginSession(deps, c, { caller, session })))
    throw new Error('The session of a person is larger than a cookie');
  const sealed = sealIdToken(idToken, await deps.pepper());
  const maxAgeSeconds = Math.floor((session.ends_at_ms - deps.clock.now()) / 1_000);
  if (sealed !== undefined) {
    const cookie = setCookie(PROVIDER_SESSION_COOKIE, sealed, { maxAgeSeconds, isHttps: isHttps(c) });
    c.header('set-cookie', cookie, { append: true });
  }
  return showSignedIn(c, next);
}

function reasonOf(decision: Exclude<PersonDecision, { kind: 'person' }> | undefined, signIn: SignInSettings) {
  if (decision === undefined) return { kind: 'untrusted', detail: 'sub_missing' } as const;
  return { ...decision, detail: decision.kind, claim: signIn.roles_claim };
}

/** Leaves one log line and one count, and shows the person what to do. */
function refuse(
  { telemetry, newId }: ProviderSignInDeps,
  c: Context,
  refusal: { readonly provider: IdentityProvider; readonly next: string; readonly why: NotSignedIn },
): Response | Promise<Response> {
  const { provider, next, why } = refusal;
  const request_id = newId();
  noteRefusal(telemetry, 'sign-in-refused', { request_id, call: 'consoleSignIn', detail: why.detail });
  return showNotSignedIn(c, why, { host: provider.host, next, requestId: request_id });
}
