/**
 * Speaks with the company's OpenID provider: the authorization code flow with PKCE (OpenID Connect Core, section 3.1;
 * RFC 7636), and the address for signing out there. The client library is loaded when the first person signs in, because
 * most starts of the function never need it.
 */

import type { SignInSettings } from '../../../../shared/config/sign-in-settings.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { PendingSignIn } from './pending-sign-in.ts';
import type { IdTokenClaims } from './person-of-claims.ts';
import { discoverProvider } from './provider-discovery.ts';
import { createSharedReading } from './shared-reading.ts';
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
