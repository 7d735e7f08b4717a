/** Finds out who calls, by a token of the bridge or by a token of the configured OIDC issuer. */

import { hash } from 'node:crypto';
import { generationOf } from '../../../shared/accounts/account.ts';
import type { Caller } from '../../../shared/callers/scopes.ts';
import type { TokenReader, TokenRecord } from '../../../shared/callers/tokens.ts';
import { isSameHash, TOKEN_PREFIX, tokenHash, tokenIdOf } from '../../../shared/callers/tokens.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';

export interface Authenticator {
  /**
   * `credentials` is what follows `Bearer ` in the header. Resolves to undefined when they are not valid, for any
   * reason.
   */
  authenticate(credentials: string): Promise<Caller | undefined>;
  /**
   * Returns the caller as one of the present life of their account. Returns undefined when the account is not served, or
   * when the caller belonged to an earlier life of it. Nobody is served whom this refuses.
   */
  living(caller: Caller): Caller | undefined;
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
  /** Returns which life of the account is served now, or undefined when none is. */
  readonly generationOf: (accountId: string) => number | undefined;
  readonly clock: Clock;
}

/**
 * The record of a token is remembered for this time. A token that is revoked stops working after this time at the
 * latest, and a caller who sends many requests costs one read of the table in each such period.
 */
const CACHE_MS = 10_000;

/** At most this many records and tokens are remembered. One more forgets what was remembered longest ago. */
export const CACHE_ENTRIES_MAX = 1_000;

/** A JWT of an issuer has one or two kilobytes, and many servers refuse headers of more than eight. */
export const CREDENTIALS_CHARACTERS_MAX = 8_000;

/**
 * This stands in for the hash of a missing record, so that the check of an unknown id takes as long as that of a
 * wrong secret.
 */
const NO_HASH = '0'.repeat(64);

interface RememberedRecord {
  readonly record: Promise<TokenRecord | undefined>;
  /** In milliseconds since the epoch. From then on the record is read again. */
  readonly untilMs: number;
}

/**
 * A token that was right for a remembered record, under its digest, for as long as the record is remembered. A caller
 * sends the same token again and again, and the checks of its form and of the keyed hash take several times as long as
 * the digest. A token has 256 random bits, so neither its digest nor the time of this look-up helps to guess it.
 */
interface RecognizedToken {
  readonly record: TokenRecord;
  readonly caller: Caller;
  readonly untilMs: number;
}

export function createAuthenticator({
  tokens,
  pepper,
  verifyJwt,
  generationOf: servedGenerationOf,
  clock,
}: AuthenticatorDeps): Authenticator {
  const cache = new Map<string, RememberedRecord>();
  const recognized = new Map<string, RecognizedToken>();

  const readCached = (tokenId: string): RememberedRecord => {
    const known = cache.get(tokenId);
    if (known !== undefined && clock.now() < known.untilMs) return known;
    const read = { record: tokens.read(tokenId), untilMs: clock.now() + CACHE_MS };
    rememberAmong(cache, tokenId, read);
    read.record.catch(() => cache.delete(tokenId));
    return read;
  };

  const living = (caller: Caller | undefined): Caller | undefined => {
    const generation = caller && servedGenerationOf(caller.account_id);
    if (caller === undefined || generation === undefined) return undefined;
    return (caller.generation ?? generation) === generation ? { ...caller, generation } : undefined;
  };

  const holderOfToken = async (credentials: string): Promise<Caller | undefined> => {
    const digest = hash('sha256', credentials);
    const known = recognized.get(digest);
    if (known !== undefined && clock.now() < known.untilMs)
      return isValid(known.record, clock.now()) ? known.caller : undefined;
    const tokenId = tokenIdOf(credentials);
    if (tokenId === undefined) return undefined;
    const { record: reading, untilMs } = readCached(tokenId);
    const [record, key] = await Promise.all([reading, pepper()]);
    const isRight = isSameHash(tokenHash(credentials, key), record?.hash ?? NO_HASH);
    if (!isRight || record === undefined) return undefined;
    const caller = callerOf(record);
    rememberAmong(recognized, digest, { record, caller, untilMs });
    return isValid(record, clock.now()) ? caller : undefined;
  };

  return {
    living,
    async authenticate(credentials) {
      if (credentials.length > CREDENTIALS_CHARACTERS_MAX) return undefined;
      const isOwn = credentials.startsWith(`${TOKEN_PREFIX}_`);
      return living(await (isOwn ? holderOfToken(credentials) : verifyJwt?.(credentials)));
    },
    async holderOf(tokenId) {
      const record = await readCached(tokenId).record;
      return record !== undefined && isValid(record, clock.now()) ? living(callerOf(record)) : undefined;
    },
  };
}

function isValid({ revoked_at, expires_at_ms }: TokenRecord, nowMs: number): boolean {
  return revoked_at === undefined && nowMs < expires_at_ms;
}

/** Forgets what was remembered longest ago when there is one entry too many. */
function rememberAmong<Entry>(entries: Map<string, Entry>, name: string, entry: Entry): void {
  entries.delete(name);
  entries.set(name, entry);
  const [oldest] = entries.keys();
  if (entries.size > CACHE_ENTRIES_MAX && oldest !== undefined) entries.delete(oldest);
}

function callerOf(record: TokenRecord): Caller {
  const { client_id, account_id, scopes, scopes_edition, project_ids, settles, approve } = record;
  return {
    client_id,
    account_id,
    generation: generationOf(record),
    scopes: new Set(scopes),
    projectIds: project_ids === undefined ? undefined : new Set(project_ids),
    ...(scopes_edition === undefined && { isFirstEdition: true }),
    ...(settles === true && { settles }),
    ...(approve !== undefined && { approve }),
  };
}

/**
 * Returns the credentials of `Bearer <credentials>`, and undefined for another scheme, for several headers joined by
 * a comma, and for no header.
 */
export function bearerOf(authorization: string | null | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(authorization?.trim() ?? '')?.[1];
}
