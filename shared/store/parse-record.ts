/** Parses items into records, entry by entry, and keeps the fields and entries that only another version knows. */

import * as z from 'zod';
import type { AccountRecord } from '../records/account-record.ts';
import type { CommandRecord } from '../records/command-record.ts';
import type { ForeignEntry, Journal } from '../records/journal.ts';
import { entriesOf } from '../records/journal-entries.ts';
import type { BranchRecord, ComputeRecord, JournalRecord } from '../records/journal-record.ts';
import type { OperationRecord } from '../records/operation-record.ts';
import type { ProjectRecord } from '../records/project-record.ts';
import { accountItem, fromStored, keyOf, projectFieldsOf, recordItem, type storedEntries } from './items.ts';
import type { Item } from './table.ts';
import type { UnreadableItem } from './unreadable.ts';

/** Makes an object schema keep the fields that it does not know, also in the objects inside of it. */
function looseOf<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>): z.ZodObject<Shape> {
  const shape = Object.entries(schema.shape).map(([name, type]) => [name, looseInside(type as z.ZodType)]);
  return z.looseObject(Object.fromEntries(shape));
}

function looseInside(type: z.ZodType): z.ZodType {
  if (type instanceof z.ZodObject) return looseOf(type);
  if (type instanceof z.ZodOptional) return looseInside(type.unwrap() as z.ZodType).optional();
  if (type instanceof z.ZodArray) return z.array(looseInside(type.element as z.ZodType));
  return type;
}

/** An item is parsed into this. `record` is undefined when the item as a whole cannot be read. */
export interface ParsedItem<R extends JournalRecord = JournalRecord> {
  readonly record: R | undefined;
  /** Names the fields at fault. It is undefined when there are none. */
  readonly unreadable: UnreadableItem | undefined;
}

/** Holds the records of the items that can be read, and the items that cannot be read, wholly or in part. */
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

/** Says since when the account is watched, and whether its projects were all listed once. */
export type AccountOrigin = Pick<AccountRecord, 'boot_at' | 'is_listed'>;

const origin = accountItem.pick({ kind: true, boot_at: true, is_listed: true });

/**
 * Reads the fields that decide what is history. They are read separately, so that a journal of another version does
 * not hide them.
 */
export function originIn(item: Item): AccountOrigin | undefined {
  const { boot_at, is_listed } = origin.safeParse(item).data ?? {};
  return boot_at === undefined || is_listed === undefined ? undefined : { boot_at, is_listed };
}

/**
 * An item is written with all of its entries, so a field that only a newer version knows must survive. Entries, and
 * the objects inside of them, keep fields that their schema does not have.
 */
const looseEntryOf = {
  operation: looseEntry(entriesOf.operation),
  project: looseEntry(entriesOf.project),
  account: looseEntry(entriesOf.account),
  command: looseEntry(entriesOf.command),
  branch: looseEntry(entriesOf.branch),
  compute: looseEntry(entriesOf.compute),
};

function looseEntry<Schemas extends readonly z.ZodObject[]>(
  schemas: Schemas,
): z.ZodType<z.output<Schemas[number]>> {
  // A start builds none of these: most processes read entries of a few kinds only.
  return z.lazy(() => z.discriminatedUnion('type', schemas.map((schema) => looseOf(schema)) as never));
}

interface Found<R> {
  readonly record: R | undefined;
  readonly faults: readonly string[];
}

function recordIn(item: Item): Found<JournalRecord> {
  const parsed = recordItem.safeParse(item);
  if (!parsed.success) return { record: undefined, faults: pathsOf(parsed.error) };
  const found = withEntries(parsed.data);
  // A record whose ids differ from its key would be written to another item.
  const isElsewhere =
    found.record !== undefined && (keyOf(found.record).pk !== item.pk || keyOf(found.record).sk !== item.sk);
  return isElsewhere ? { record: undefined, faults: ['an id that is not the one of the key'] } : found;
}

function withEntries(item: z.output<typeof recordItem>): Found<JournalRecord> {
  switch (item.kind) {
    case 'operation':
      return withJournal<OperationRecord>(item, looseEntryOf.operation);
    case 'project':
      return withJournal<ProjectRecord>(projectFieldsOf(item), looseEntryOf.project);
    case 'account':
      return withJournal<AccountRecord>(item, looseEntryOf.account);
    case 'command':
      return withJournal<CommandRecord>(item, looseEntryOf.command);
    case 'branch':
      return withJournal<BranchRecord>(item, looseEntryOf.branch);
    case 'compute':
      return withJournal<ComputeRecord>(item, looseEntryOf.compute);
  }
}

type Stored = z.output<typeof storedEntries>[number];

/** An entry that cannot be read is kept as it is. A journal that is not whole makes the item unreadable. */
function withJournal<R extends JournalRecord>(
  item: Omit<R, 'entries' | 'foreign'> & { readonly entries: readonly Stored[] },
  schema: z.ZodType<R['entries'][number]>,
): Found<R> {
  const entries: R['entries'][number][] = [];
  const foreign: ForeignEntry[] = [];
  const faults: string[] = [];
  item.entries.forEach((stored, index) => {
    const fields = fromStored(stored);
    const parsed = schema.safeParse(fields);
    if (parsed.success) entries.push(parsed.data);
    else {
      foreign.push({ revision: Number(fields['revision']), stored });
      faults.push(...pathsOf(parsed.error).map((path) => `entries.${index}.${path}`));
    }
  });
  const { revision, published } = item;
  if (!isWhole({ revision, published, entries, foreign }))
    return { record: undefined, faults: [...faults, 'entries'] };
  const record = { ...item, entries, ...(foreign.length > 0 && { foreign }) };
  return { record: record as unknown as R, faults };
}

/**
 * Says whether no unpublished entry is missing, the newest entry is the last one, and no two entries have the same
 * revision.
 */
function isWhole({ revision, published, entries, foreign = [] }: Journal): boolean {
  const found = new Set<number>();
  for (const entry of entries) found.add(entry.revision);
  for (const entry of foreign) found.add(entry.revision);
  if (found.size !== entries.length + foreign.length || published > revision) return false;
  if (found.size > 0 && Math.max(...found) !== revision) return false;
  for (let pending = published + 1; pending <= revision; pending++) if (!found.has(pending)) return false;
  return true;
}

function pathsOf(error: z.ZodError): readonly string[] {
  return error.issues.map(({ path }) => (path.length === 0 ? 'the item' : path.join('.')));
}
