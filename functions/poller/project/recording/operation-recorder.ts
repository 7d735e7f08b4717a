/**
 * Records the operations of one poll, and remembers for the poll which records the table has. A poll records
 * operations in no other way.
 */

import type { Operation } from '../../../../shared/core/records/operation.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { type DurationSample, sampleOf } from '../../../../shared/insights/duration-sample.ts';
import { type CountedChange, changesOf } from '../../../../shared/insights/hour-counts.ts';
import type { OperationReader } from '../../../../shared/protocol/read-in-order.ts';
import {
  type RecordDeps,
  type RecordOutcome,
  recordOperation,
} from '../../../../shared/protocol/record-operation.ts';
import type { RecordWriter } from '../../../../shared/protocol/record-writer.ts';
import type { UpstreamClient } from '../../../../shared/upstream/upstream-client.ts';
import { type MeasureDeps, measureRecorded } from './measure-recorded.ts';
import {
  type Observer,
  type ReadingOptions,
  type ReadingProject,
  readingContextOf,
} from './reading-context.ts';

export interface RecorderDeps extends MeasureDeps {
  readonly upstream: Pick<UpstreamClient, 'getOperation'>;
  readonly store: { readonly accountId: string } & OperationReader & RecordWriter;
  readonly options: ReadingOptions;
  /** Takes what the operations took that have ended. It is undefined when nothing is kept of that. */
  readonly samples?: { take(sample: DurationSample): void } | undefined;
  /** Takes what recorded transitions add to the counts of their hours. It is undefined when nothing is counted. */
  readonly counts?: { take(change: CountedChange): void } | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OperationRecorder {
  /** These operations, by id, are known to be stored. Each was read before any later upstream read, or written after it. */
  readonly records: ReadonlyMap<string, OperationRecord>;
  /** Returns how many transitions were recorded. */
  readonly transitionCount: () => number;
  /**
   * Compares a reading with a record that was read before it, and writes the difference. The request for the reading left
   * at `requestedMs` or later, by our clock.
   */
  readonly recordReading: (
    recorded: OperationRecord | undefined,
    reading: Operation,
    by: { readonly observedBy: Observer; readonly requestedMs: number },
  ) => Promise<RecordOutcome>;
  /** Writes what was decided about a record: its stall or the end of its watch. A conflict is left to the next poll. */
  readonly recordDecision: (recorded: OperationRecord, next: OperationRecord) => Promise<void>;
  /** Takes over a record that was read or written elsewhere. */
  readonly note: (record: OperationRecord) => void;
}

/** `stored` are the operations that the poll has read from the table before it asks the upstream. */
export function createOperationRecorder(
  deps: RecorderDeps,
  stored: ReadonlyMap<string, OperationRecord>,
  subject: ReadingProject,
): OperationRecorder {
  const { store } = deps;
  const records = new Map(stored);
  let transitionCount = 0;
  const note = (record: OperationRecord) => {
    records.set(record.operation_id, record);
  };

  return {
    records,
    transitionCount: () => transitionCount,
    note,

    async recordReading(recorded, reading, { observedBy, requestedMs }) {
      const recordDeps = recordDepsFor(deps, subject, observedBy);
      const outcome = await recordOperation(recordDeps, recorded, reading, requestedMs);
      if (outcome.kind === 'unresolved') return outcome;
      if (outcome.kind === 'unreadable') {
        // The item has changed since this poll read it.
        records.delete(reading.id);
        return outcome;
      }
      note(outcome.record);
      if (outcome.kind === 'deferred') deps.telemetry.measure('TransitionsDeferred', 1);
      if (outcome.kind === 'recorded') {
        if (outcome.record.entries.at(-1)?.type === 'state_changed') transitionCount += 1;
        measureRecorded(deps, outcome.record, subject.project?.watermark === undefined);
        const sample = sampleOf(outcome.record, reading);
        if (sample !== undefined) deps.samples?.take(sample);
        for (const change of changesOf(outcome.record)) deps.counts?.take(change);
      }
      return outcome;
    },

    async recordDecision(recorded, next) {
      if ((await store.record(next, recorded.revision)) === 'recorded') note(next);
    },
  };
}

function recordDepsFor(
  { upstream, store, clock, options, signal }: RecorderDeps,
  subject: ReadingProject,
  observed_by: Observer,
): RecordDeps {
  const contextOf: RecordDeps['contextOf'] = (recorded, reading, requestedMs) => {
    const now = { account_id: store.accountId, nowMs: clock.now(), requestedMs };
    return readingContextOf({ ...now, observed_by, recorded, reading }, subject, options);
  };
  return { clock, upstream, store, contextOf, signal };
}
