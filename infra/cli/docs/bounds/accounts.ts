/** Lists the bounds of the accounts of a bridge, for docs/limits.md. */

import { ADDED_ACCOUNTS_MAX } from '../../../../shared/accounts/account-store.ts';
import { LOOK_MS } from '../../../../shared/accounts/watch-accounts.ts';
import { UPSTREAM_HOSTS_MAX } from '../../../../shared/config/account-rules.ts';
import type { BoundGroup } from './bound.ts';

export const accountBounds: BoundGroup = {
  title: 'Accounts of a bridge',
  bounds: [
    {
      name: 'Accounts that are added while the bridge runs',
      value: ADDED_ACCOUNTS_MAX,
      unit: 'accounts',
      reason: 'Each function holds the settings of all of them in memory.',
      whenMet: 'A further account is refused with 409, in words that say so.',
      signal: 'The refusal itself, and its record in the audit',
    },
    {
      name: 'Time after which every function knows of a change of accounts',
      value: LOOK_MS,
      unit: 'ms',
      reason: 'A look costs half a read unit, and each process looks.',
      whenMet: 'The account is served, or is served no more.',
      signal: 'Log line `accounts.not_read` while the table cannot be read',
    },
    {
      name: 'Hosts to which keys of added accounts may be sent',
      value: UPSTREAM_HOSTS_MAX,
      unit: 'hosts',
      reason: 'The refusal of another host lists them.',
      whenMet: 'The configuration is refused, with the setting `upstream_hosts`.',
      signal: 'The deployment fails before anything is changed.',
    },
  ],
};
