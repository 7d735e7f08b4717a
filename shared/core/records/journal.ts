/** The journal inside an item: what was told of it, and how much of that the bus has acknowledged. */

/** How a state came to be known. */
export type ObservedBy = 'poll' | 'command' | 'backfill' | 'sweep';

interface EntryBase {
  /** The event's id; all copies of the event carry it. */
  readonly id: string;
  /** Position in this item's journal, 1..n without gaps. */
  readonly revision: number;
  /** Our clock, ISO 8601. */
  readonly observed_at: string;
}

export interface StateChangedEntry extends EntryBase {
  readonly type: 'state_changed';
  readonly sequence: number;
  readonly previous_status: string | null;
  readonly status: string;
  readonly failures_count: number;
  readonly new_failures: number;
  readonly operation_updated_at: string;
  readonly total_duration_ms?: number | undefined;
  readonly error?: string | undefined;
  readonly observed_by: ObservedBy;
  readonly late?: true | undefined;
  readonly irregular?: true | undefined;
  readonly command?: CommandOrigin | undefined;
}

/** Which command through the bridge started an operation, and who sent it. */
export interface CommandOrigin {
  readonly client_id: string;
  readonly request_id: string;
}

export interface StalledEntry extends EntryBase {
  readonly type: 'operation_stalled';
  readonly status: string;
  readonly failures_count: number;
  /** Since the upstream created the operation. */
  readonly open_ms: number;
  /** The threshold that was passed; an operation is told once about each. */
  readonly threshold_ms: number;
}

export interface WatchEndedEntry extends EntryBase {
  readonly type: 'watch_ended';
  /** `vanished`: gone upstream while open. `not_retried`: failed, and no retry within the watch period. */
  readonly reason: 'vanished' | 'not_retried';
  readonly status: string;
  readonly failures_count: number;
}

export interface ProjectSeenEntry extends EntryBase {
  readonly type: 'project_discovered' | 'project_unreachable';
  /** Why it is out of reach. Absent in entries of the first version, which knew only `gone`, and at a discovery. */
  readonly reason?: 'gone' | 'not_read' | undefined;
}

export interface AccountHealthEntry extends EntryBase {
  readonly type: 'account_degraded' | 'account_recovered';
  readonly reason: 'key_rejected' | 'upstream_failing';
}

export interface CommandSettledEntry extends EntryBase {
  readonly type: 'command_settled';
  /** `incomplete`: the deadline passed first. */
  readonly outcome: 'succeeded' | 'failed' | 'incomplete';
  readonly operations: readonly CommandOperation[];
  /** Operations that had not ended at the deadline. */
  readonly missing: readonly string[];
}

/** What became of one operation of a command, as far as it is recorded. */
export interface CommandOperation {
  readonly operation_id: string;
  readonly action: string;
  readonly status: string;
  readonly failures_count: number;
}

export type OperationEntry = StateChangedEntry | WatchEndedEntry | StalledEntry;
export type JournalEntry = OperationEntry | ProjectSeenEntry | AccountHealthEntry | CommandSettledEntry;

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
