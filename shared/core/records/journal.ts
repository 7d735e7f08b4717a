/** The journal of a record: its numbered entries, each of which becomes one event, and how many of them the bus has taken. */

/** How a state came to be known. */
export const OBSERVATIONS = ['poll', 'command', 'backfill', 'sweep'] as const;

export type ObservedBy = (typeof OBSERVATIONS)[number];

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

/** The command through the bridge that started an operation, and the client that sent it. */
export interface CommandOrigin {
  readonly client_id: string;
  readonly request_id: string;
}

export interface StalledEntry extends EntryBase {
  readonly type: 'operation_stalled';
  readonly status: string;
  readonly failures_count: number;
  /** Milliseconds since the upstream created the operation. */
  readonly open_ms: number;
  /** The threshold that was passed; each is published once per operation. */
  readonly threshold_ms: number;
}

/** `vanished`: gone upstream while open. `not_retried`: failed, and not retried within the watch period. */
export const WATCH_END_REASONS = ['vanished', 'not_retried'] as const;

export type WatchEndReason = (typeof WATCH_END_REASONS)[number];

interface WatchEndedEntry extends EntryBase {
  readonly type: 'watch_ended';
  readonly reason: WatchEndReason;
  readonly status: string;
  readonly failures_count: number;
}

/** `gone`: deleted, or no longer visible to the key. `not_read`: it may exist and has not been readable for long. */
export const UNREACHABLE_REASONS = ['gone', 'not_read'] as const;

export type UnreachableReason = (typeof UNREACHABLE_REASONS)[number];

export interface ProjectSeenEntry extends EntryBase {
  readonly type: 'project_discovered' | 'project_unreachable';
  /** Absent at a discovery, and in entries of the first version, which knew only `gone`. */
  readonly reason?: UnreachableReason | undefined;
}

export const DEGRADED_REASONS = ['key_rejected', 'upstream_failing'] as const;

export type DegradedReason = (typeof DEGRADED_REASONS)[number];

export interface AccountHealthEntry extends EntryBase {
  readonly type: 'account_degraded' | 'account_recovered';
  readonly reason: DegradedReason;
}

/** `incomplete`: the deadline passed before every operation of the command had ended. */
export const SETTLEMENT_OUTCOMES = ['succeeded', 'failed', 'incomplete'] as const;

export type SettlementOutcome = (typeof SETTLEMENT_OUTCOMES)[number];

export interface CommandSettledEntry extends EntryBase {
  readonly type: 'command_settled';
  readonly outcome: SettlementOutcome;
  readonly operations: readonly CommandOperation[];
  /** Operations that had not ended at the deadline. */
  readonly missing: readonly string[];
}

/** One operation of a command, as it was recorded when the command settled. */
export interface CommandOperation {
  readonly operation_id: string;
  readonly action: string;
  readonly status: string;
  readonly failures_count: number;
}

export type OperationEntry = StateChangedEntry | WatchEndedEntry | StalledEntry;
export type JournalEntry = OperationEntry | ProjectSeenEntry | AccountHealthEntry | CommandSettledEntry;

/**
 * What every record has: `revision` is the number of entries ever recorded, and the bus has acknowledged the first `published`
 * of them. The newest entries are kept, acknowledged or not, as the record's history and the feed of recent events.
 */
export interface Journal<Entry extends JournalEntry = JournalEntry> {
  readonly revision: number;
  readonly published: number;
  /** In the order of their revisions, the last one being `revision`. Where one is missing, `foreign` has it. */
  readonly entries: readonly Entry[];
  /** Entries that this version cannot read, because a newer version wrote them or they are damaged. Absent when there are none. */
  readonly foreign?: readonly ForeignEntry[] | undefined;
}

/** It stays in the item unchanged, and no entry behind it is published before it is. */
export interface ForeignEntry {
  readonly revision: number;
  readonly stored: Readonly<Record<string, unknown>>;
}

/**
 * Most entries that are kept once they are acknowledged. A usual operation has three or four; one that fails and is retried for
 * days must not outgrow its item.
 */
export const HISTORY_ENTRIES_MAX = 32;

/**
 * Most entries that wait for the bus. At this bound nothing more of the record is recorded until the bus has taken entries; then
 * the state of that time follows as one more entry, so the chain has no gap. Without the bound, an operation that fails and is
 * retried for days during an outage of the bus would reach the largest item that DynamoDB takes (400 KB), and every write is
 * billed by the size of its item. An entry with the longest texts has less than 3 KB, so an item stays under 200 KB.
 */
export const PENDING_ENTRIES_MAX = 64;

/** Whether nothing may be appended before entries are acknowledged. */
export function isJournalFull(journal: Journal): boolean {
  return journal.revision - journal.published >= PENDING_ENTRIES_MAX;
}

/** Entries that can be published now. Those behind an entry that cannot be read wait for a version that can read it. */
export function pendingEntries<Entry extends JournalEntry>(journal: Journal<Entry>): readonly Entry[] {
  const { published, entries, foreign = [] } = journal;
  const waiting = foreign.map(({ revision }) => revision).filter((revision) => revision > published);
  const before = Math.min(...waiting, Number.POSITIVE_INFINITY);
  return entries.filter(({ revision }) => revision > published && revision < before);
}

/** The journal with one more entry. Only acknowledged entries are dropped for their age. */
export function append<Entry extends JournalEntry>(journal: Journal<Entry>, entry: Entry): Journal<Entry> {
  const { published } = journal;
  const keptFrom = Math.min(published + 1, entry.revision - HISTORY_ENTRIES_MAX + 1);
  const kept = journal.entries.filter(({ revision }) => revision >= keptFrom);
  const foreign = journal.foreign?.filter(({ revision }) => revision >= keptFrom);
  const entries = [...kept, entry];
  return { revision: entry.revision, published, entries, ...(foreign?.length && { foreign }) };
}

export const EMPTY_JOURNAL: Journal<never> = { revision: 0, published: 0, entries: [] };
