/**
 * Defines the form of every record's item as it is read from the table, the attributes that a record writes, and the
 * form in which the entries of a journal are stored.
 */

import * as z from 'zod';
import { accountFields } from '../records/account-record.ts';
import { commandFields } from '../records/command-record.ts';
import { commandOrigin, type JournalEntry } from '../records/journal-entries.ts';
import { branchFields, computeFields, type JournalRecord } from '../records/journal-record.ts';
import { operationFields } from '../records/operation-record.ts';
import { projectFields } from '../records/project-record.ts';
import { isoTimeOf, timestamp } from '../records/time.ts';
import {
  accountKey,
  branchKey,
  commandKey,
  computeKey,
  operationKey,
  projectKey,
  projectsListOf,
} from './keys.ts';
import { type Attribute, FEED_INDEX, type Key, listed } from './table.ts';

const SHORT_NAMES: Readonly<Record<string, string>> = {
  type: 't',
  id: 'i',
  revision: 'r',
  observed_at: 'o',
  sequence: 'q',
  previous_status: 'p',
  status: 's',
  failures_count: 'f',
  new_failures: 'n',
  operation_updated_at: 'u',
  total_duration_ms: 'd',
  observed_by: 'b',
  operation_id: 'x',
  action: 'a',
  branch_id: 'h',
  state: 'v',
  previous_state: 'w',
  previous_duration_ms: 'l',
};

/** The second edition has kept a time for its repairs here, which is in no event. */
const REPAIR_FIELD = 'y';

const LONG_NAMES = new Map(Object.entries(SHORT_NAMES).map(([long, short]) => [short, long]));

/** An entry without a stored type has this type, as nearly every entry does. */
const DEFAULT_TYPE = 'state_changed';

/** These fields are 0 in nearly every entry of these types. A 0 is not stored and comes back when the entry is read. */
const ZERO_UNLESS_STORED: Readonly<Partial<Record<string, readonly string[]>>> = {
  [DEFAULT_TYPE]: ['failures_count', 'new_failures'],
  operation_stalled: ['failures_count'],
  watch_ended: ['failures_count'],
} satisfies Partial<Record<JournalEntry['type'], readonly string[]>>;

type Stored = Readonly<Record<string, Attribute | undefined>>;

/**
 * Stores times of our own clock as milliseconds, which take a third of the bytes and lose nothing.
 */
export function toStored(entry: JournalEntry): Stored {
  const stored: Record<string, Attribute | undefined> = {};
  const zeros = ZERO_UNLESS_STORED[entry.type] ?? [];
  for (const [name, value] of Object.entries(entry) as [string, Attribute | undefined][]) {
    const isImplied = name === 'type' ? value === DEFAULT_TYPE : value === 0 && zeros.includes(name);
    if (value === undefined || isImplied) continue;
    stored[SHORT_NAMES[name] ?? name] = name === 'observed_at' ? Date.parse(entry.observed_at) : value;
  }
  return stored;
}

/** Returns the entry's fields by their long names, not yet parsed. */
export function fromStored(stored: Stored): Record<string, unknown> {
  const fields: Record<string, unknown> = { type: DEFAULT_TYPE };
  for (const name of Object.keys(stored))
    if (name !== REPAIR_FIELD) fields[LONG_NAMES.get(name) ?? name] = stored[name];
  const observedAt = fields['observed_at'];
  if (isEpochMs(observedAt)) fields['observed_at'] = isoTimeOf(observedAt);
  for (const name of ZERO_UNLESS_STORED[String(fields['type'])] ?? [])
    if (!(name in fields)) fields[name] = 0;
  return fields;
}

/** The calendar of `Date` reaches this far before and after 1970 (ECMA-262, time values). */
const TIME_MS_MAX = 8.64e15;

/** Any other number stays a number, so that the entry does not parse. */
function isEpochMs(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= TIME_MS_MAX;
}

/** Entries are stored like this. Each is parsed separately (`parse-record.ts`), so only its being an object is checked here. */
export const storedEntries = z
  .array(z.custom<Readonly<Record<string, Attribute>>>(isPlainObject))
  .default([]);

