/** Refuses to pass on the requests of an account for which nothing is sent at present. */

import type { StandingOf } from '../../../shared/accounts/account-directory.ts';
import type { Caller } from '../../../shared/callers/authorize.ts';
import { Problem } from './problem.ts';

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
