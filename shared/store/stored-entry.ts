/**
 * Converts journal entries to and from the form in which they are stored. An operation's item holds all of its entries, and a
 * write is billed by the started kilobyte of the whole item. Short names keep the usual operation within one kilobyte, which the
 * test of the steady state measures.
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

/** Nearly every entry has these values, so they are not stored. */
const DEFAULTS = { type: 'state_changed', failures_count: 0, new_failures: 0 } as const;

/** Which entries have these fields: a copy of an event that was read from the table says no more than the first copy did. */
const DEFAULTED_FIELDS: Readonly<Record<string, readonly (keyof typeof DEFAULTS)[]>> = {
  state_changed: ['failures_count', 'new_failures'],
  operation_stalled: ['failures_count'],
  watch_ended: ['failures_count'],
};

type Stored = Readonly<Record<string, Attribute | undefined>>;

/** Stores times of our own clock as milliseconds, which take a third of the bytes and lose nothing. */
export function toStored(entry: JournalEntry): Stored {
  const stored: Record<string, Attribute | undefined> = {};
  for (const [name, value] of Object.entries(entry) as [string, Attribute | undefined][]) {
    if (DEFAULTS[name as keyof typeof DEFAULTS] === value) continue;
    stored[SHORT_NAMES[name] ?? name] = name === 'observed_at' ? Date.parse(entry.observed_at) : value;
  }
  return stored;
}

/** The entry's fields by their long names, not yet parsed. */
export function fromStored(stored: Stored): Record<string, unknown> {
  const entry: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(stored)) entry[LONG_NAMES.get(name) ?? name] = value;
  const observedAt = entry['observed_at'];
  if (isEpochMs(observedAt)) entry['observed_at'] = isoTimeOf(observedAt);
  const { type = DEFAULTS.type } = entry;
  const missing = (DEFAULTED_FIELDS[String(type)] ?? []).filter((name) => !(name in entry));
  return { ...entry, type, ...Object.fromEntries(missing.map((name) => [name, DEFAULTS[name]])) };
}

/** Any other number stays a number, so that the entry does not parse. */
function isEpochMs(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime());
}
