/**
 * Lists what the poller reads and writes in the table: records, what it has learned of the account, how long
 * operations take, and the lease.
 */

import { ACCOUNT_ATTRIBUTES } from '../../shared/accounts/account.ts';
import { INSIGHTS_ATTRIBUTES } from '../../shared/insights/day-insights.ts';
import { HOUR_COUNTS_ATTRIBUTES } from '../../shared/insights/hour-counts.ts';
import { STATUS_ATTRIBUTES } from '../../shared/store/account-status-store.ts';
import { RECORD_ATTRIBUTES } from '../../shared/store/items.ts';
import { LEDGER_ATTRIBUTES } from '../../shared/store/ledger-store.ts';
import { PROJECT_NAMES_ATTRIBUTES } from '../../shared/store/project-names.ts';
import { FEED_INDEX, LISTED } from '../../shared/store/table.ts';
import { type Access, distinct, KEY, PARKED, WORK } from '../../shared/store/table-access.ts';
import { REPAIR_ATTRIBUTES, REPLAY_ATTRIBUTES } from '../../shared/store/wishes.ts';

const RECORDS = Object.values(RECORD_ATTRIBUTES).flat();
const LEASE = ['holder', 'expires_at_ms', 'spending'] as const;
const INSIGHTS = distinct([...KEY, ...INSIGHTS_ATTRIBUTES, ...HOUR_COUNTS_ATTRIBUTES]);

export const pollerAccess = {
  reads: {
    protocol: distinct([
      ...KEY,
      ...RECORDS,
      ...STATUS_ATTRIBUTES,
      ...LEASE,
      ...PROJECT_NAMES_ATTRIBUTES,
      ...PARKED,
    ]),
    usage: [...KEY, ...LEDGER_ATTRIBUTES],
    insights: INSIGHTS,
    readRequests: distinct([...KEY, ...REPAIR_ATTRIBUTES, ...REPLAY_ATTRIBUTES]),
    accounts: [...KEY, ...ACCOUNT_ATTRIBUTES, 'stamp'],
    lanes: KEY,
  },
  // A lane reads what its accounts ask for at the same time in one call.
  readsMany: ['protocol', 'insights', 'usage', 'readRequests'],
  updates: {
    protocol: distinct([
      ...WORK,
      ...LISTED,
      FEED_INDEX.sortKey,
      ...RECORDS,
      ...STATUS_ATTRIBUTES,
      ...PARKED,
      ...LEASE,
      ...PROJECT_NAMES_ATTRIBUTES,
    ]),
    // The poller takes a wish out of the index once it is fulfilled, wishes for a reading by another account, and notes how far
    // a repair has come.
    readRequests: distinct([...WORK, 'asked_at_ms', ...REPAIR_ATTRIBUTES, ...REPLAY_ATTRIBUTES]),
    insights: [...INSIGHTS, 'expires_at'],
    usage: [...KEY, ...LEDGER_ATTRIBUTES],
  },
} as const satisfies Access;
