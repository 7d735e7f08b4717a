/**
 * Publishes recorded entries and acknowledges those that the bus took. After a crash in between, the next run sends
 * the same again.
 */

import { pendingEntries } from '../core/journal/journal.ts';
import type { JournalEntry } from '../core/journal/journal-entries.ts';
import { type EntryOutcome, groupForRelay, planAcknowledgement } from '../core/journal/relay-plan.ts';
import { acknowledged, type DerivedRecord, type JournalRecord } from '../core/records/journal-record.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import { BUS_RESTS, type EventBus } from '../events/event-bus.ts';
import { type BusEvent, renderEvent } from '../events/render-event.ts';
import { forEachConcurrently } from '../runtime/concurrency.ts';
import { toError } from '../runtime/errors.ts';
import type { RefusedEntry } from '../store/adapters/parked-events.ts';
import {
  type DeriveDeps,
  type Derived,
  type DerivedStore,
  recordDerived,
  underived,
} from './record-derived.ts';
import { createRelayLedger, type RelayLedger } from './relay-ledger.ts';

export interface RelayStore extends DerivedStore {
  /** Notes that the bus has taken every entry of the record up to revision `through`. */
  acknowledge(record: JournalRecord, through: number): Promise<void>;
  /** Keeps an entry that the bus refused, so that a person can decide about it. */
  park(record: JournalRecord, refused: RefusedEntry): Promise<void>;
}

export interface RelayDeps extends DeriveDeps {
  readonly bus: EventBus;
  readonly store: RelayStore;
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
  /** These are the given records and those that derive from them, as they are now known to be stored. */
  readonly records: readonly JournalRecord[];
}

/**
 * One relay has at most this many calls of the bus under way at once. A call is acknowledged before the next one
 * starts in its stead. A kill therefore repeats at most forty entries, and after the stop signal only one call and
 * its acknowledgement are left.
 */
export const PUBLISH_CALLS_AT_ONCE = 4;

/** One entry is kept with the bus's answer to it. */
interface Sent {
  readonly entry: JournalEntry;
  readonly event: BusEvent;
  readonly outcome: EntryOutcome;
}

/** Says what became of one record in this relay. */
interface RelayedRecord {
  /** The record is now known to be stored like this. */
  readonly record: JournalRecord;
  readonly publishedCount: number;
  readonly unpublishedCount: number;
  readonly parkedCount: number;
}

/**
 * `records` must have been read from the store or just written to it, because nothing may be published that is not stored.
 * What derives from operations among them is recorded and published first: an operation is published and acknowledged
 * only after that (ADR 0014). `around` are further operations that are known to be stored.
 * Once `signal` is aborted, nothing more is derived, and only the first `PUBLISH_CALLS_AT_ONCE` calls go out, which is enough for what a poll has just
 * recorded; the next invocation publishes the rest.
 */
export async function relayRecords(
  deps: RelayDeps,
  records: readonly JournalRecord[],
  signal?: AbortSignal,
  around: readonly OperationRecord[] = [],
): Promise<RelayReport> {
  const { ledger = createRelayLedger() } = deps;
  const given = records.map((record) => ledger.asKnown(record));
  const operations = given.filter((record) => record.kind === 'operation');
  const mustStop = isStopped(signal);
  const derived = mustStop ? underived(operations) : await recordDerived(deps, operations, around, signal);
  const events = derived.flatMap(({ record }) => record ?? []);
  const first = isStopped(signal) ? untouchedOf(events) : await relayAll({ ...deps, ledger }, events, signal);
  const withheld = withheldOf(derived, first);
  const ready = given.filter((record) => !withheld.has(record));
  // The stop signal came while something was derived or published, and the next invocation publishes the rest.
  const isOver = !mustStop && isStopped(signal);
  const second = isOver ? untouchedOf(ready) : await relayAll({ ...deps, ledger }, ready, signal);
  return report([...first.values(), ...second.values(), ...[...withheld].map(untouched)]);
}

