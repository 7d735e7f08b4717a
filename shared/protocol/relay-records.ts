/**
 * Publishes recorded entries, derives from them what they say of branches and computes, and acknowledges both. A
 * ledger remembers what one process is publishing and what it acknowledged lately, so that its polls and its relay
 * publish nothing twice.
 */

import { BUS_RESTS, type EventBus } from '../events/event-bus.ts';
import { renderEvent } from '../events/render-event.ts';
import {
  type AcknowledgementPlan,
  groupForRelay,
  pendingEntries,
  planAcknowledgement,
} from '../records/journal.ts';
import type { JournalEntry } from '../records/journal-entries.ts';
import { type Acknowledged, acknowledged, isBehind, type JournalRecord } from '../records/journal-record.ts';
import { derivedThrough, isUnderived, type OperationRecord } from '../records/operation-record.ts';
import { forEachConcurrently } from '../runtime/concurrency.ts';
import { toError } from '../runtime/errors.ts';
import { keyOf } from '../store/items.ts';
import { keyText } from '../store/table.ts';
import { type DeriveDeps, recordDerived } from './record-derived.ts';

/**
 * At most this many acknowledgements are remembered. They take about a minute, and a poll takes seconds, so no loop
 * still holds a record that it read before the oldest of them.
 */
const ACKNOWLEDGED_MAX = 10_000;

/** Of more records than this, those that were tried first count as new. */
const TRIED_MAX = 10_000;

/**
 * Creates the ledger of one invocation. A longer memory would be wrong after the table is restored to an earlier
 * point: entries that are unpublished again would be held back. `tried` is kept for longer, since it decides nothing but an order.
 */
export function createRelayLedger(tried: Set<string> = new Set()) {
  const claimed = new Set<string>();
  const countedOf = new Map<string, Acknowledged>();
  return {
    /** Returns the record with everything that this process has acknowledged since the record was read. */
    asKnown<R extends JournalRecord>(record: R): R {
      const known = countedOf.get(idOf(record));
      const through = Math.min(known?.through ?? 0, record.revision);
      if (known === undefined || through <= record.published) return record;
      return acknowledged(record, { through, derived: Math.min(known.derived, through) });
    },
    /** Returns `false` when another loop of this process is publishing this record's entries and will acknowledge them. */
    claim(record: JournalRecord): boolean {
      const id = idOf(record);
      if (claimed.has(id)) return false;
      claimed.add(id);
      return true;
    },
    /** Notes that the bus was sent entries of the record and did not say that it took them. It may have taken them. */
    noteTried(record: JournalRecord): void {
      tried.add(idOf(record));
      const [oldest] = tried;
      if (tried.size > TRIED_MAX && oldest !== undefined) tried.delete(oldest);
    },
    wasTried: (record: JournalRecord) => tried.has(idOf(record)),
    release: (record: JournalRecord) => void claimed.delete(idOf(record)),
    noteAcknowledged(record: JournalRecord, counted: Acknowledged): void {
      const id = idOf(record);
      const { through = 0, derived = 0 } = countedOf.get(id) ?? {};
      // Deleting the key first keeps the map in the order of the latest acknowledgements.
      countedOf.delete(id);
      countedOf.set(id, {
        through: Math.max(through, counted.through),
        derived: Math.max(derived, counted.derived),
      });
      if (counted.through >= record.revision) tried.delete(id);
      const [oldest] = countedOf.keys();
      if (countedOf.size > ACKNOWLEDGED_MAX && oldest !== undefined) countedOf.delete(oldest);
    },
  };
}

type RelayLedger = ReturnType<typeof createRelayLedger>;

export interface RelayDeps extends DeriveDeps {
  readonly bus: EventBus;
  /** Everything in this process that publishes shares this ledger. It is undefined when nothing else publishes. */
  readonly ledger?: RelayLedger | undefined;
  /** It is called with each entry that the bus has accepted and that is acknowledged. */
  readonly onPublished?: ((entry: JournalEntry) => void) | undefined;
}

export interface RelayReport {
  readonly publishedCount: number;
  /** The next run has to send this many entries again. */
  readonly unpublishedCount: number;
  readonly parkedCount: number;
  /** The next run has to derive from this many operations once more, although they are published. */
  readonly underivedCount: number;
  /** These are the given records and those that derive from them, as they are now known to be stored. */
  readonly records: readonly JournalRecord[];
}

/**
 * One relay has at most this many calls of the bus under way at once. They are acknowledged before the next ones start. A
 * kill therefore repeats at most forty entries, and after the stop signal only these calls and their acknowledgements are
 * left.
 */
