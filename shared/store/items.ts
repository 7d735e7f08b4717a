/** Table items and records: everything read from the table is parsed one by one, so that drift is loud, by name, and stops nothing else. */

import * as z from 'zod';
import type { AccountRecord } from '../core/account-record.ts';
import type { CommandRecord } from '../core/command-record.ts';
import type { ForeignEntry, Journal, JournalEntry } from '../core/journal.ts';
import type { JournalRecord } from '../core/journal-record.ts';
import type { OperationRecord } from '../core/operation-record.ts';
import type { ProjectRecord } from '../core/project-record.ts';
import { normaliseTimestamp, type Timestamp } from '../core/timestamp.ts';
import { accountKey, commandKey, operationKey, projectKey, projectsListOf } from './keys.ts';
import { fromStored, toStored } from './stored-entry.ts';
import { type Attribute, FEED_INDEX, type Item, type Key, LIST_INDEX } from './table.ts';
import type { UnreadableItem } from './unreadable.ts';

const ourTime = z.string().refine((text) => !Number.isNaN(Date.parse(text)));

const entryBase = { id: z.string(), revision: z.number().int().positive(), observed_at: ourTime };

/**
 * An item is written with all of its entries, so a field that only a newer version knows must come back from it: entries,
 * and what is inside of them, are loose objects.
 */
const commandOrigin = z.looseObject({ client_id: z.string(), request_id: z.string() });

/** Entries as they are stored; each is parsed by itself. */
const storedEntries = z.array(z.record(z.string(), z.custom<Attribute>())).default([]);

const operationEntry = z.discriminatedUnion('type', [
  z.looseObject({
    ...entryBase,
    type: z.literal('state_changed'),
    sequence: z.number().int().positive(),
    previous_status: z.string().nullable(),
    status: z.string(),
    failures_count: z.number(),
    new_failures: z.number(),
    operation_updated_at: z.string(),
    total_duration_ms: z.number().optional(),
    error: z.string().optional(),
    observed_by: z.enum(['poll', 'command', 'backfill', 'sweep']),
    late: z.literal(true).optional(),
    irregular: z.literal(true).optional(),
    command: commandOrigin.optional(),
  }),
  z.looseObject({
    ...entryBase,
    type: z.literal('operation_stalled'),
    status: z.string(),
    failures_count: z.number(),
    open_ms: z.number(),
    threshold_ms: z.number(),
  }),
  z.looseObject({
    ...entryBase,
    type: z.literal('watch_ended'),
    reason: z.enum(['vanished', 'not_retried']),
    status: z.string(),
    failures_count: z.number(),
  }),
]);

const journal = {
  revision: z.number().int().nonnegative().default(0),
  published: z.number().int().nonnegative().default(0),
};

/** Of ours, always normalised: one that is not would be compared wrongly with all that are. */
const timestamp = z.custom<Timestamp>(
  (text) => typeof text === 'string' && normaliseTimestamp(text) === text,
);

