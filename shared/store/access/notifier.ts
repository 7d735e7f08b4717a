/** What the notifier reads and writes: its incidents and channels. */

import { type Access, distinct, KEY, WORK } from './access.ts';

const INCIDENT = ['revision', 'body'] as const;
const CHANNEL = ['revision', 'held_until_ms', 'sent_at_ms', 'not_before_ms', 'failures_in_row'] as const;
const PARKED_ALERT = ['reason', 'notice_ids'] as const;

export const notifierAccess = {
  reads: { alerts: distinct([...KEY, ...INCIDENT, ...CHANNEL]) },
  readsMany: ['alerts'],
  updates: { alerts: distinct([...WORK, ...INCIDENT, ...CHANNEL, ...PARKED_ALERT]) },
} as const satisfies Access;
