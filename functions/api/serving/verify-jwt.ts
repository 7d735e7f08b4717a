/**
 * Verifies access tokens of an OIDC issuer. Issuer and audience are pinned, only asymmetric signatures count, and
 * clocks may differ by a minute.
 */

import { JwtVerifier } from 'aws-jwt-verify';
import { SimpleJwksCache } from 'aws-jwt-verify/jwk';
import { decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt';
import * as z from 'zod';
import type { Caller } from '../../../shared/callers/scopes.ts';
import { isScope } from '../../../shared/callers/scopes.ts';
import type { OidcSettings } from '../../../shared/config/api-config.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';

const CLOCK_SKEW_SECONDS = 60;

/** A JWKS has a few kilobytes, and an issuer that does not answer must not hold up a request. */
const JWKS_TIMEOUT_MS = 3_000;

/**
 * The bridge reads only these claims. Without `projects` the caller may see no project, and `*` stands for every
 * project of the account.
 */
const claims = z.object({
  /** A subject has at most 255 ASCII characters (OpenID Connect Core, section 2). */
  sub: z.string().regex(/^[\x20-\x7e]{1,255}$/),
  /** The claim is required, because a token without an end could never be taken back. */
  exp: z.number(),
  iat: z.number(),
  aud: z.union([z.string(), z.array(z.string())]),
  /** This claim of Cognito is `access` or `id`. */
  token_use: z.string().optional(),
  scope: z.string().max(4_000).default(''),
  projects: z.array(z.string().max(100)).max(1_000).default([]),
});

/**
 * Issuers let access tokens last for minutes to an hour. A token that lasts longer than a day is as dangerous as a
 * password.
 */
const LIFETIME_SECONDS_MAX = 24 * 3_600;

export function createJwtVerifier(
  settings: OidcSettings,
  clock: Clock,
): (token: string) => Promise<Caller | undefined> {
  const { issuer, audience, accessTokenAudience, jwksUrl, account_id } = settings;
  const audiences = [audience, ...(accessTokenAudience === undefined ? [] : [accessTokenAudience])];
  const verifier = JwtVerifier.create(
    { issuer, audience: audiences, jwksUri: jwksUrl, graceSeconds: CLOCK_SKEW_SECONDS },
    { jwksCache: new SimpleJwksCache({ fetcher: { fetch: fetchJwks } }) },
  );
  return async (token) => {
    const verified = await verifier.verify(token).catch(() => undefined);
    const parsed = claims.safeParse(verified);
    if (!parsed.success) return undefined;
    const { sub, exp, scope, projects } = parsed.data;
    const isAccessToken = isForAccess(settings, typeOf(token), parsed.data);
    if (!isAccessToken || !isShortLived(parsed.data, clock.now())) return undefined;
    return {
      // Names of the bridge's own clients have no colon, so a person of the issuer never has the name of such a client.
      client_id: `oidc:${new URL(issuer).host}:${sub}`,
      account_id,
      endsAtMs: exp * 1_000,
      // The same claim may contain scopes of other services.
      scopes: new Set(scope.split(' ').filter(isScope)),
      projectIds: projects.includes('*') ? undefined : new Set(projects),
    };
  };
}

type Claims = z.output<typeof claims>;

function typeOf(token: string): string {
  const { typ } = decomposeUnverifiedJwt(token).header as { readonly typ?: unknown };
  return typeof typ === 'string' ? typ : '';
}

/**
 * Returns false for ID tokens. The same issuer signs them, but they only say to a web page who has signed in, and
 * give no permission to call an API.
 */
function isForAccess(
  { accessTokenAudience }: OidcSettings,
  typ: string,
  { aud, token_use }: Claims,
): boolean {
  if (token_use !== undefined) return token_use === 'access';
  // RFC 9068, section 2.1, defines this type for access tokens.
  if (/^(application\/)?at\+jwt$/i.test(typ)) return true;
  return accessTokenAudience !== undefined && [aud].flat().includes(accessTokenAudience);
}

function isShortLived({ exp, iat }: Claims, nowMs: number): boolean {
  const latest = nowMs / 1_000 + LIFETIME_SECONDS_MAX + CLOCK_SKEW_SECONDS;
  return exp - iat <= LIFETIME_SECONDS_MAX && exp <= latest;
}

async function fetchJwks(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(JWKS_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`The issuer answered ${response.status} for its keys`);
  return response.arrayBuffer();
}
