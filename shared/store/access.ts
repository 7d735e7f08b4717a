/**
 * What each function may do with the table: by partition, the attributes that it reads and those that it writes. Its role is
 * made of this, its adapter asks for no others, and the table of the tests refuses what the role would.
 */

import { STATUS_ATTRIBUTES } from './account-status-store.ts';
import { USAGE_ATTRIBUTES } from './command-usage.ts';
import { IDEMPOTENCY_ATTRIBUTES } from './idempotency-store.ts';
import { RECORD_ATTRIBUTES } from './items.ts';
import { PARTITIONS } from './keys.ts';
import { FEED_INDEX, LIST_INDEX, type Update, WORK_INDEX } from './table.ts';
import { TOKEN_ATTRIBUTES } from './token-store.ts';

export type Partition = keyof typeof PARTITIONS;

type Attributes = Readonly<Partial<Record<Partition, readonly string[]>>>;

export interface Access {
  readonly reads: Attributes;
  /** Where many items are read in one call. */
  readonly readsMany: readonly Partition[];
  /** Also those that are only compared, in the condition of a write. */
  readonly updates: Attributes;
}

const KEY = ['pk', 'sk'] as const;
const WORK = [...KEY, 'kind', 'expires_at', WORK_INDEX.partitionKey] as const;
const LISTED = [LIST_INDEX.partitionKey, LIST_INDEX.sortKey] as const;

/** Operations and commands: what a command through the API begins. */
const BEGUN = [...RECORD_ATTRIBUTES.operation, ...RECORD_ATTRIBUTES.command];
/** What is decided of an operation later on, by whoever reads it again. */
const DECIDED_LATER: ReadonlySet<string> = new Set(['stalled_threshold_ms']);
const RECORDS = [...BEGUN, ...RECORD_ATTRIBUTES.project, ...RECORD_ATTRIBUTES.account];

/** How far the poller has got, and what it has learned, is its own. */
const POLLERS_OWN: ReadonlySet<string> = new Set(['resume', 'swept_at_ms', 'arrivals', 'learned']);

/** Entries that the bus refused for good. */
const PARKED = ['code', 'event', 'parked_at'] as const;
const LEASE = ['holder', 'expires_at_ms'] as const;

const INCIDENT = ['revision', 'body'] as const;
const CHANNEL = ['revision', 'held_until_ms', 'sent_at_ms', 'not_before_ms', 'failures_in_row'] as const;
const PARKED_ALERT = ['reason', 'notice_ids'] as const;

export const ACCESS = {
  poller: {
    reads: {
      protocol: distinct([...KEY, ...RECORDS, ...STATUS_ATTRIBUTES]),
      usage: [...KEY, ...USAGE_ATTRIBUTES],
    },
    readsMany: ['protocol'],
    updates: {
      protocol: distinct([
        ...WORK,
        ...LISTED,
        FEED_INDEX.sortKey,
        ...RECORDS,
        ...STATUS_ATTRIBUTES,
        ...PARKED,
        ...LEASE,
      ]),
      // Asked for and fulfilled: the index no longer shows it.
      readRequests: [...KEY, WORK_INDEX.partitionKey],
    },
  },
  api: {
    reads: {
      protocol: distinct([...KEY, ...RECORDS, ...STATUS_ATTRIBUTES]).filter((name) => !POLLERS_OWN.has(name)),
      alerts: [...KEY, 'body'],
      tokens: distinct([...KEY, ...TOKEN_ATTRIBUTES]),
      idempotency: distinct([...KEY, ...IDEMPOTENCY_ATTRIBUTES]),
    },
    readsMany: ['protocol'],
    updates: {
      protocol: distinct([...WORK, FEED_INDEX.sortKey, ...BEGUN, ...PARKED]).filter(
        (name) => !DECIDED_LATER.has(name),
      ),
      readRequests: WORK,
      idempotency: distinct([...KEY, 'kind', 'expires_at', ...IDEMPOTENCY_ATTRIBUTES]),
      audit: [
        ...KEY,
        'kind',
        'expires_at',
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
      usage: [...KEY, ...USAGE_ATTRIBUTES],
    },
  },
  notifier: {
    reads: { alerts: distinct([...KEY, ...INCIDENT, ...CHANNEL]) },
    readsMany: ['alerts'],
    updates: { alerts: distinct([...WORK, ...INCIDENT, ...CHANNEL, ...PARKED_ALERT]) },
  },
} as const satisfies Record<string, Access>;

export type Role = keyof typeof ACCESS;

/** The partition that a key stands in; undefined: nobody's. */
export function partitionOf(pk: string): Partition | undefined {
  const names = Object.keys(PARTITIONS) as Partition[];
  return names.find((name) => pk.startsWith(PARTITIONS[name].slice(0, -1)));
}

/** What the role reads of an item of that partition; undefined: nothing, the item is not its business. */
export function readableAttributes(role: Role, pk: string): readonly string[] | undefined {
  const { reads }: Access = ACCESS[role];
  const partition = partitionOf(pk);
  return partition && reads[partition];
}

/** Whether the role reads items of that partition many at once. */
export function readsMany(role: Role, pk: string): boolean {
  const access: Access = ACCESS[role];
  const partition = partitionOf(pk);
  return partition !== undefined && access.readsMany.includes(partition);
}

/** Names in this update that are not the role's to write or compare. */
export function foreignAttributes(
  role: Role,
  { key, set, remove = [], condition }: Update,
): readonly string[] {
  const { updates }: Access = ACCESS[role];
  const partition = partitionOf(key.pk);
  const allowed: ReadonlySet<string> = new Set(partition && updates[partition]);
  const written = Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : name));
  const named = [...KEY, ...written, ...remove, ...namesIn(condition)];
  return distinct(named).filter((name) => !allowed.has(name));
}

function namesIn(condition: Update['condition']): readonly string[] {
  if (condition === undefined) return [];
  return 'of' in condition ? condition.of.flatMap(namesIn) : [condition.name];
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
