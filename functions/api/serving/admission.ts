/**
 * Decides who is let in. It finds out who calls, by a token of the bridge or by a token of the configured OIDC issuer,
 * and what the caller may reach and send now: the scope of the call, the projects of the token, the state of the
 * account, and the caller's share of the rate limit.
 */

import { hash } from 'node:crypto';
import { generationOf } from '../../../shared/accounts/account.ts';
import type { StandingOf } from '../../../shared/accounts/account-directory.ts';
import { authorize, type Caller, maySee } from '../../../shared/callers/scopes.ts';
import {
  isSameHash,
  TOKEN_PREFIX,
  type TokenReader,
  type TokenRecord,
  tokenHash,
  tokenIdOf,
} from '../../../shared/callers/tokens.ts';
import { type FairShare, HOLD_MS } from '../../../shared/commands/fair-share.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { undeclaredFields } from '../../../shared/upstream/calls/call.ts';
import { type FieldFault, invalid, nameable, notFound, Problem } from './problem.ts';
import { projectIdsIn, type RawRequest } from './read-request.ts';
import type { ApiRequest, Route } from './route.ts';
import { asksForLine, isAnsweredAtEnd, namedWaitMs, type PatientCallers, waitingPlace } from './waiting.ts';

export interface Authenticator {
  /**
   * `credentials` is what follows `Bearer ` in the header. Resolves to undefined when they are not valid, for any
   * reason.
   */
  authenticate(credentials: string): Promise<Caller | undefined>;
  /**
   * Returns the caller with the account as it is now. Returns undefined, and the request is refused, when the account is
   * not served, or when it was removed and added again since the caller's token was issued.
   */
  living(caller: Caller): Caller | undefined;
  /**
   * Resolves to the caller of the token with this id while the token is valid. Sessions that began with the token use
   * it.
   */
  holderOf(tokenId: string): Promise<Caller | undefined>;
}

