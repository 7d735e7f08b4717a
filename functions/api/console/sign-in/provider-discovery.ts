/** Reads the metadata of the company's OpenID provider, and how the bridge proves itself there. */

import type { Configuration, CustomFetch } from 'openid-client';
import type { SignInSettings } from '../../../../shared/config/sign-in-settings.ts';
import { readBounded } from '../../../../shared/runtime/read-bounded.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import { failureOf, SignInFailure } from './sign-in-failure.ts';

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
export async function discoverProvider(
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
