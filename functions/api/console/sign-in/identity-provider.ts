/**
 * Speaks with the company's OpenID provider: the authorization code flow with PKCE (OpenID Connect Core, section 3.1;
 * RFC 7636), and the address for signing out there. The client library is loaded when the first person signs in, because
 * most starts of the function never need it.
 */

import type { Configuration, CustomFetch } from 'openid-client';
import * as z from 'zod';
import { seal, unseal } from '../../../../shared/callers/seal.ts';
import type { SignInSettings } from '../../../../shared/config/api-config.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { readBounded } from '../../../../shared/runtime/foreign-text.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import { COOKIE_CHARACTERS_MAX, type CookieKind, type IdTokenClaims } from './session.ts';

/** These texts belong to one sign-in. The provider returns or proves each of them. */
type SignInChecks = Pick<PendingSignIn, 'state' | 'nonce' | 'verifier'>;

export interface IdentityProvider {
  /** People know the provider by this host. */
  readonly host: string;
  /** Resolves to the provider's address at which the person signs in. Rejects with `SignInFailure`. */
  begin(redirectUri: URL): Promise<{ readonly url: URL; readonly checks: SignInChecks }>;
  /** `callback` is the address to which the provider sent the browser. Rejects with `SignInFailure`. */
  finish(callback: URL, checks: SignInChecks): Promise<SignedIn>;
  /**
   * Resolves to the address at which the person signs out of the provider, and to undefined when the provider has none.
   * Rejects with `SignInFailure`.
   */
  signOutUrl(idToken: string | undefined, returnTo: URL): Promise<URL | undefined>;
}

interface SignedIn {
  readonly claims: IdTokenClaims;
  readonly idToken: string;
}

export interface IdentityProviderDeps {
  readonly clock: Clock;
  /** It is undefined for a public client. */
  readonly secret: (() => Promise<Secret>) | undefined;
}

export function createIdentityProvider(
  settings: SignInSettings,
  { clock, secret }: IdentityProviderDeps,
): IdentityProvider {
  const configuration = createSharedReading(() => discoverProvider(settings, secret), clock);
  return {
    host: new URL(settings.issuer).host,

    async begin(redirectUri) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge, ...random } = await import('openid-client');
      const config = await configuration.current();
      const checks = {
        state: random.randomState(),
        nonce: random.randomNonce(),
        verifier: random.randomPKCECodeVerifier(),
      };
      const url = buildAuthorizationUrl(config, {
        redirect_uri: redirectUri.href,
        scope: settings.request_scope,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      });
      return { url, checks };
    },

    async finish(callback, { state, nonce, verifier }) {
      const { authorizationCodeGrant } = await import('openid-client');
      const config = await configuration.current();
      const expected = {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      };
      const tokens = await authorizationCodeGrant(config, callback, expected).catch((error: unknown) => {
        const failure = failureOf(error);
        // The secret may have been replaced since it was read.
        if (failure.detail === 'invalid_client') configuration.forget();
        throw failure;
      });
      const claims = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined)
        throw new SignInFailure('untrusted', 'id_token_missing');
      return { claims, idToken: tokens.id_token };
    },

    async signOutUrl(idToken, returnTo) {
      const { buildEndSessionUrl } = await import('openid-client');
      const config = await configuration.current();
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
      return buildEndSessionUrl(config, {
        post_logout_redirect_uri: returnTo.href,
        ...(idToken !== undefined && { id_token_hint: idToken }),
      });
    },
  };
}

/** A person waits for the answer. API Gateway waits for 30 seconds, in which two requests to the provider must end. */
export const PROVIDER_TIMEOUT_SECONDS = 5;

/** Metadata, key sets and ID tokens have some kilobytes. More than this is no answer of an OpenID provider. */
export const PROVIDER_ANSWER_BYTES_MAX = 1_000_000;

/** The clocks of the provider and the bridge may differ by this much. */
const CLOCK_TOLERANCE_SECONDS = 60;

/**
 * `secret` is undefined for a public client. The client library is loaded here, and not when the function starts. Rejects
 * with `SignInFailure`.
 */
