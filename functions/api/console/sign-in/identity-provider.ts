/**
 * Speaks with the company's OpenID provider: the authorization code flow with PKCE (OpenID Connect Core, section 3.1;
 * RFC 7636), and the address for signing out there. The client library is loaded when the first person signs in, because
 * most starts of the function never need it.
 */

import type { Configuration, CustomFetch } from 'openid-client';
import type { SignInSettings } from '../../../../shared/config/sign-in-settings.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { readBounded } from '../../../../shared/runtime/read-bounded.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { PendingSignIn } from './pending-sign-in.ts';
import type { IdTokenClaims } from './person-of-claims.ts';
import { failureOf, SignInFailure } from './sign-in-failure.ts';

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
  readonly clock: Pick<Clock, 'now'>;
  /** It is undefined for a public client. */
  readonly secret: (() => Promise<Secret>) | undefined;
}

/** A person waits for the answer. API Gateway waits for 30 seconds, in which two requests to the provider must end. */
export const PROVIDER_TIMEOUT_SECONDS = 5;

/** Metadata, key sets and ID tokens have some kilobytes. More than this is no answer of an OpenID provider. */
export const PROVIDER_ANSWER_BYTES_MAX = 1_000_000;

/** Providers announce changes of their metadata days ahead. */
const METADATA_MS = 3_600_000;

/** A provider that does not answer is asked at most once in this time, however many people try to sign in. */
const PAUSE_MS = 10_000;

/** The clocks of the provider and the bridge may differ by this much. */
const CLOCK_TOLERANCE_SECONDS = 60;

export function createIdentityProvider(
  settings: SignInSettings,
  { clock, secret }: IdentityProviderDeps,
): IdentityProvider {
  const configuration = createMemory(() => discover(settings, secret), clock);
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

async function discover(
  settings: SignInSettings,
  secret: IdentityProviderDeps['secret'],
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

interface Memory<Value> {
  current(): Promise<Value>;
  forget(): void;
}

/** Remembers what was read for an hour, and a failure for some seconds. People who ask meanwhile share one reading. */
function createMemory<Value>(read: () => Promise<Value>, clock: Pick<Clock, 'now'>): Memory<Value> {
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
