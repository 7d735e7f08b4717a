/**
 * Signs visitors in and out: at the company's provider, or with a token that they paste into a form. The start seals
 * what belongs to one sign-in in a cookie, and a sign-out ends the session for good. Its pages show how each ended, and
 * what the person can do now.
 */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import { tokenIdOf } from '../../../../shared/callers/tokens.ts';
import type { SignInSettings } from '../../../../shared/config/api-config.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { Authenticator } from '../../serving/admission.ts';
import { noteRefusal } from '../../serving/request-audit.ts';
import { page } from '../html/layout.ts';
import type { Html } from '../html/markup.ts';
import { messagePage, showPage, showSignIn } from '../pages/page.ts';
import {
  type FailureKind,
  failureOf,
  type IdentityProvider,
  NEXT_CHARACTERS_MAX,
  openIdToken,
  openPending,
  PENDING_COOKIE,
  type PendingSignIn,
  PROVIDER_SESSION_COOKIE,
  SIGN_IN_MS_MAX,
  sealIdToken,
  sealPending,
} from './identity-provider.ts';
import {
  COOKIE_CHARACTERS_MAX,
  type EndedSessions,
  isFormKey,
  type Person,
  type PersonDecision,
  personOf,
  personSession,
  readCookie,
  removeCookie,
  SESSION_COOKIE,
  type Session,
  seal,
  sessionOf,
  setCookie,
} from './session.ts';
import {
  baseUrlOf,
  formOf,
  isHttps,
  isOwnOrigin,
  isOwnPath,
  noteSession,
  noteVisitorRefusal,
  type RefusalDeps,
  type SessionTraceDeps,
  startElsewhere,
  type Visitor,
  type VisitorDeps,
  visitorOf,
} from './visitor.ts';