async function discoverProvider(
  settings: SignInSettings,
  secret: (() => Promise<Secret>) | undefined,
): Promise<Configuration> {
  const client = await import('openid-client');
  const clientSecret = (await secret?.())?.reveal();
  const proofs = {
    client_secret_basic: client.ClientSecretBasic,
    client_secret_post: client.ClientSecretPost,
  };
  const proof =
    clientSecret === undefined ? client.None() : proofs[settings.client_authentication](clientSecret);
  const issuer = new URL(settings.issuer);
  const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS };
  const options = {
    timeout: PROVIDER_TIMEOUT_SECONDS,
    [client.customFetch]: boundedFetch,
    // The signature of the ID token is verified although it comes from the provider itself, over TLS. The settings accept
    // http on the loopback interface alone.
    execute: [
      client.enableNonRepudiationChecks,
      ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  };
  const config = await client
    .discovery(issuer, settings.client_id, metadata, proof, options)
    .catch((error: unknown) => {
      throw new SignInFailure('unavailable', failureOf(error).detail);
    });
  // The library accepts the metadata of Entra's "common" for any tenant, and the people of every company with them.
  if (new URL(config.serverMetadata().issuer).href !== issuer.href)
    throw new SignInFailure('unavailable', 'issuer_differs');
  return config;
}

const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  const bytes = await readBounded(
    response.body as AsyncIterable<Uint8Array> | null,
    PROVIDER_ANSWER_BYTES_MAX,
  );
  if (bytes.byteLength > PROVIDER_ANSWER_BYTES_MAX)
    throw new SignInFailure('unavailable', 'answer_too_large');
  const { status, headers } = response;
  return new Response(bytes.byteLength === 0 ? null : bytes, { status, headers });
};

/** Providers announce changes of their metadata days ahead. */
const METADATA_MS = 3_600_000;

/** A provider that does not answer is asked at most once in this time, however many people try to sign in. */
const PAUSE_MS = 10_000;

interface SharedReading<Value> {
  current(): Promise<Value>;
  forget(): void;
}

/** Remembers what was read for an hour, and a failure for some seconds. People who ask meanwhile share one reading. */
function createSharedReading<Value>(read: () => Promise<Value>, clock: Clock): SharedReading<Value> {
  let known: { readonly value: Promise<Value>; untilMs: number } | undefined;
  return {
    current() {
      if (known !== undefined && clock.now() < known.untilMs) return known.value;
      const next = { value: read(), untilMs: clock.now() + METADATA_MS };
      known = next;
      next.value.catch(() => {
        next.untilMs = clock.now() + PAUSE_MS;
      });
      return next.value;
    },
    forget() {
      known = undefined;
    },
  };
}

/** With a longer one the cookie of the sign-in would be longer than browsers keep. */
export const NEXT_CHARACTERS_MAX = 2_000;

const pendingSignIn = z.strictObject({
  id: z.string().max(60),
  /** The provider returns this text, by which the answer is matched to the question (RFC 6749, section 10.12). */
  state: z.string().max(200),
  /** The provider puts this text into the ID token (OpenID Connect Core, section 3.1.2.1). */
  nonce: z.string().max(200),
  /** Only the holder of this text can exchange the code (RFC 7636). */
  verifier: z.string().max(200),
  /** The browser goes to this page in the end. */
  next: z.string().max(NEXT_CHARACTERS_MAX),
  ends_at_ms: z.number(),
});

export type PendingSignIn = z.output<typeof pendingSignIn>;

/** A person types a password and a second factor in this time. The provider's own page has a shorter bound. */
export const SIGN_IN_MS_MAX = 10 * 60_000;

/** The return from the provider is a link of another site, with which a `Strict` cookie would not be sent. */
export const PENDING_COOKIE: CookieKind = {
  name: 'bridge_sign_in',
  path: '/console/sign-in',
  prefix: '__Host-',
  sameSite: 'Lax',
};

const pendingSealing = (pepper: Secret) => ({ key: pepper, purpose: 'sign-in', boundTo: 'pending' }) as const;

