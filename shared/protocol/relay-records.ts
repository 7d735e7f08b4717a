/** Publishes what is recorded and acknowledges what arrived; a crash anywhere in between sends the same again. */

import type { JournalEntry } from '../core/journal.ts';
import { pendingEntries } from '../core/journal.ts';
import { acknowledged, type JournalRecord } from '../core/journal-record.ts';
import { type EntryOutcome, planAcknowledgement } from '../core/relay-plan.ts';
import type { EventBus } from '../events/event-bus.ts';
import { type BusEvent, renderEvent } from '../events/render-event.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { BridgeStore } from '../store/bridge-store.ts';

export interface RelayDeps {
  readonly bus: EventBus;
  readonly store: Pick<BridgeStore, 'acknowledge' | 'park'>;
  readonly telemetry: Telemetry;
}

export interface RelayReport {
  readonly publishedCount: number;
  /** Entries that the next run has to send again. */
  readonly unpublishedCount: number;
  readonly parkedCount: number;
  /** The records as they are now known to be stored. */
  readonly records: readonly JournalRecord[];
}

interface Sent {
  readonly entry: JournalEntry;
  readonly event: BusEvent;
  readonly outcome: EntryOutcome;
}

/** `records` were read from the store or just written to it: nothing is published that is not stored. */
export async function relayRecords(deps: RelayDeps, records: readonly JournalRecord[]): Promise<RelayReport> {
  const pending = records.flatMap((record) =>
    pendingEntries<JournalEntry>(record).map((entry) => ({
      record,
      entry,
      event: renderEvent(record, entry),
    })),
  );
  if (pending.length === 0) return { publishedCount: 0, unpublishedCount: 0, parkedCount: 0, records };
  const outcomes = await deps.bus.publish(pending.map(({ event }) => event));
  const sentOf = Map.groupBy(
    pending.map((item, index) => ({
      ...item,
      outcome: outcomes[index] ?? { kind: 'retry', code: 'NoResult' },
    })),
    ({ record }) => record,
  );
  const after = await Promise.all(records.map((record) => settle(deps, record, sentOf.get(record) ?? [])));
  return report(pending.length, after);
}

/** One record's acknowledgement. A failure here delays nobody else: the index brings the record back. */
async function settle(deps: RelayDeps, record: JournalRecord, sent: readonly Sent[]) {
  const plan = planAcknowledgement(sent);
  try {
    for (const { entry, code } of plan.park) await parkEntry(deps, record, { entry, code });
    if (plan.through === undefined) return { record, parkedCount: 0, publishedCount: 0 };
    await deps.store.acknowledge(record, plan.through);
    const passed = sent.filter(({ entry }) => entry.revision <= (plan.through ?? 0)).length;
    const parkedCount = plan.park.length;
    return { record: acknowledged(record, plan.through), parkedCount, publishedCount: passed - parkedCount };
  } catch (error) {
    deps.telemetry.log('warn', 'acknowledgement.unknown', { reason: toError(error).name });
    return { record, parkedCount: 0, publishedCount: 0 };
  }
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

function report(
  sentCount: number,
  after: readonly { record: JournalRecord; parkedCount: number; publishedCount: number }[],
): RelayReport {
  const publishedCount = after.reduce((sum, { publishedCount: count }) => sum + count, 0);
  const parkedCount = after.reduce((sum, { parkedCount: count }) => sum + count, 0);
  return {
    publishedCount,
    parkedCount,
    unpublishedCount: sentCount - publishedCount - parkedCount,
    records: after.map(({ record }) => record),
  };
}
