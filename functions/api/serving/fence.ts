/**
 * Decides what a caller may reach and send now: the scope of the call, the projects of the token, the state of the
 * account, and the caller's share of the rate limit.
 */

import type { StandingOf } from '../../../shared/accounts/account-directory.ts';
import { authorize, type Caller, maySee } from '../../../shared/callers/scopes.ts';
import { type FairShare, HOLD_MS } from '../../../shared/commands/fair-share.ts';
import { undeclaredFields } from '../../../shared/upstream/calls/call.ts';
import { type FieldFault, invalid, nameable, notFound, Problem } from './problem.ts';
import { projectIdsIn, type RawRequest } from './read-request.ts';
import type { ApiRequest, Route } from './route.ts';
import { isAnsweredAtEnd, isQueued, namedWaitMs, type PatientCallers, waitingPlace } from './waiting.ts';

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

export interface AllowanceDeps {
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
  if (isQueued(route, prefer)) return refuseFor(await fairShare?.admitQueued(client_id));
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