export const PUBLISH_CALLS_AT_ONCE = 4;

/** Says what became of one record in this relay. */
interface Relayed {
  /** The record is now known to be stored like this. */
  readonly record: JournalRecord;
  readonly publishedCount: number;
  readonly unpublishedCount: number;
  readonly parkedCount: number;
}

/** The bus was sent the entries of a record, and this is to be done about its answers. */
interface Sent extends AcknowledgementPlan {
  readonly record: JournalRecord;
  readonly acceptedEntries: readonly JournalEntry[];
  readonly sentCount: number;
}

type Deps = RelayDeps & { readonly ledger: RelayLedger };

/**
 * `records` must have been read from the store or just written to it, because nothing may be published that is not
 * stored. `around` are further operations that are known to be stored: they show what was started together. Once
 * `signal` is aborted, only the first calls go out, which is enough for what a poll has just recorded, and nothing more is
 * derived; the next invocation does the rest.
 */
export async function relayRecords(
  relayDeps: RelayDeps,
  records: readonly JournalRecord[],
  signal?: AbortSignal,
  around: readonly OperationRecord[] = [],
): Promise<RelayReport> {
  const deps: Deps = { ...relayDeps, ledger: relayDeps.ledger ?? createRelayLedger() };
  const given = records.map((record) => deps.ledger.asKnown(record));
  const relayed = given.filter((record) => !isBehind(record)).map(untouched);
  for (const [place, slice] of slicesOf(deps, given).entries()) {
    if (place > 0 && signal?.aborted) relayed.push(...slice.flat().map(untouched));
    else relayed.push(...(await relaySlice(deps, slice, [...around, ...operationsIn(given)], signal)));
  }
  return report(relayed);
}

/** Each slice is as many calls as are under way at once. What the bus may have taken already comes last. */
function slicesOf({ ledger }: Deps, records: readonly JournalRecord[]): readonly JournalRecord[][][] {
  const isTried = (record: JournalRecord) => Number(ledger.wasTried(record));
  const groups = groupForRelay(records.filter(isBehind).toSorted((a, b) => isTried(a) - isTried(b)));
  const slices: JournalRecord[][][] = [];
  for (let place = 0; place < groups.length; place += PUBLISH_CALLS_AT_ONCE)
    slices.push(groups.slice(place, place + PUBLISH_CALLS_AT_ONCE).map((group) => [...group]));
  return slices;
}

/** Records that another loop of this process is publishing are left to it. */
async function relaySlice(
  deps: Deps,
  groups: readonly (readonly JournalRecord[])[],
  around: readonly OperationRecord[],
  signal: AbortSignal | undefined,
): Promise<readonly Relayed[]> {
  const claimed = groups.map((group) => group.filter((record) => deps.ledger.claim(record)));
  const mine = new Set(claimed.flat());
  const foreign = groups.flat().filter((record) => !mine.has(record));
  try {
    const sent = new Map<JournalRecord, Sent>();
    await forEachConcurrently(claimed, PUBLISH_CALLS_AT_ONCE, async (group) => {
      for (const each of await sendGroup(deps, group)) sent.set(each.record, each);
    });
    const derived = signal?.aborted ? undefined : await deriveFrom(deps, [...sent.values()], around, signal);
    const relayed = await Promise.all(
      [...sent.values()].map((each) => acknowledgeSent(deps, each, derived?.sure ?? new Set())),
    );
    return [...relayed, ...(derived?.relayed ?? []), ...foreign.map(leftToAnother)];
  } finally {
    for (const record of mine) deps.ledger.release(record);
  }
}

async function sendGroup(deps: Deps, group: readonly JournalRecord[]): Promise<readonly Sent[]> {
  const { ledger, bus } = deps;
  // The ledger is asked again, because another loop may have published the record while this group waited for its turn.
  const pending = group
    .map((record) => ledger.asKnown(record))
    .map((record) => ({ record, entries: pendingEntries<JournalEntry>(record) }));
  const items = pending.flatMap(({ record, entries }) =>
    entries.map((entry) => ({ record, entry, event: renderEvent(record, entry) })),
  );
  const outcomes = items.length === 0 ? [] : await bus.publish(items.map(({ event }) => event));
  const answered = items.map((item, index) => ({
    ...item,
    outcome: outcomes[index] ?? { kind: 'retry' as const, code: 'NoResult' },
  }));
  for (const { record, outcome } of answered)
    if (outcome.kind === 'retry' && outcome.code !== BUS_RESTS) ledger.noteTried(record);
  return pending.map(({ record }) => {
    const own = answered.filter((item) => item.record === record);
    const accepted = own.filter(({ outcome }) => outcome.kind === 'accepted');
    const acceptedEntries = accepted.map(({ entry }) => entry);
    return { record, ...planAcknowledgement(own), acceptedEntries, sentCount: own.length };
  });
}

