/** What the notifier reads and writes: its notices, incidents and channels. */

import { type Access, distinct, KEY, WORK } from '../../shared/store/access.ts';
import { LIST_INDEX } from '../../shared/store/table.ts';

const LISTED = [LIST_INDEX.partitionKey, LIST_INDEX.sortKey] as const;
const INCIDENT = ['revision', 'body'] as const;
const CHANNEL = [
  'revision',
  'held_until_ms',
  'sent_at_ms',
  'not_before_ms',
  'failures_in_row',
  'waiting_since_ms',
  'last_reason',
  'deaf_reported_ms',
  'notices_max',
  'has_more',
  'message',
] as const;
const NOTICE = ['notice', 'outcome'] as const;
const NOTICE_END = ['outcome_at_ms', 'reason'] as const;
const PARKED_ALERT = ['reason', 'notice_ids'] as const;

export const notifierAccess = {
  reads: { alerts: distinct([...KEY, ...INCIDENT, ...CHANNEL, ...NOTICE]) },
  readsMany: ['alerts'],
  updates: {
    alerts: distinct([
      ...WORK,
      ...LISTED,
      ...INCIDENT,
      ...CHANNEL,
      ...NOTICE,
      ...NOTICE_END,
      ...PARKED_ALERT,
    ]),
  },
} as const satisfies Access;