function isStopped(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function untouchedOf(records: readonly JournalRecord[]): Map<JournalRecord, RelayedRecord> {
  return new Map(records.map((record) => [record, untouched(record)]));
}

/** An operation keeps its place in the work index until all that derives from it is published. */
function withheldOf(
  derived: readonly Derived[],
  relayed: ReadonlyMap<JournalRecord, RelayedRecord>,
): ReadonlySet<JournalRecord> {
  const isPublished = (record: DerivedRecord) => {
    const { published = 0, revision = 1 } = relayed.get(record)?.record ?? {};
    return published >= revision;
  };
  const waiting = derived.filter(
    ({ record, isSure }) => !isSure || (record !== undefined && !isPublished(record)),
  );
  return new Set(waiting.flatMap(({ operations }) => operations));
}

async function relayAll(
  deps: RelayDeps & { readonly ledger: RelayLedger },
  records: readonly JournalRecord[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<JournalRecord, RelayedRecord>> {
  const after = untouchedOf(records);
  const relay = async (group: readonly JournalRecord[]) => {
    for (const [record, relayed] of await relayGroup(deps, group)) after.set(record, relayed);
  };
  // What the bus may have taken already comes last, because it may be a copy.
  const pending = records.filter((record) => record.published < record.revision);
  const isTried = (record: JournalRecord) => Number(deps.ledger.wasTried(record));
  const groups = groupForRelay(pending.toSorted((a, b) => isTried(a) - isTried(b)));
  const [first, rest] = [groups.slice(0, PUBLISH_CALLS_AT_ONCE), groups.slice(PUBLISH_CALLS_AT_ONCE)];
  await forEachConcurrently(first, PUBLISH_CALLS_AT_ONCE, relay);
  await forEachConcurrently(rest, PUBLISH_CALLS_AT_ONCE, relay, signal);
  return after;
}

type RelayedGroup = readonly (readonly [JournalRecord, RelayedRecord])[];

/**
 * Publishes and acknowledges the pending entries of a few records. Records that another loop is publishing are left
 * to it.
 */
async function relayGroup(
  deps: RelayDeps & { readonly ledger: RelayLedger },
  group: readonly JournalRecord[],
): Promise<RelayedGroup> {
  const { ledger } = deps;
  const claimed = group.filter((record) => ledger.claim(record));
  const foreign = group.filter((record) => !claimed.includes(record));
  const leftAlone = foreign.map((record) => [record, leftToAnother(record)] as const);
  if (claimed.length === 0) return leftAlone;
  try {
    // The ledger is asked again, because another loop may have published the record while this group waited for its
    // turn.
    const current = claimed.map((record) => ledger.asKnown(record));
    const pending = current.flatMap((record) =>
      pendingEntries<JournalEntry>(record).map((entry) => ({
        record,
        entry,
        event: renderEvent(record, entry),
      })),
    );
    const outcomes = await deps.bus.publish(pending.map(({ event }) => event));
    const sent = pending.map((item, index) => ({
      ...item,
      outcome: outcomes[index] ?? { kind: 'retry' as const, code: 'NoResult' },
    }));
    for (const { record, outcome } of sent)
      if (outcome.kind === 'retry' && outcome.code !== BUS_RESTS) ledger.noteTried(record);
    const sentOf = Map.groupBy(sent, ({ record }) => record);
    const relayed = await Promise.all(
      current.map((record) => acknowledgeSent(deps, record, sentOf.get(record) ?? [])),
    );
    return [
      ...claimed.map((record, index) => [record, relayed[index] ?? untouched(record)] as const),
      ...leftAlone,
    ];
  } finally {
    for (const record of claimed) ledger.release(record);
  }
}

/** Acknowledges one record. A failure delays no other record, and the work index brings this one back. */
async function acknowledgeSent(
  deps: RelayDeps & { readonly ledger: RelayLedger },
  record: JournalRecord,
  sent: readonly Sent[],
): Promise<RelayedRecord> {
  const plan = planAcknowledgement(sent);
  try {
    for (const { entry, code } of plan.park) await parkEntry(deps, record, { entry, code });
    const { through } = plan;
    if (through === undefined) return untouched(record);
    await deps.store.acknowledge(record, through);
    deps.ledger.noteAcknowledged(record, through);
    const passed = sent.filter(({ entry }) => entry.revision <= through);
    const passedCount = passed.length;
    const parkedCount = plan.park.length;
    for (const { entry, outcome } of passed) if (outcome.kind === 'accepted') deps.onPublished?.(entry);
    return {
      record: acknowledged(record, through),
      parkedCount,
      publishedCount: passedCount - parkedCount,
      unpublishedCount: sent.length - passedCount,
    };
  } catch (error) {
    deps.telemetry.log('warn', 'acknowledgement.unknown', { reason: toError(error).name });
    return untouched(record);
  }
}

function untouched(record: JournalRecord): RelayedRecord {
  const unpublishedCount = pendingEntries<JournalEntry>(record).length;
  return { record, publishedCount: 0, unpublishedCount, parkedCount: 0 };
}

/** The record is left to another loop, which publishes it and counts its entries. */
function leftToAnother(record: JournalRecord): RelayedRecord {
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

function report(relayed: readonly RelayedRecord[]): RelayReport {
  const sumOf = (count: (each: RelayedRecord) => number) =>
    relayed.reduce((sum, each) => sum + count(each), 0);
  return {
    publishedCount: sumOf(({ publishedCount }) => publishedCount),
    unpublishedCount: sumOf(({ unpublishedCount }) => unpublishedCount),
    parkedCount: sumOf(({ parkedCount }) => parkedCount),
    records: relayed.map(({ record }) => record),
  };
}
