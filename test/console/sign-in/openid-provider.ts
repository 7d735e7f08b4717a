/**
 * Runs a real OpenID provider on the loopback interface. Everybody who names themselves there has an account, and a test
 * decides which claims the account has, and what goes wrong at the provider's token endpoint.
 */

import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { decodeJwt, exportJWK, importJWK, type JWK, SignJWT } from 'jose';
import Provider, { type Context } from 'oidc-provider';
import { onTestFinished } from 'vitest';

export const CLIENT_ID = 'the-bridge';
export const CLIENT_SECRET = 'a-secret-of-the-bridge-at-the-provider';

export type Claims = Readonly<Record<string, unknown>>;

/** Makes another ID token of the true one. `sign` signs claims as the provider does. */
export type TokenFault = (token: {
  readonly claims: Claims;
  readonly sign: Sign;
}) => Promise<string> | string;

type Sign = (claims: Claims, header?: Readonly<Record<string, unknown>>) => Promise<string>;

export interface OpenIdProvider {
  readonly issuer: string;
  /** Counts the requests to each path. */
  readonly requests: ReadonlyMap<string, number>;
  /** Registers the bridge, whose address is known only after it was told the issuer. */
  register(bridgeOrigin: string): void;
  /** What the next ID tokens say of each person, beside `sub`. */
  setClaims(claims: Claims): void;
  setFault(fault: TokenFault | undefined): void;
  /** Answers every request in this way from now on, in place of the provider. */
  replaceBy(listener: RequestListener | undefined): void;
}

interface ProviderOptions {
  /** Without it the client is public, and PKCE alone protects the code. */
  readonly secret?: string;
  readonly authentication?: 'client_secret_basic' | 'client_secret_post';
  /** To a browser, `localhost` is another site than 127.0.0.1. */
  readonly host?: '127.0.0.1' | 'localhost';
}

/** Ends with the test. */
export async function startOpenIdProvider(options: ProviderOptions = {}): Promise<OpenIdProvider> {
  const requests = new Map<string, number>();
  let listener: RequestListener | undefined;
  let replacement: RequestListener | undefined;
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://any').pathname;
    requests.set(path, (requests.get(path) ?? 0) + 1);
    const answer = replacement ?? listener ?? ((_request, missing) => missing.writeHead(503).end());
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const issuer = `http://${options.host ?? '127.0.0.1'}:${typeof address === 'object' ? address?.port : 0}`;
  const key = await signingKey();
  let claims: Claims = {};
  let fault: TokenFault | undefined;
  return {
    issuer,
    requests,
    register(bridgeOrigin) {
      const configuration = configurationOf({ options, bridgeOrigin, key, claimsNow: () => claims });
      const provider = new Provider(issuer, configuration);
      provider.use(async (context, next) => {
        await next();
        if (context.path === '/token' && fault !== undefined) await spoil(context, fault, key);
      });
      listener = provider.callback();
    },
    setClaims(next) {
      claims = next;
    },
    setFault(next) {
      fault = next;
    },
    replaceBy(next) {
      replacement = next;
    },
  };
}

interface Setting {
  readonly options: ProviderOptions;
  readonly bridgeOrigin: string;
  readonly key: JWK;
  readonly claimsNow: () => Claims;
}

function configurationOf({ options, bridgeOrigin, key, claimsNow }: Setting): object {
  const { secret, authentication = 'client_secret_basic' } = options;
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        ...(secret !== undefined && { client_secret: secret }),
        token_endpoint_auth_method: secret === undefined ? 'none' : authentication,
        redirect_uris: [`${bridgeOrigin}/console/sign-in/callback`],
        post_logout_redirect_uris: [`${bridgeOrigin}/console`],
      },
    ],
    claims: { openid: ['sub', 'groups', 'https://example.com/role'], email: ['email', 'email_verified'] },
    // Most providers put the claims into the ID token; this one would keep them for its userinfo endpoint.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    cookies: { keys: ['a-key-of-the-provider'] },
    jwks: { keys: [key] },
    findAccount: async (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ sub, ...claimsNow() }),
    }),
    loadExistingGrant: consentTo,
  };
}

/** The company has agreed for everybody, so the provider does not ask each person. */
async function consentTo({ oidc: { provider, client, session } }: Context) {
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid email');
  await grant.save();
  return grant;
}

async function signingKey(): Promise<JWK> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { ...(await exportJWK(privateKey)), kid: 'key-of-the-provider', alg: 'RS256', use: 'sig' };
}

async function spoil(context: Context, fault: TokenFault, key: JWK): Promise<void> {
  const body = context.body as { readonly id_token: string };
  const privateKey = await importJWK(key, 'RS256');
  const sign: Sign = (claims, header = {}) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: 'key-of-the-provider', ...header })
      .sign(privateKey);
  context.body = { ...body, id_token: await fault({ claims: decodeJwt(body.id_token), sign }) };
}
