/**
 * Converts journal entries to and from the form in which they are stored. An operation's item holds all of its
 * entries, and a write is billed by the started kilobyte of the whole item. Short names keep the usual operation
 * within one kilobyte, which the test of the steady state measures.
 */

import type { JournalEntry } from '../core/journal/journal-entries.ts';
import { isoTimeOf } from '../core/time/timestamp.ts';
import type { Attribute } from './table.ts';

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
