/** Keeps the journal of a record: its numbered entries, each of which becomes one event with an id of its own, how many of them the bus has acknowledged, and which go to the bus in which call. */

import { createHash } from 'node:crypto';
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

/** Says whether the bus has not acknowledged every entry. */
export function isPending({ published, revision }: Journal): boolean {
  return published < revision;
}

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

const RECIPE_VERSION = 'v2';
const ID_HEX_DIGITS = 32;

/** Returns 128 bits of SHA-256 over the parts, as hex. The version of this recipe is hashed, too. */
export function hashOf(parts: readonly unknown[]): string {
  const text = JSON.stringify([RECIPE_VERSION, ...parts]);
  return createHash('sha256').update(text).digest('hex').slice(0, ID_HEX_DIGITS);
}

/** Returns the entry with the id of its event. `identity` names the record of the entry. */
export function withEventId<Entry extends { readonly type: string }>(
  identity: readonly string[],
  entry: Entry,
): Entry & { readonly id: string } {
  return { ...entry, id: hashOf([...identity, entry]) };
}

/** One PutEvents call takes at most this many entries (Amazon EventBridge User Guide, "PutEvents"). */
export const BATCH_ENTRIES_MAX = 10;

/** This is well below 256 KB, the total that was documented for years. It is 1 MB now, but perhaps not in every region. */
export const BATCH_BYTES_MAX = 200_000;

export interface Sized {
  readonly sizeBytes: number;
}

/** Says what became of one entry. Sending it again helps after `retry` and not after `refused`. */
export type EntryOutcome =
  /** The bus names its copy of the event by the id, in its log and to its targets. */
  | { readonly kind: 'accepted'; readonly eventId?: string | undefined }
  | { readonly kind: 'retry'; readonly code: string }
  | { readonly kind: 'refused'; readonly code: string };

/**
 * Sorts entries into calls, in order, with as few calls as the limits allow. An entry over the byte limit gets a call
 * of its own.
 */
export function planBatches<Entry extends Sized>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const batches: Entry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const batch = batches.at(-1);
    const fits =
      batch !== undefined && batch.length < BATCH_ENTRIES_MAX && bytes + entry.sizeBytes <= BATCH_BYTES_MAX;
    if (fits) batch.push(entry);
    else batches.push([entry]);
    bytes = fits ? bytes + entry.sizeBytes : entry.sizeBytes;
  }
  return batches;
}

/**
 * Groups records whose pending entries fit into one call, in order. All entries of a record are in one group, so that
 * groups may be published concurrently while the entries of each record keep their order.
 */
export function groupForRelay<R extends Journal>(records: readonly R[]): readonly (readonly R[])[] {
  const groups: { readonly records: R[]; count: number }[] = [];
  for (const record of records) {
    const { length: count } = pendingEntries<JournalEntry>(record);
    const group = groups.at(-1);
    if (group !== undefined && group.count + count <= BATCH_ENTRIES_MAX) {
      group.records.push(record);
      group.count += count;
    } else groups.push({ records: [record], count });
  }
  return groups.map(({ records: members }) => members);
}

/** Sorts records by their oldest entries that are not acknowledged. */
export function oldestFirst<R extends Journal>(records: readonly R[]): readonly R[] {
  const timed = records.map((record) => ({ record, atMs: oldestPendingMs([record]) ?? 0 }));
  return timed.toSorted((a, b) => a.atMs - b.atMs).map(({ record }) => record);
}

/**
 * Returns when the oldest entry that is not acknowledged was recorded, in milliseconds since the epoch, or undefined
 * when there is none.
 */
export function oldestPendingMs(records: readonly Journal[]): number | undefined {
  const times = records.flatMap((record) => pendingEntries<JournalEntry>(record)[0]?.observed_at ?? []);
  const [first, ...rest] = times.map((time) => Date.parse(time));
  return first === undefined ? undefined : rest.reduce((oldest, time) => Math.min(oldest, time), first);
}

export interface AcknowledgementPlan {
  /** The bus refused these entries for good. They are parked before anything is acknowledged. */
  readonly park: readonly { readonly entry: JournalEntry; readonly code: string }[];
  /** The journal is acknowledged up to this revision. It is undefined when the first entry must be sent again. */
  readonly through: number | undefined;
}

/**
 * Decides what to park and how far to acknowledge. Nothing behind the first entry that must be sent again is
 * acknowledged: `published` is one number, so acknowledging more would lose that entry.
 */
export function planAcknowledgement(
  sent: readonly { readonly entry: JournalEntry; readonly outcome: EntryOutcome }[],
): AcknowledgementPlan {
  const firstRetry = sent.findIndex(({ outcome }) => outcome.kind === 'retry');
  const prefix = firstRetry === -1 ? sent : sent.slice(0, firstRetry);
  return {
    park: prefix.flatMap(({ entry, outcome }) =>
      outcome.kind === 'refused' ? [{ entry, code: outcome.code }] : [],
    ),
    through: prefix.at(-1)?.entry.revision,
  };
}
