/**
 * Checks whether a caller may send a request now. Each caller has a share of the account's rate limit, and a number
 * of wishes a minute.
 */

import type { Caller } from '../../../shared/callers/authorize.ts';
import type { FairShare } from '../../../shared/commands/permits/fair-share.ts';
import { isQueued } from './prefer-async.ts';
import { isAnsweredAtEnd, preferredWaitMs } from './prefer-wait.ts';
import { Problem } from './problem.ts';
import type { RawRequest } from './read-request.ts';
import type { Route } from './route.ts';

/** Uses up one request of the allowance that the route names. Throws `Problem` `rate-limited` when nothing is left of it. */
export async function useAllowance(
  fairShare: FairShare | undefined,
  route: Route,
  caller: Caller,
  raw: RawRequest,
): Promise<void> {
  const { client_id } = caller;
  const prefer = raw.headers.get('prefer');
  if (route.limit === 'upstream' && isQueued(route, prefer)) refuseFor(fairShare?.admitQueued(client_id));
  else if (route.limit === 'upstream') {
    // This header is checked before a permit is taken, so that a mistake in it costs the caller nothing.
    preferredWaitMs(prefer);
    if (!takesPermitLater(route, caller, prefer)) refuseFor(await fairShare?.admit(client_id));
  }
  if (route.limit === 'wishes') refuseFor(fairShare?.admitWish(client_id));
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
