/** Decides which recorded entries go to the bus in which call, and which of them the answers acknowledge. */

import { type Journal, pendingEntries } from './journal.ts';
import type { JournalEntry } from './journal-entries.ts';

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
