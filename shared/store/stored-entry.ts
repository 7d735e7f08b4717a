/**
 * Journal entries as they lie in the table. An operation's item holds all of its entries, and a write is billed by the
 * started kilobyte of the whole item: short names keep the usual operation within one (measured by the steady state's test).
 */

import type { JournalEntry } from '../core/records/journal-entries.ts';
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
};

const LONG_NAMES = new Map(Object.entries(SHORT_NAMES).map(([long, short]) => [short, long]));

/** What nearly every entry says, and therefore none of them has to. */
const DEFAULTS = { type: 'state_changed', failures_count: 0, new_failures: 0 } as const;

type Stored = Readonly<Record<string, Attribute | undefined>>;

/** Times of our own clock as milliseconds: a third of the bytes, and nothing is lost. */
export function toStored(entry: JournalEntry): Stored {
  const stored: Record<string, Attribute | undefined> = {};
  for (const [name, value] of Object.entries(entry) as [string, Attribute | undefined][]) {
    if (DEFAULTS[name as keyof typeof DEFAULTS] === value) continue;
    stored[SHORT_NAMES[name] ?? name] = name === 'observed_at' ? Date.parse(entry.observed_at) : value;
  }
  return stored;
}

/** The entry's fields by their names, to be parsed. */
export function fromStored(stored: Stored): Record<string, unknown> {
  const entry: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(stored)) entry[LONG_NAMES.get(name) ?? name] = value;
  const observedAt = entry['observed_at'];
  if (isEpochMs(observedAt)) entry['observed_at'] = isoTimeOf(observedAt);
  const missing = Object.entries(DEFAULTS).filter(([name]) => !(name in entry));
  return { ...entry, ...Object.fromEntries(missing) };
}

/** A number that is no time stays a number, and does not parse. */
function isEpochMs(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime());
}
