/** The journal inside an item: what was recorded of it, and how much of that the bus has acknowledged. */

import type { JournalEntry } from './journal-entries.ts';

/**
 * The part every journalled item shares: `revision` entries recorded, the first `published` of them acknowledged. The
 * newest are kept, acknowledged or not: they are the item's history and the feed of recent events.
 */
export interface Journal<Entry extends JournalEntry = JournalEntry> {
  readonly revision: number;
  readonly published: number;
  /** In the order of their revisions, up to `revision`; without gaps but for those that `foreign` holds. */
  readonly entries: readonly Entry[];
  /** Entries that this version cannot read, because a newer one wrote them or they are damaged. Absent: none. */
  readonly foreign?: readonly ForeignEntry[] | undefined;
}

/** It stays in the item exactly as it lies there, and nothing behind it is published before it is. */
export interface ForeignEntry {
  readonly revision: number;
  readonly stored: Readonly<Record<string, unknown>>;
}

/** An operation has three or four; one that fails and is retried for days must not outgrow its item. */
export const HISTORY_ENTRIES_MAX = 32;

/**
 * While the bus takes nothing, an operation that fails and is retried for days would grow to the largest item that DynamoDB
 * takes (400 KB), and every write is billed by the size of the item. At this bound nothing more is recorded of the item until
 * the bus has taken its entries; then the state of that time follows as one more entry, and the chain has no gap. An entry with
 * the longest texts has less than 3 KB, so an item stays under 200 KB.
 */
export const PENDING_ENTRIES_MAX = 64;

/** Nothing may be appended before entries are acknowledged. */
export function isJournalFull(journal: Journal): boolean {
  return journal.revision - journal.published >= PENDING_ENTRIES_MAX;
}

/** What can be published now. Behind an entry that cannot be read, the others wait for a version that can read it. */
export function pendingEntries<Entry extends JournalEntry>(journal: Journal<Entry>): readonly Entry[] {
  const { published, entries, foreign = [] } = journal;
  const waiting = foreign.map(({ revision }) => revision).filter((revision) => revision > published);
  const before = Math.min(...waiting, Number.POSITIVE_INFINITY);
  return entries.filter(({ revision }) => revision > published && revision < before);
}

/** The journal with one more entry. Too old is only what is acknowledged. */
export function append<Entry extends JournalEntry>(journal: Journal<Entry>, entry: Entry): Journal<Entry> {
  const { published } = journal;
  const keptFrom = Math.min(published + 1, entry.revision - HISTORY_ENTRIES_MAX + 1);
  const kept = journal.entries.filter(({ revision }) => revision >= keptFrom);
  const foreign = journal.foreign?.filter(({ revision }) => revision >= keptFrom);
  const entries = [...kept, entry];
  return { revision: entry.revision, published, entries, ...(foreign?.length && { foreign }) };
}

export const EMPTY_JOURNAL: Journal<never> = { revision: 0, published: 0, entries: [] };