interface AuthenticatorDeps {
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

/**
 * This check needs no body. It throws `Problem`. The scope comes first, so that a refusal says nothing about a
 * project.
 */
export function checkPermission(caller: Caller, route: Route, { ids }: RawRequest): void {
  if (route.closedUntil !== undefined) throw callClosed(route.closedUntil);
  const { access } = route;
  if (access !== 'public' && access !== 'signed_in') {
    const decision = authorize(caller, access, undefined);
    if (decision.kind === 'scope_missing') throw scopeMissing(decision.scope);
    if (caller.isFirstEdition && route.isOfSecondEdition) throw tokenTooOld(access);
  }
  const projectId = ids['project_id'];
  if (projectId !== undefined && !maySee(caller, projectId)) throw notFound({ isHidden: true });
  if (isClosedTo(caller, route)) throw accountWide();
}

/** A call that reaches beyond one project is closed to a caller who is limited to some projects. */
function isClosedTo({ projectIds }: Caller, { reach, isAccountWide }: Route): boolean {
  return projectIds !== undefined && (isAccountWide === true || reach === 'account');
}

/** A page of a list within a project reaches no further than the list, also where the call does not declare that it has pages. */
const PAGING: ReadonlySet<string> = new Set(['cursor', 'limit']);

/** A page of the upstream's search has a cursor only if something was found, which would tell the names of projects of others. */
const SEARCH: ReadonlySet<string> = new Set(['search', 'search[]']);

/**
 * The query of a caller who is limited to some projects must have only parameters that the call declares, and a list of projects in
 * it must name only the caller's own. Throws `Problem`.
 */
export function checkQuery(caller: Caller, route: Route, query: ApiRequest['query']): void {
  if (caller.projectIds === undefined) return;
  // Some clients write `name[]` for a list.
  const declared = new Set<string>(
    route.declared?.query.flatMap((name) => [name, `${name}[]`]) ?? Object.keys(route.query?.shape ?? {}),
  );
  const isOpen = (name: string) => declared.has(name) || (route.reach === 'path_project' && PAGING.has(name));
  refuseUndeclared(
    'query',
    Object.keys(query).filter((name) => !isOpen(name)),
  );
  if (route.reach === 'own_projects' && Object.keys(query).some((name) => SEARCH.has(name)))
    throw searchClosed();
  if (route.reach !== 'listed_projects') return;
  const listed = [query['project_ids'] ?? [], query['project_ids[]'] ?? []].flat().map(String);
  const ids = listed.flatMap((text) => text.split(',')).filter((id) => id !== '');
  if (ids.length === 0) throw projectsNotListed();
  if (ids.some((id) => !maySee(caller, id))) throw notFound({ isHidden: true });
}

/**
 * The body of a caller who is limited to some projects must name no other project, and must have only fields that the call
 * declares, because an undeclared field could reach further. Throws `Problem`.
 */
export function checkBody(caller: Caller, route: Route, body: ApiRequest['body']): void {
  if (caller.projectIds === undefined) return;
  const isForeign = (id: unknown) => typeof id !== 'string' || !maySee(caller, id);
  if (projectIdsIn(body).some(isForeign)) throw notFound({ isHidden: true });
  if (route.reach === 'named_project' && isForeign(body?.['project_id'])) throw notFound({ isHidden: true });
  refuseUndeclared('body', undeclaredFields(route.declared?.body() ?? route.body, body));
}

function refuseUndeclared(part: 'query' | 'body', names: readonly string[]): void {
  if (names.length === 0) return;
  const faultOf = (name: string): FieldFault => ({
    field: `${part}.${nameable(name)}`,
    reason: 'a token that is limited to projects may send only fields that this call declares',
  });
  throw invalid(names.map(faultOf));
}

function callClosed(setting: string): Problem {
  return new Problem('call-closed', {
    detail: `This call hands out or revokes keys that the bridge cannot limit, so it is closed. Whoever runs the bridge can open it with ${setting}.`,
  });
}

function tokenTooOld(scope: string): Problem {
  return new Problem('scope-missing', {
    detail: `This token is older than this call, and its scope ${scope} does not include it; ask whoever runs the bridge for a new token.`,
  });
}

function projectsNotListed(): Problem {
  return new Problem('account-wide', {
    detail:
      'This token is limited to projects, and this call is about all projects unless project_ids names some; name yours there.',
  });
}

function searchClosed(): Problem {
  const reason =
    'a token that is limited to projects may not search, because the answer would tell of other projects; list yours and choose among them';
  return invalid([{ field: 'query.search', reason }]);
}

export function scopeMissing(scope: string): Problem {
  return new Problem('scope-missing', {
    detail: `This call needs the scope ${scope}; ask whoever runs the bridge for a token that has it.`,
  });
}

export function accountWide(): Problem {
  return new Problem('account-wide', {
    detail:
      'This token is limited to projects, and this call reaches beyond one project; ask whoever runs the bridge for a token without a list of projects.',
  });
}

/** A pause lasts for minutes at least. */
const RETRY_AFTER_SECONDS = '60';

/** Throws `Problem` `account-paused`. An account that does not exist is left to the caller. */
export function refuseUnlessActive(standingOf: StandingOf, { account_id }: Caller): void {
  const account = standingOf(account_id);
  if (account === undefined || account.state === 'active') return;
  const why =
    account.state === 'paused'
      ? 'An administrator has paused this account. Records of the bridge can still be read.'
      : `The deployment does not allow this account: ${account.fault ?? 'its settings are not allowed'}.`;
  throw new Problem('account-paused', {
    detail: `${why} Nothing was sent.`,
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    provesNoWork: true,
  });
}

/** A caller who never waits for itself has its requests held for this long: as long as its commands wait for a lock. */
const SETTLING_HOLD_MS = 20_000;

interface AllowanceDeps {
  readonly fairShare: FairShare | undefined;
  readonly patient: PatientCallers;
}

/**
 * Uses up one request of the allowance that the route names. A request that is passed on is held for its permit as long
 * as its caller would wait, in one of the caller's places. Throws `Problem` `rate-limited` when nothing is left.
 */
export async function useAllowance(
  { fairShare, patient }: AllowanceDeps,
  route: Route,
  {
    raw,
    caller,
    signal,
  }: { readonly raw: RawRequest; readonly caller: Caller; readonly signal: AbortSignal },
): Promise<void> {
  const { client_id } = caller;
  const prefer = raw.headers.get('prefer');
  if (route.limit === 'wishes') refuseFor(await fairShare?.admitWish(client_id));
  if (route.limit !== 'upstream') return;
  if (asksForLine(route, prefer)) return refuseFor(await fairShare?.admitQueued(client_id));
  // This header is checked before a permit is taken, so that a mistake in it costs the caller nothing.
  const forMs = namedWaitMs(prefer) ?? (caller.settles === true ? SETTLING_HOLD_MS : HOLD_MS);
  if (takesPermitLater(route, caller, prefer)) return;
  const place = waitingPlace(patient, caller, forMs);
  try {
    refuseFor(await fairShare?.admit(client_id, { forMs, mayHold: () => place.take(), signal }));
  } finally {
    await place.giveBack();
  }
}

/** A command that may wait for a lock first takes its permit when it leaves, so that permits of past minutes do not add up. */
function takesPermitLater({ method }: Route, caller: Caller, prefer: string | null): boolean {
  return method !== 'GET' && isAnsweredAtEnd(caller, prefer);
}

/** Throws `Problem` `rate-limited` unless the delay is 0. */
export function refuseFor(delayMs = 0): void {
  if (delayMs > 0) throw rateLimited(delayMs);
}

/** Returns the refusal of a caller who has to wait this long. */
export function rateLimited(delayMs: number): Problem {
  const seconds = Math.ceil(delayMs / 1_000);
  return new Problem('rate-limited', {
    detail: `This caller has used its part of the account's rate limit; ask again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}