export function sealPending(pending: PendingSignIn, pepper: Secret): string {
  return seal(JSON.stringify(pending), pendingSealing(pepper));
}

/** Returns undefined when the cookie was changed or made up, or the sign-in took too long. */
export function openPending(sealed: string, pepper: Secret, nowMs: number): PendingSignIn | undefined {
  const text = unseal(sealed, pendingSealing(pepper));
  const parsed = text === undefined ? undefined : pendingSignIn.safeParse(JSON.parse(text));
  return parsed?.success === true && nowMs < parsed.data.ends_at_ms ? parsed.data : undefined;
}

/** The cookie is sent to the way out only, because it is long. It gives no access to anything, so who plants one gains nothing. */
export const PROVIDER_SESSION_COOKIE: CookieKind = {
  name: 'bridge_id_token',
  path: '/console/sign-out',
  prefix: '__Secure-',
  sameSite: 'Strict',
};

const idTokenSealing = (pepper: Secret) =>
  ({ key: pepper, purpose: 'sign-in', boundTo: 'id-token' }) as const;

/** Returns undefined when the ID token is too long to be kept. The provider then asks the person whom to sign out. */
export function sealIdToken(idToken: string, pepper: Secret): string | undefined {
  const sealed = seal(idToken, idTokenSealing(pepper));
  return sealed.length > COOKIE_CHARACTERS_MAX ? undefined : sealed;
}

export function openIdToken(sealed: string | undefined, pepper: Secret): string | undefined {
  return sealed === undefined ? undefined : unseal(sealed, idTokenSealing(pepper));
}

export type FailureKind =
  /** The provider does not answer, or not as an OpenID provider does. */
  | 'unavailable'
  /** The person, or a rule of the provider, ended the sign-in there. */
  | 'declined'
  /** The provider refused the bridge or its code: the settings of the two do not fit, or the code was used or is too old. */
  | 'refused'
  /** The answer is not one to the question of this browser, or its ID token does not hold. */
  | 'untrusted';

export class SignInFailure extends Error {
  readonly kind: FailureKind;
  /** A code such as `invalid_grant` or `OAUTH_TIMEOUT`, with no text of the provider or the browser in it. */
  readonly detail: string;

  constructor(kind: FailureKind, detail: string) {
    super(`A sign-in failed: ${kind}, ${detail}`);
    this.name = 'SignInFailure';
    this.kind = kind;
    this.detail = detail;
  }
}

/** The client library gives these codes to requests that had no usable answer. */
const NO_ANSWER: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

/**
 * Takes what the client library throws: its errors have a `code`, and those of the provider an `error` (RFC 6749, 5.2).
 * The result does not keep them, because they contain answers of the provider.
 */
export function failureOf(thrown: unknown): SignInFailure {
  if (thrown instanceof SignInFailure) return thrown;
  const { code, error, cause } = thrown as { code?: unknown; error?: unknown; cause?: unknown };
  if (cause instanceof SignInFailure) return cause;
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return new SignInFailure(error === 'access_denied' ? 'declined' : 'refused', errorCode(error));
  if (code === 'OAUTH_RESPONSE_BODY_ERROR') return new SignInFailure('refused', errorCode(error));
  // The token endpoint asks the bridge, and nobody else, for credentials (RFC 6749, section 5.2).
  if (code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE') return new SignInFailure('refused', 'invalid_client');
  if (typeof code === 'string')
    return new SignInFailure(NO_ANSWER.has(code) ? 'unavailable' : 'untrusted', code);
  // Without a connection, the platform's `fetch` rejects with a `TypeError`, which the library may wrap.
  const isUnanswered = thrown instanceof TypeError || cause instanceof TypeError;
  return isUnanswered
    ? new SignInFailure('unavailable', 'no_connection')
    : new SignInFailure('untrusted', 'an_unknown_code');
}

/** The browser carries the provider's code, so a text that is no code stays out of the log. */
function errorCode(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,60}$/.test(error) ? error : 'an_unknown_code';
}
