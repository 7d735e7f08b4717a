/**
 * The attributes that items of each partition have. A role may write these names into its own partitions and no others, and
 * the table of the tests refuses what the roles would.
 */

import { STATUS_ATTRIBUTES } from './account-status-store.ts';
import { USAGE_ATTRIBUTES } from './command-usage.ts';
import { IDEMPOTENCY_ATTRIBUTES } from './idempotency-store.ts';
import { RECORD_ATTRIBUTES } from './items.ts';
import { PARTITIONS } from './keys.ts';
import { FEED_INDEX, LIST_INDEX, type Update, WORK_INDEX } from './table.ts';
import { TOKEN_ATTRIBUTES } from './token-store.ts';

export type Partition = keyof typeof PARTITIONS;

/** Of any item: its key, what it is, how long it stays, and where it is found. */
const COMMON = ['pk', 'sk', 'kind', 'expires_at'] as const;
const WORK = [WORK_INDEX.partitionKey] as const;
const LISTED = [LIST_INDEX.partitionKey, LIST_INDEX.sortKey] as const;

export const WRITTEN_ATTRIBUTES: Readonly<Record<Partition, readonly string[]>> = {
  protocol: distinct([
    ...COMMON,
    ...WORK,
    ...LISTED,
    FEED_INDEX.sortKey,
    ...RECORD_ATTRIBUTES,
    ...STATUS_ATTRIBUTES,
    // The lease.
    'holder',
    'expires_at_ms',
    // Entries that the bus refused for good.
    'code',
    'event',
    'parked_at',
  ]),
  readRequests: [...COMMON, ...WORK],
  alerts: [
    ...COMMON,
    ...WORK,
    'revision',
    'body',
    // What the channel was told lately.
    'held_until_ms',
    'sent_at_ms',
    'not_before_ms',
    'failures_in_row',
    // Alerts that a channel refused for good.
    'reason',
    'notice_ids',
  ],
  tokens: distinct([...COMMON, ...LISTED, ...TOKEN_ATTRIBUTES]),
  idempotency: distinct([...COMMON, ...IDEMPOTENCY_ATTRIBUTES]),
  audit: [
    ...COMMON,
    ...LISTED,
    'account_id',
    'request_id',
    'client_id',
    'call',
    'project_id',
    'resource',
    'received_at',
    'outcome',
    'status',
    'problem',
    'duration_ms',
    'operation_ids',
  ],
  usage: ['pk', 'sk', ...USAGE_ATTRIBUTES],
};

/** Names of this update that items of its partition do not have; empty for partitions that are nobody's. */
export function foreignAttributes({ key, set, remove = [], condition }: Update): readonly string[] {
  const partition = partitionOf(key.pk);
  if (partition === undefined) return [];
  const allowed: ReadonlySet<string> = new Set(WRITTEN_ATTRIBUTES[partition]);
  const written = Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : name));
  return distinct([...written, ...remove, ...namesIn(condition)]).filter((name) => !allowed.has(name));
}

function partitionOf(pk: string): Partition | undefined {
  const names = Object.keys(PARTITIONS) as Partition[];
  return names.find((name) => pk.startsWith(PARTITIONS[name].slice(0, -1)));
}

function namesIn(condition: Update['condition']): readonly string[] {
  if (condition === undefined) return [];
  return 'of' in condition ? condition.of.flatMap(namesIn) : [condition.name];
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
