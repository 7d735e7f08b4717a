/**
 * Keeps the journal of a record: its numbered entries, each of which becomes one event, and how many of them the bus
 * has acknowledged.
 */

import type { JournalEntry } from './journal-entries.ts';

/**
 * Every record has a journal. `revision` is the number of entries ever recorded, and the bus has acknowledged the
 * first `published` of them. The newest entries are kept, acknowledged or not, as the record's history and the feed
 * of recent events.
 */
export interface Journal<Entry extends JournalEntry = JournalEntry> {
  readonly revision: number;
  readonly published: number;
  /**
   * The entries stand in the order of their revisions, the last one being `revision`. Where one is missing, `foreign`
   * has it.
   */
  readonly entries: readonly Entry[];
  /**
   * This version cannot read these entries, because a newer version wrote them or they are damaged. It is absent when
   * there are none.
   */
  readonly foreign?: readonly ForeignEntry[] | undefined;
}

/** An entry that cannot be read stays in the item unchanged, and no entry behind it is published before it is. */
export interface ForeignEntry {
  readonly revision: number;
  readonly stored: Readonly<Record<string, unknown>>;
}

/**
 * At most this many entries are kept once they are acknowledged. A usual operation has three or four. One that fails
 * and is retried for days must not outgrow its item.
 */
export const HISTORY_ENTRIES_MAX = 32;

/**
 * At most this many entries wait for the bus. At this bound nothing more of the record is recorded until the bus has
 * taken entries; then the state of that time follows as one more entry, so the chain has no gap. Without the bound,
 * an operation that fails and is retried for days during an outage of the bus would reach the largest item that
 * DynamoDB takes (400 KB), and every write is billed by the size of its item. An entry with the longest texts has
 * less than 3 KB, so an item stays under 200 KB.
 */
export const PENDING_ENTRIES_MAX = 64;

/** Says whether nothing may be appended before entries are acknowledged. */
export function isJournalFull(journal: Journal): boolean {
  return journal.revision - journal.published >= PENDING_ENTRIES_MAX;
}

/**
 * Returns the entries that can be published now. Those behind an entry that cannot be read wait for a version that
 * can read it.
 */
export function pendingEntries<Entry extends JournalEntry>(journal: Journal<Entry>): readonly Entry[] {
  return entriesAfter(journal, journal.published);
}

/** Returns the entries behind a revision, and none behind one that cannot be read. */
export function entriesAfter<Entry extends JournalEntry>(
  { entries, foreign = [] }: Journal<Entry>,
  through: number,
): readonly Entry[] {
  const waiting = foreign.map(({ revision }) => revision).filter((revision) => revision > through);
  const before = Math.min(...waiting, Number.POSITIVE_INFINITY);
  return entries.filter(({ revision }) => revision > through && revision < before);
}

/** Returns the journal with one more entry. Only acknowledged entries are dropped for their age. */
export function append<Entry extends JournalEntry>(
  journal: Journal<Entry>,
  entry: Entry,
  entriesMax = HISTORY_ENTRIES_MAX,
): Journal<Entry> {
  const { published } = journal;
  const keptFrom = Math.min(published + 1, entry.revision - entriesMax + 1);
  const kept = journal.entries.filter(({ revision }) => revision >= keptFrom);
  const foreign = journal.foreign?.filter(({ revision }) => revision >= keptFrom);
  const entries = [...kept, entry];
  return { revision: entry.revision, published, entries, ...(foreign?.length && { foreign }) };
}

export const EMPTY_JOURNAL: Journal<never> = { revision: 0, published: 0, entries: [] };