export interface ProviderSignInDeps extends BeginSessionDeps {
  readonly provider: IdentityProvider | undefined;
  readonly signIn: SignInSettings | undefined;
  readonly endedSessions: EndedSessions;
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
  const next = isOwnPath(asked) && asked.length <= NEXT_CHARACTERS_MAX ? asked : '/console';
  const elsewhere = startElsewhere(c, signIn.base_url, next);
  if (elsewhere !== undefined) return c.redirect(elsewhere, 303);
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

export interface TokenSignInDeps extends BeginSessionDeps {
  readonly authenticator: Authenticator;
}

/** Only the tokens of an issuer are kept in the cookie with their projects. */
const TOO_LARGE =
  'This token names more projects than a session can hold. Use a token for fewer projects or for all of them, or a token of the bridge.';

const NOT_VALID = 'This token is not valid here: it may be mistyped, expired or revoked.';

const FOREIGN =
  'The form came from another address than that of this console, so the token was not looked at. Behind a proxy, api.sign_in.base_url has to name the address that browsers use.';

export function addTokenSignIn(app: Hono, deps: TokenSignInDeps): void {
  app.get('/sign-in', (c) => c.redirect('/console'));
  app.post('/sign-in', (c) => signInVisitor(deps, c));
}

async function signInVisitor(deps: TokenSignInDeps, c: Context): Promise<Response> {
  const form = await formOf(c);
  const [token, next] = [(form?.get('token') ?? '').trim(), form?.get('next') ?? ''];
  const isOwn = isOwnOrigin(c, deps);
  const caller = isOwn ? await deps.authenticator.authenticate(token) : undefined;
  if (caller === undefined) {
    const asker = { request_id: deps.newId(), call: 'consoleSignIn', token_id: tokenIdOf(token) };
    noteRefusal(deps.telemetry, 'sign-in-refused', asker);
    return showSignIn(c, isOwn ? NOT_VALID : FOREIGN);
  }
  const nowMs = deps.clock.now();
  const session = sessionOf(caller, { id: deps.newId(), tokenId: tokenIdOf(token), nowMs });
  if (!(await beginSession(deps, c, { caller, session }))) return showSignIn(c, TOO_LARGE);
  return c.redirect(isOwnPath(next) ? next : '/console', 303);
}

interface BeginSessionDeps extends SessionTraceDeps {
  readonly pepper: () => Promise<Secret>;
}

/**
 * `session` must have a new id, so that an id which another person knows never becomes a session. Resolves to false, and
 * begins nothing, when the browser would not keep the cookie.
 */
async function beginSession(
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

export interface SignOutDeps extends VisitorDeps, SessionTraceDeps {
  readonly clock: Clock;
  readonly endedSessions: EndedSessions;
  /** It is undefined when people sign in with a token alone. */
  readonly provider: IdentityProvider | undefined;
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
  if (visitor !== undefined && !(await isOwnForm(deps, c, visitor))) {
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

async function isOwnForm(deps: RefusalDeps, c: Context, { session, pepper }: Visitor): Promise<boolean> {
  return isOwnOrigin(c, deps) && isFormKey((await formOf(c))?.get('form_key'), session, pepper);
}

type NotSignedIn =
  | { readonly kind: FailureKind | 'not-begun'; readonly detail: string }
  | {
      readonly kind: 'claim-missing' | 'no-role';
      readonly detail: string;
      /** The provider knows the person by this name. */
      readonly name: string | undefined;
      /** The claim that should contain the person's roles. */
      readonly claim: string;
    };

interface Scene {
  /** People know the provider by this host. */
  readonly host: string;
  readonly next: string;
  /** The log line of the refusal has this id. */
  readonly requestId: string;
}

/**
 * Leads to the page that was asked for by a page of the console. A redirect would count as a link of the provider, with
 * which browsers do not send the session.
 */
function showSignedIn(c: Context, next: string) {
  const content = html`<div class="sign"><h1>Signed in</h1><p><a class="button" href="${next}">Continue</a></p></div>`;
  return c.html(page({ title: 'Signed in', content, continueTo: next }), 200);
}

function showSignedOut(c: Context, host: string, outcome?: 'no-way-out') {
  const more =
    outcome === 'no-way-out'
      ? html`<p class="notice">${host} offers no way to sign out from here. Sign out there yourself.</p>`
      : html`<p>You are still signed in at ${host}. On a computer that others use, sign out there, too.</p>
<p><a class="button" href="/console/sign-out/provider">Sign out at ${host}</a></p>`;
  const content = html`<div class="sign"><h1>Signed out</h1><p>Your session of the bridge has ended.</p>
${more}
<p><a href="/console">Sign in again</a></p></div>`;
  return c.html(page({ title: 'Signed out', content }), 200);
}

function showNotSignedIn(c: Context, why: NotSignedIn, scene: Scene) {
  const { title, status, advice } = ENDINGS[why.kind];
  const again = `/console/sign-in/start?next=${encodeURIComponent(scene.next)}`;
  const content = html`<div class="sign"><h1>${title}</h1>
${advice(why, scene.host)}
<p><a class="button" href="${again}">Try again at ${scene.host}</a> <a class="button" href="/console">Sign in with a token</a></p>
<p class="quiet">If you ask the operators of the bridge, give them this number: <code>${scene.requestId}</code></p></div>`;
  return c.html(page({ title, content }), status);
}

interface Ending {
  readonly title: string;
  readonly status: 400 | 403 | 502 | 503;
  readonly advice: (why: NotSignedIn, host: string) => Html;
}

const ENDINGS: Readonly<Record<NotSignedIn['kind'], Ending>> = {
  unavailable: {
    title: 'The identity provider does not answer',
    status: 503,
    advice: (_why, host) =>
      html`<p>${host} gave no usable answer. Try again in a minute. If you have a token of the bridge, sign in with it meanwhile.</p>`,
  },
  declined: {
    title: 'Not signed in',
    status: 403,
    advice: (_why, host) =>
      html`<p>${host} reports that the sign-in was cancelled, or that you may not use this application.</p>`,
  },
  refused: {
    title: 'Not signed in',
    status: 502,
    advice: ({ detail }, host) =>
      html`<p>${host} refused the sign-in with <code>${detail}</code>. Try once more. If it happens again, the settings of the bridge and those of ${host} do not fit.</p>`,
  },
  untrusted: {
    title: 'Not signed in',
    status: 403,
    advice: (_why, host) =>
      html`<p>The answer that came from ${host} does not belong to your sign-in, so the bridge did not accept it.</p>`,
  },
  'not-begun': {
    title: 'This sign-in is over',
    status: 400,
    advice: () =>
      html`<p>It took more than ten minutes, was completed before, or was begun in another tab or browser. Nothing was changed.</p>`,
  },
  'claim-missing': {
    title: 'No access',
    status: 403,
    advice: (why, host) =>
      html`<p>You are signed in at ${host}${nameIn(why)}, but its ID token has no claim <code>${claimIn(why)}</code>, which should contain your roles.</p>
<p>Ask the people who run ${host} to add this claim to the ID tokens of the bridge.</p>`,
  },
  'no-role': {
    title: 'No access',
    status: 403,
    advice: (why, host) =>
      html`<p>You are signed in at ${host}${nameIn(why)}, but the claim <code>${claimIn(why)}</code> has no value that stands for a role of the bridge.</p>
<p>Ask the operators of the bridge which group you need, or to add yours to <code>api.sign_in.roles</code>.</p>`,
  },
};

function nameIn(why: NotSignedIn): Html | '' {
  return 'name' in why && why.name !== undefined ? html` as ${why.name}` : '';
}

function claimIn(why: NotSignedIn): string {
  return 'claim' in why ? why.claim : '';
}