const operationItem = z.object({
  kind: z.literal('operation'),
  ...journal,
  entries: storedEntries,
  account_id: z.string(),
  project_id: z.string(),
  operation_id: z.string(),
  action: z.string(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  created_at: z.string(),
  updated_at: z.string(),
  status: z.string(),
  failures_count: z.number(),
  sequence: z.number().int().nonnegative(),
  status_observed_at: z.string(),
  watch_ended: z.boolean().default(false),
  command: commandOrigin.optional(),
  stalled_threshold_ms: z.number().optional(),
});

const projectEntry = z.looseObject({
  ...entryBase,
  type: z.enum(['project_discovered', 'project_unreachable']),
});

const projectItem = z.object({
  kind: z.literal('project'),
  ...journal,
  entries: storedEntries,
  account_id: z.string(),
  project_id: z.string(),
  is_visible: z.boolean().default(true),
  is_unread: z.boolean().optional(),
  watermark: timestamp.optional(),
  resume: z.object({ head: timestamp, cursor: z.string() }).optional(),
  swept_at_ms: z.number().optional(),
  arrivals: z
    .object({ count: z.number().nonnegative(), observed_ms: z.number().positive() })
    .optional()
    .catch(undefined),
});

const accountEntry = z.looseObject({
  ...entryBase,
  type: z.enum(['account_degraded', 'account_recovered']),
  reason: z.enum(['key_rejected', 'upstream_failing']),
});

const accountItem = z.object({
  kind: z.literal('account'),
  ...journal,
  entries: storedEntries,
  account_id: z.string(),
  boot_at: timestamp,
  is_listed: z.boolean(),
  degraded_reason: z.enum(['key_rejected', 'upstream_failing']).optional(),
});

const commandOperation = z.looseObject({
  operation_id: z.string(),
  action: z.string(),
  status: z.string(),
  failures_count: z.number(),
});

const commandEntry = z.looseObject({
  ...entryBase,
  type: z.literal('command_settled'),
  outcome: z.enum(['succeeded', 'failed', 'incomplete']),
  operations: z.array(commandOperation),
  missing: z.array(z.string()),
});

const commandItem = z.object({
  kind: z.literal('command'),
  ...journal,
  entries: storedEntries,
  account_id: z.string(),
  project_id: z.string(),
  request_id: z.string(),
  client_id: z.string(),
  call: z.string(),
  operation_ids: z.array(z.string()),
  sent_at: z.string(),
  deadline_at_ms: z.number(),
  is_settled: z.boolean(),
});

/** Names of the attributes of each kind of record. */
export const RECORD_ATTRIBUTES = {
  operation: Object.keys(operationItem.shape),
  project: Object.keys(projectItem.shape),
  account: Object.keys(accountItem.shape),
  command: Object.keys(commandItem.shape),
} as const satisfies Record<JournalRecord['kind'], readonly string[]>;

const recordItem = z.discriminatedUnion('kind', [operationItem, projectItem, accountItem, commandItem]);

/** What an item says, and what of it does not parse. `record` undefined: the item as a whole cannot be read. */
export interface ParsedItem<R extends JournalRecord = JournalRecord> {
  readonly record: R | undefined;
  /** Undefined: nothing is at fault. */
  readonly unreadable: UnreadableItem | undefined;
}

/** The records of those items that can be read, and the items that cannot, wholly or in part. */
export interface ParsedItems<R extends JournalRecord = JournalRecord> {
  readonly records: readonly R[];
  readonly unreadable: readonly UnreadableItem[];
}

export type RecordOf<K extends JournalRecord['kind']> = Extract<JournalRecord, { kind: K }>;

export function parseRecord(item: Item): ParsedItem {
  const { record, faults } = recordIn(item);
  if (faults.length === 0) return { record, unreadable: undefined };
  return { record, unreadable: { key: { pk: item.pk, sk: item.sk }, fields: faults } };
}

export function parseRecordOf<K extends JournalRecord['kind']>(kind: K, item: Item): ParsedItem<RecordOf<K>> {
  const { record, unreadable } = parseRecord(item);
  if (record === undefined || record.kind === kind) return { record: record as RecordOf<K>, unreadable };
  return { record: undefined, unreadable: { key: { pk: item.pk, sk: item.sk }, fields: ['kind'] } };
}

export function parseRecords(items: readonly Item[]): ParsedItems {
  return collect(items.map(parseRecord));
}

export function parseRecordsOf<K extends JournalRecord['kind']>(
  kind: K,
  items: readonly Item[],
): ParsedItems<RecordOf<K>> {
  return collect(items.map((item) => parseRecordOf(kind, item)));
}

function collect<R extends JournalRecord>(parsed: readonly ParsedItem<R>[]): ParsedItems<R> {
  return {
    records: parsed.flatMap(({ record }) => record ?? []),
    unreadable: parsed.flatMap(({ unreadable }) => unreadable ?? []),
  };
}

/** Since when the account is watched, and whether its projects were all listed once. */
export type AccountOrigin = Pick<AccountRecord, 'boot_at' | 'is_listed'>;

const origin = accountItem.pick({ kind: true, boot_at: true, is_listed: true });

/** It decides what is history: it is read by itself, so that a journal of another version does not hide it. */
export function originIn(item: Item): AccountOrigin | undefined {
  const { boot_at, is_listed } = origin.safeParse(item).data ?? {};
  return boot_at === undefined || is_listed === undefined ? undefined : { boot_at, is_listed };
}

interface Found<R> {
  readonly record: R | undefined;
  readonly faults: readonly string[];
}

function recordIn(item: Item): Found<JournalRecord> {
  const parsed = recordItem.safeParse(item);
  if (!parsed.success) return { record: undefined, faults: pathsOf(parsed.error) };
  const found = withEntries(parsed.data);
  // Whatever it says of itself, it would be written under another key.
  const isElsewhere =
    found.record !== undefined && (keyOf(found.record).pk !== item.pk || keyOf(found.record).sk !== item.sk);
  return isElsewhere ? { record: undefined, faults: ['an id that is not the one of the key'] } : found;
}

function withEntries(item: z.output<typeof recordItem>): Found<JournalRecord> {
  switch (item.kind) {
    case 'operation':
      return withJournal<OperationRecord>(item, operationEntry);
    case 'project':
      return withJournal<ProjectRecord>(item, projectEntry);
    case 'account':
      return withJournal<AccountRecord>(item, accountEntry);
    case 'command':
      return withJournal<CommandRecord>(item, commandEntry);
  }
}

type Stored = z.output<typeof storedEntries>[number];

/** An entry that cannot be read is kept as it is; a journal that is not whole makes the item unreadable. */
function withJournal<R extends JournalRecord>(
  item: Omit<R, 'entries' | 'foreign'> & { readonly entries: readonly Stored[] },
  schema: z.ZodType<R['entries'][number]>,
): Found<R> {
  const entries: R['entries'][number][] = [];
  const foreign: ForeignEntry[] = [];
  const faults: string[] = [];
  for (const [place, stored] of item.entries.entries()) {
    const fields = fromStored(stored);
    const parsed = schema.safeParse(fields);
    if (parsed.success) entries.push(parsed.data);
    else {
      foreign.push({ revision: Number(fields['revision']), stored });
      faults.push(...pathsOf(parsed.error).map((path) => `entries.${place}.${path}`));
    }
  }
  const journal = { revision: item.revision, published: item.published, entries, foreign };
  if (!isWhole(journal)) return { record: undefined, faults: [...faults, 'entries'] };
  const record = { ...item, entries, ...(foreign.length > 0 && { foreign }) };
  return { record: record as unknown as R, faults };
}

/** Nothing that is not published is missing, the newest entry is the last one, and every entry has a place of its own. */
function isWhole({ revision, published, entries, foreign = [] }: Journal<JournalEntry>): boolean {
  const found = new Set([...entries, ...foreign].map((entry) => entry.revision));
  if (found.size !== entries.length + foreign.length || published > revision) return false;
  if (found.size > 0 && Math.max(...found) !== revision) return false;
  for (let pending = published + 1; pending <= revision; pending++) if (!found.has(pending)) return false;
  return true;
}

function pathsOf(error: z.ZodError): readonly string[] {
  return error.issues.map(({ path }) => (path.length === 0 ? 'the item' : path.join('.')));
}

export function keyOf(record: JournalRecord): Key {
  switch (record.kind) {
    case 'operation':
      return operationKey(record.account_id, record.project_id, record.operation_id);
    case 'project':
      return projectKey(record.account_id, record.project_id);
    case 'account':
      return accountKey(record.account_id);
    case 'command':
      return commandKey(record.account_id, record.project_id, record.request_id);
  }
}

/** What a journal write sets. How far a project is read has writes of its own and is left alone here. */
export function attributesOf(record: JournalRecord): Record<string, Attribute | undefined> {
  const { entries, foreign = [], ...fields } = record;
  const attributes: Record<string, unknown> = { ...fields };
  if (entries.length > 0) {
    attributes['entries'] = [
      ...entries.map((entry) => ({ revision: entry.revision, stored: toStored(entry) })),
      ...foreign,
    ]
      .toSorted((a, b) => a.revision - b.revision)
      .map(({ stored }) => stored);
    // The latest, whichever machine's clock said it: an item moves forward in the feed only.
    attributes[FEED_INDEX.sortKey] = entries
      .map(({ observed_at }) => observed_at)
      .reduce((a, b) => (a > b ? a : b));
  }
  if (record.kind === 'project')
    Object.assign(attributes, listed(projectsListOf(record.account_id), record.project_id));
  for (const name of ['watermark', 'resume', 'swept_at_ms', 'arrivals']) delete attributes[name];
  return attributes as Record<string, Attribute | undefined>;
}

/** A place in the list index. */
export function listed(list: string, order: string): Record<string, string> {
  return { [LIST_INDEX.partitionKey]: list, [LIST_INDEX.sortKey]: order };
}