interface DerivedFrom {
  /** All that derives from these operations is published. */
  readonly sure: ReadonlySet<JournalRecord>;
  readonly relayed: readonly Relayed[];
}

/** Derives from the operations whose entries the bus has taken, and publishes what derives. An error holds back no event. */
async function deriveFrom(
  deps: Deps,
  sent: readonly Sent[],
  around: readonly OperationRecord[],
  signal: AbortSignal | undefined,
): Promise<DerivedFrom> {
  const ready = operationsIn(sent.filter(isWhollySent).map(({ record }) => record));
  const derived = await recordDerived(deps, ready, around, signal);
  const records = derived.flatMap(({ record }) => record ?? []);
  const relayed: Relayed[] = [];
  for (const slice of slicesOf(deps, records)) relayed.push(...(await relaySlice(deps, slice, [], signal)));
  // One that another loop is publishing may fail there.
  const behind = new Set(relayed.filter(({ record }) => isBehind(record)).map(({ record }) => idOf(record)));
  const unsure = derived.filter(
    ({ record, isSure }) => !isSure || (record !== undefined && behind.has(idOf(record))),
  );
  const waiting = new Set<JournalRecord>(unsure.flatMap(({ operations }) => operations));
  return { sure: new Set(ready.filter((operation) => !waiting.has(operation))), relayed };
}

function isWhollySent({ record, through = record.published }: Sent): boolean {
  return through === record.revision;
}

function operationsIn(records: readonly JournalRecord[]): readonly OperationRecord[] {
  return records.filter((record) => record.kind === 'operation');
}

/** Acknowledges one record. A failure delays no other record, and the work index brings this one back. */
async function acknowledgeSent(
  deps: Deps,
  { record, park, through = record.published, acceptedEntries, sentCount }: Sent,
  sure: ReadonlySet<JournalRecord>,
): Promise<Relayed> {
  const derived = record.kind !== 'operation' || sure.has(record) ? through : derivedThrough(record);
  const isNothingNew = through === record.published && derived <= derivedThrough(record);
  if (isNothingNew) return untouched(record);
  try {
    for (const { entry, code } of park) await parkEntry(deps, record, { entry, code });
    await deps.store.acknowledge(record, { through, derived });
    deps.ledger.noteAcknowledged(record, { through, derived });
    const passedCount = through - record.published;
    for (const entry of acceptedEntries) if (entry.revision <= through) deps.onPublished?.(entry);
    return {
      record: acknowledged(record, { through, derived }),
      parkedCount: park.length,
      publishedCount: passedCount - park.length,
      unpublishedCount: sentCount - passedCount,
    };
  } catch (error) {
    deps.telemetry.log('warn', 'acknowledgement.unknown', { reason: toError(error).name });
    return untouched(record);
  }
}

function untouched(record: JournalRecord): Relayed {
  const unpublishedCount = pendingEntries<JournalEntry>(record).length;
  return { record, publishedCount: 0, unpublishedCount, parkedCount: 0 };
}

/** The record is left to another loop, which publishes it and counts its entries. */
function leftToAnother(record: JournalRecord): Relayed {
  return { record, publishedCount: 0, unpublishedCount: 0, parkedCount: 0 };
}

async function parkEntry(
  { store, telemetry }: RelayDeps,
  record: JournalRecord,
  { entry, code }: { entry: JournalEntry; code: string },
): Promise<void> {
  await store.park(record, { entry, code, event: JSON.stringify(renderEvent(record, entry)) });
  telemetry.log('error', 'event.parked', { event_id: entry.id, code });
  telemetry.measure('EventsParked', 1);
}

function report(relayed: readonly Relayed[]): RelayReport {
  const sumOf = (count: (each: Relayed) => number) => relayed.reduce((sum, each) => sum + count(each), 0);
  return {
    publishedCount: sumOf(({ publishedCount }) => publishedCount),
    unpublishedCount: sumOf(({ unpublishedCount }) => unpublishedCount),
    parkedCount: sumOf(({ parkedCount }) => parkedCount),
    underivedCount: operationsIn(relayed.map(({ record }) => record)).filter(isUnderived).length,
    records: relayed.map(({ record }) => record),
  };
}

function idOf(record: JournalRecord): string {
  return keyText(keyOf(record));
}