function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const journalFields = {
  revision: z.number().int().nonnegative().default(0),
  published: z.number().int().nonnegative().default(0),
  entries: storedEntries,
};

/** It keeps what a newer version says of the command. */
const command = commandOrigin.loose().optional();

const operationItem = z.object({ ...journalFields, ...operationFields, command });
const projectItem = z.object({
  ...journalFields,
  ...projectFields,
  /** It is the bound. The second edition reads it after a roll-back. */
  watermark: timestamp.optional(),
  /** It equals the watermark once a walk of this edition has written both, and is `lowered` after a repair. */
  bound: z.string().optional(),
  /** It is `since`, by the name that the second edition gave it. */
  history_until: timestamp.optional(),
});
export const accountItem = z.object({ ...journalFields, ...accountFields });
const commandItem = z.object({ ...journalFields, ...commandFields });
const branchItem = z.object({ ...journalFields, ...branchFields, command });
const computeItem = z.object({
  ...journalFields,
  ...computeFields,
  /** An earlier edition, which runs beside this one during a deployment, writes here which operations have changed the compute. */
  applied: z.array(z.string()).optional(),
});

/** Each kind of record has these attributes. */
export const RECORD_ATTRIBUTES = {
  operation: Object.keys(operationItem.shape),
  project: Object.keys(projectItem.shape),
  account: Object.keys(accountItem.shape),
  command: Object.keys(commandItem.shape),
  branch: Object.keys(branchItem.shape),
  compute: Object.keys(computeItem.shape),
} as const satisfies Record<JournalRecord['kind'], readonly string[]>;

export const recordItem = z.discriminatedUnion('kind', [
  operationItem,
  projectItem,
  accountItem,
  commandItem,
  branchItem,
  computeItem,
]);

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
    case 'branch':
      return branchKey(record.account_id, record.project_id, record.branch_id);
    case 'compute':
      return computeKey(record.account_id, record.project_id, record.endpoint_id);
  }
}

/** The wish of another account for a project. Only that account and the answer to it write them. */
const WISH_ATTRIBUTES = ['wanted_by', 'wanted_at_ms', 'shared_at_ms'] as const;

/** These attributes say how far a project is read. Only the end of a poll and a repair write them. */
export const PROGRESS_ATTRIBUTES = [
  'watermark',
  'bound',
  'resume',
  'swept_at_ms',
  'sweep',
  'arrivals',
] as const;

/** A repair has lowered the watermark, and no walk has come to its end since. */
export const LOWERED = 'lowered';

type StoredProject = z.output<typeof projectItem>;

/** Returns the fields of a project's record, by the names that the protocol gives them. */
export function projectFieldsOf({ watermark, bound, history_until, ...item }: StoredProject) {
  const isLowered = bound === LOWERED;
  const isOfSecondEdition = watermark !== undefined && bound !== watermark && !isLowered;
  return {
    ...item,
    ...(watermark !== undefined && { bound: watermark }),
    ...(isLowered && { isLowered }),
    ...(isOfSecondEdition && { isOfSecondEdition }),
    ...(history_until !== undefined && { since: history_until }),
  };
}

/** Returns the attributes that a journal write sets. It leaves those alone that say how far a project is read. */
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
    // The latest of all entries counts, because machines' clocks differ and an item must only ever move forwards in
    // the feed.
    attributes[FEED_INDEX.sortKey] = entries
      .map(({ observed_at }) => observed_at)
      .reduce((a, b) => (a > b ? a : b));
  }
  if (record.kind === 'project') {
    Object.assign(attributes, listed(projectsListOf(record.account_id), record.project_id));
    attributes['history_until'] = record.since;
    delete attributes['since'];
    delete attributes['isOfSecondEdition'];
    delete attributes['isLowered'];
  }
  for (const name of [...PROGRESS_ATTRIBUTES, ...WISH_ATTRIBUTES]) delete attributes[name];
  return attributes as Record<string, Attribute | undefined>;
}
