/** Says what the worker's function may read and write: the queue, and what a command begins. It reads no token and no audit. */

import { ACCOUNT_ATTRIBUTES } from '../../shared/accounts/account.ts';
import { QUEUE_ATTRIBUTES } from '../../shared/commands/queue-store.ts';
import { RECORD_ATTRIBUTES } from '../../shared/store/items.ts';
import { LEDGER_ATTRIBUTES } from '../../shared/store/ledger-store.ts';
import { FEED_INDEX, LISTED } from '../../shared/store/table.ts';
import { type Access, distinct, KEY, PARKED, WORK } from '../../shared/store/table-access.ts';
import { NUDGE_ATTRIBUTES } from '../../shared/store/wishes.ts';

const BEGUN = (['operation', 'command', 'branch', 'compute'] as const).flatMap(
  (kind) => RECORD_ATTRIBUTES[kind],
);

export const commandsAccess = {
  reads: {
    protocol: distinct([...KEY, ...BEGUN]),
    queue: [...KEY, ...QUEUE_ATTRIBUTES],
    accounts: [...KEY, ...ACCOUNT_ATTRIBUTES, 'stamp'],
    usage: [...KEY, ...LEDGER_ATTRIBUTES],
  },
  readsMany: ['protocol'],
  updates: {
    protocol: distinct([...WORK, FEED_INDEX.sortKey, ...BEGUN, ...PARKED]).filter(
      // Only the poller decides when an operation has stalled.
      (name) => name !== 'stalled_threshold_ms',
    ),
    readRequests: [...WORK, 'asked_at_ms'],
    queue: distinct([...WORK, ...LISTED, ...QUEUE_ATTRIBUTES]),
    usage: [...KEY, ...LEDGER_ATTRIBUTES],
    lanes: NUDGE_ATTRIBUTES,
  },
} as const satisfies Access;
