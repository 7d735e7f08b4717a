/** Finds out who calls, by a token of the bridge or by a token of the configured OIDC issuer. */

import { hash } from 'node:crypto';
import type { Caller } from '../../../shared/callers/authorize.ts';
import { isSameHash, TOKEN_PREFIX, tokenHash, tokenIdOf } from '../../../shared/callers/bridge-token.ts';
import type { TokenRecord } from '../../../shared/callers/token-record.ts';
import type { TokenReader } from '../../../shared/callers/token-store.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';

export interface Authenticator {
  /**
   * `credentials` is what follows `Bearer ` in the header. Resolves to undefined when they are not valid, for any
   * reason.
   */
  authenticate(credentials: string): Promise<Caller | undefined>;
  /**
   * Resolves to the caller of the token with this id while the token is valid. Sessions that began with the token use
   * it.
   */
  holderOf(tokenId: string): Promise<Caller | undefined>;
}

export interface AuthenticatorDeps {
  readonly tokens: TokenReader;
  readonly pepper: () => Promise<Secret>;
  /** Verifies a token of the OIDC issuer. It is undefined when only the bridge's own tokens are accepted. */
  readonly verifyJwt?: ((token: string) => Promise<Caller | undefined>) | undefined;
  readonly clock: Clock;
}

/**
 * The record of a token is remembered for this time. A token that is revoked stops working after this time at the
 * latest, and a caller who sends many requests costs one read of the table in each such period.
 */
const CACHE_MS = 10_000;

/** At most this many tokens are remembered. One more forgets the token that was read longest ago. */
export const CACHE_ENTRIES_MAX = 1_000;

/** A JWT of an issuer has one or two kilobytes, and many servers refuse headers of more than eight. */
export const CREDENTIALS_CHARACTERS_MAX = 8_000;

/**
 * This stands in for the hash of a missing record, so that the check of an unknown id takes as long as that of a
 * wrong secret.
 */
const NO_HASH = '0'.repeat(64);

export function createAuthenticator({ tokens, pepper, verifyJwt, clock }: AuthenticatorDeps): Authenticator {
  const cache = new Map<
    string,
    { readonly record: Promise<TokenRecord | undefined>; readonly untilMs: number }
  >();

  const readCached = (tokenId: string): Promise<TokenRecord | undefined> => {
    const known = cache.get(tokenId);
    if (known !== undefined && clock.now() < known.untilMs) return known.record;
    const record = tokens.read(tokenId);
    cache.delete(tokenId);
    cache.set(tokenId, { record, untilMs: clock.now() + CACHE_MS });
    record.catch(() => cache.delete(tokenId));
    const [oldest] = cache.keys();
    if (cache.size > CACHE_ENTRIES_MAX && oldest !== undefined) cache.delete(oldest);
    return record;
  };

  return {
    async authenticate(credentials) {
      if (credentials.length > CREDENTIALS_CHARACTERS_MAX) return undefined;
      if (!credentials.startsWith(`${TOKEN_PREFIX}_`)) return verifyJwt?.(credentials);
      const tokenId = tokenIdOf(credentials);
      if (tokenId === undefined) return undefined;
      const [record, key] = await Promise.all([readCached(tokenId), pepper()]);
      const isRight = isTokenOf(record, credentials, key);
      if (!isRight || record === undefined) return undefined;
      return isValid(record, clock.now()) ? knownCallerOf(record) : undefined;
    },
    async holderOf(tokenId) {
      const record = await readCached(tokenId);
      return record !== undefined && isValid(record, clock.now()) ? callerOf(record) : undefined;
    },
  };
}

function isValid({ revoked_at, expires_at_ms }: TokenRecord, nowMs: number): boolean {
  return revoked_at === undefined && nowMs < expires_at_ms;
}

/**
 * These are the digests of the tokens that were right for a remembered record. The keyed hash takes ten times as long as
 * this digest, and a caller sends the same token again and again. A token has 256 random bits, so its digest does not
 * help to guess it.
 */
const rightDigests = new WeakMap<TokenRecord, string>();

function isTokenOf(record: TokenRecord | undefined, credentials: string, pepper: Secret): boolean {
  const digest = hash('sha256', credentials);
  const known = record && rightDigests.get(record);
  if (known !== undefined && isSameHash(digest, known)) return true;
  const isRight = isSameHash(tokenHash(credentials, pepper), record?.hash ?? NO_HASH);
  if (isRight && record !== undefined) rightDigests.set(record, digest);
  return isRight;
}

/** A remembered record has its caller made once. Both are forgotten together. */
const knownCallers = new WeakMap<TokenRecord, Caller>();

function knownCallerOf(record: TokenRecord): Caller {
  const caller = knownCallers.get(record) ?? callerOf(record);
  knownCallers.set(record, caller);
  return caller;
}

function callerOf(record: TokenRecord): Caller {
  const { client_id, account_id, scopes, scopes_edition, project_ids, settles } = record;
  return {
    client_id,
    account_id,
    scopes: new Set(scopes),
    projectIds: project_ids === undefined ? undefined : new Set(project_ids),
    ...(scopes_edition === undefined && { isFirstEdition: true }),
    ...(settles === true && { settles }),
  };
}

/**
 * Returns the credentials of `Bearer <credentials>`, and undefined for another scheme, for several headers joined by
 * a comma, and for no header.
 */
export function bearerOf(authorization: string | null | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(authorization?.trim() ?? '')?.[1];
}
