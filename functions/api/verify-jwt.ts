/** Access tokens of an OIDC issuer: pinned issuer and audience, asymmetric signatures only, a minute of clock skew. */

import { JwtVerifier } from 'aws-jwt-verify';
import { SimpleJwksCache } from 'aws-jwt-verify/jwk';
import * as z from 'zod';
import type { Caller } from '../../shared/callers/authorize.ts';
import { SCOPES } from '../../shared/callers/scopes.ts';
import type { OidcSettings } from '../../shared/config/api-config.ts';

const CLOCK_SKEW_SECONDS = 60;

/** A JWKS is a few kilobytes; an issuer that is silent must not hold a request. */
const JWKS_TIMEOUT_MS = 3_000;

/** Everything of the token that means something here. Absent projects: none; `*`: all of the account. */
const claims = z.object({
  sub: z.string().min(1).max(200),
  /** A token without an end is one that nobody can take back. */
  exp: z.number(),
  client_id: z.string().min(1).max(200).optional(),
  scope: z.string().max(4_000).default(''),
  projects: z.array(z.string().max(100)).max(1_000).default([]),
});

const KNOWN_SCOPES = new Set<string>(SCOPES);

export function createJwtVerifier(settings: OidcSettings): (token: string) => Promise<Caller | undefined> {
  const { issuer, audience, jwksUrl, account_id } = settings;
  const verifier = JwtVerifier.create(
    { issuer, audience, jwksUri: jwksUrl, graceSeconds: CLOCK_SKEW_SECONDS },
    { jwksCache: new SimpleJwksCache({ fetcher: { fetch: fetchJwks } }) },
  );
  return async (token) => {
    const verified = await verifier.verify(token).catch(() => undefined);
    const parsed = claims.safeParse(verified);
    if (!parsed.success) return undefined;
    const { sub, client_id, scope, projects } = parsed.data;
    return {
      client_id: client_id ?? sub,
      account_id,
      // Scopes of other services stand in the same claim.
      scopes: new Set(scope.split(' ').filter((name) => KNOWN_SCOPES.has(name)) as (typeof SCOPES)[number][]),
      projectIds: projects.includes('*') ? undefined : new Set(projects),
    };
  };
}

async function fetchJwks(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(JWKS_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`The issuer answered ${response.status} for its keys`);
  return response.arrayBuffer();
}
