/** Which recorded entries go to the bus in which call, and what the answers allow to acknowledge. */

import { type Journal, pendingEntries } from './journal.ts';
import type { JournalEntry } from './journal-entries.ts';

/** PutEvents takes ten entries a call (Amazon EventBridge User Guide, "PutEvents"). */
export const BATCH_ENTRIES_MAX = 10;

/** The documented total was 256 KB for years and is 1 MB now: well under the smaller one suits every region. */
export const BATCH_BYTES_MAX = 200_000;

export interface Sized {
  readonly sizeBytes: number;
}

/** What became of one entry. `refused` will not become better by sending it again. */
export type EntryOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'retry'; readonly code: string }
  | { readonly kind: 'refused'; readonly code: string };

/** In order, as few calls as the limits allow. An entry over the byte limit gets a call of its own. */
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
 * In order, groups of as many entries as one call takes. All entries of a record stand in one group, so that groups may be
 * published side by side while the entries of a record keep their order.
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

/** By the time of the oldest entry that is not acknowledged. */
export function oldestFirst<R extends Journal>(records: readonly R[]): readonly R[] {
  const timed = records.map((record) => ({ record, atMs: oldestPendingMs([record]) ?? 0 }));
  return timed.toSorted((a, b) => a.atMs - b.atMs).map(({ record }) => record);
}

/** When the oldest entry that is not acknowledged was recorded; undefined: there is none. */
export function oldestPendingMs(records: readonly Journal[]): number | undefined {
  const times = records.flatMap((record) => pendingEntries<JournalEntry>(record)[0]?.observed_at ?? []);
  const [first, ...rest] = times.map((time) => Date.parse(time));
  return first === undefined ? undefined : rest.reduce((oldest, time) => Math.min(oldest, time), first);
}

export interface AcknowledgementPlan {
  /** Set aside for a person before anything is acknowledged. */
  readonly park: readonly { readonly entry: JournalEntry; readonly code: string }[];
  /** The journal is acknowledged up to this revision; undefined when its first entry did not get through. */
  readonly through: number | undefined;
}

/**
 * Only the contiguous prefix counts: behind the first entry that must be sent again nothing is acknowledged,
 * so that a consumer never finds a hole that a later restart would not fill.
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
