/** Publishes what is recorded and acknowledges what arrived; a crash anywhere in between sends the same again. */

import type { JournalEntry } from '../core/records/journal.ts';
import { pendingEntries } from '../core/records/journal.ts';
import { acknowledged, type JournalRecord } from '../core/records/journal-record.ts';
import { type EntryOutcome, groupForRelay, planAcknowledgement } from '../core/records/relay-plan.ts';
import type { EventBus } from '../events/event-bus.ts';
import { type BusEvent, renderEvent } from '../events/render-event.ts';
import { forEachConcurrently } from '../runtime/concurrency.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { BridgeStore } from '../store/bridge-store.ts';
import { createRelayLedger, type RelayLedger } from './relay-ledger.ts';

export interface RelayDeps {
  readonly bus: EventBus;
  readonly store: Pick<BridgeStore, 'acknowledge' | 'park'>;
  readonly telemetry: Telemetry;
  /** Shared by everything in this process that publishes; undefined: nothing else does. */
  readonly ledger?: RelayLedger | undefined;
}

export interface RelayReport {
  readonly publishedCount: number;
  /** Entries that the next run has to send again. */
  readonly unpublishedCount: number;
  readonly parkedCount: number;
  /** The records as they are now known to be stored. */
  readonly records: readonly JournalRecord[];
}

/**
 * Calls of the bus that one relay has under way at once. Each is acknowledged before its place is given to the next one, so a
 * kill repeats at most forty entries, and after the stop signal there is one call and one acknowledgement to wait for.
 */
export const PUBLISH_CALLS_AT_ONCE = 4;

interface Sent {
  readonly entry: JournalEntry;
  readonly event: BusEvent;
  readonly outcome: EntryOutcome;
}

interface Settled {
  /** As it is now known to be stored. */
  readonly record: JournalRecord;
  readonly publishedCount: number;
  readonly unpublishedCount: number;
  readonly parkedCount: number;
}

/**
 * `records` were read from the store or just written to it: nothing is published that is not stored. Once `signal` is aborted,
 * only the first calls go out: what a poll has just recorded leaves, and whatever is more is left to the next invocation.
 */
export async function relayRecords(
  deps: RelayDeps,
  records: readonly JournalRecord[],
  signal?: AbortSignal,
): Promise<RelayReport> {
  const { ledger = createRelayLedger() } = deps;
  const known = records.map((record) => ledger.asKnown(record));
  const after = new Map(known.map((record) => [record, untouched(record)]));
  const relay = async (group: readonly JournalRecord[]) => {
    for (const [record, settled] of await relayGroup({ ...deps, ledger }, group)) after.set(record, settled);
  };
  const groups = groupForRelay(known.filter((record) => record.published < record.revision));
  const [first, rest] = [groups.slice(0, PUBLISH_CALLS_AT_ONCE), groups.slice(PUBLISH_CALLS_AT_ONCE)];
  await forEachConcurrently(first, PUBLISH_CALLS_AT_ONCE, relay);
  await forEachConcurrently(rest, PUBLISH_CALLS_AT_ONCE, relay, signal);
  return report([...after.values()]);
}

type Relayed = readonly (readonly [JournalRecord, Settled])[];

/** Publishes the pending entries of a few records and acknowledges them. What somebody else is publishing is left to him. */
async function relayGroup(
  deps: RelayDeps & { readonly ledger: RelayLedger },
  group: readonly JournalRecord[],
): Promise<Relayed> {
  const { ledger } = deps;
  const claimed = group.filter((record) => ledger.claim(record));
  const foreign = group.filter((record) => !claimed.includes(record));
  const leftAlone = foreign.map((record) => [record, leftToAnother(record)] as const);
  if (claimed.length === 0) return leftAlone;
  try {
    // Asked again: while this group waited for its turn, somebody else may have published the record.
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
    const sentOf = Map.groupBy(sent, ({ record }) => record);
    const settled = await Promise.all(
      current.map((record) => settle(deps, record, sentOf.get(record) ?? [])),
    );
    return [
      ...claimed.map((record, place) => [record, settled[place] ?? untouched(record)] as const),
      ...leftAlone,
    ];
  } finally {
    for (const record of claimed) ledger.release(record);
  }
}

/** One record's acknowledgement. A failure here delays nobody else: the index brings the record back. */
async function settle(
  deps: RelayDeps & { readonly ledger: RelayLedger },
  record: JournalRecord,
  sent: readonly Sent[],
): Promise<Settled> {
  const plan = planAcknowledgement(sent);
  try {
    for (const { entry, code } of plan.park) await parkEntry(deps, record, { entry, code });
    const { through } = plan;
    if (through === undefined) return untouched(record);
    await deps.store.acknowledge(record, through);
    deps.ledger.noteAcknowledged(record, through);
    const passedCount = sent.filter(({ entry }) => entry.revision <= through).length;
    const parkedCount = plan.park.length;
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

function untouched(record: JournalRecord): Settled {
  const unpublishedCount = pendingEntries<JournalEntry>(record).length;
  return { record, publishedCount: 0, unpublishedCount, parkedCount: 0 };
}

/** Whoever publishes it counts it. */
function leftToAnother(record: JournalRecord): Settled {
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

function report(settled: readonly Settled[]): RelayReport {
  const sumOf = (count: (each: Settled) => number) => settled.reduce((sum, each) => sum + count(each), 0);
  return {
    publishedCount: sumOf(({ publishedCount }) => publishedCount),
    unpublishedCount: sumOf(({ unpublishedCount }) => unpublishedCount),
    parkedCount: sumOf(({ parkedCount }) => parkedCount),
    records: settled.map(({ record }) => record),
  };
}
