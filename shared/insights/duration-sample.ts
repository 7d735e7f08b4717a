/** Derives from the record of an operation that has ended how long it took and how many attempts it needed. */

import type { Operation } from '../core/records/operation.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import { epochMsOf, normaliseTimestamp } from '../core/time/timestamp.ts';
import { dayOf, type UtcDay } from './utc-day.ts';

/** Describes one operation that has ended after it did its work, or gave it up. */
export interface DurationSample {
  readonly projectId: string;
  readonly action: string;
  /** The operation ended on this day, by the upstream's clock. */
  readonly day: UtcDay;
  readonly durationMs: number;
  /** It is 1 for an operation that succeeded at once. */
  readonly attempts: number;
}

/** These are the ends of operations that ran. A skipped or cancelled one says nothing of how long the work takes. */
const COUNTED_STATUSES: ReadonlySet<string> = new Set(['finished', 'error']);

/**
 * `reading` is the upstream's answer from which the record was made. It knows milliseconds where the two times of the
 * record are in whole seconds. Returns undefined when the operation is not counted (`sampleOfRow`), or when it had ended
 * before this reading already.
 */
export function sampleOf(record: OperationRecord, reading: Operation): DurationSample | undefined {
  if (hasEndedBefore(record)) return undefined;
  return sampleOfRow({ ...record, total_duration_ms: givenDurationMs(record, reading) });
}

type Row = Pick<
  Operation,
  'project_id' | 'action' | 'status' | 'failures_count' | 'created_at' | 'updated_at' | 'total_duration_ms'
>;

/**
 * Returns undefined when the operation is not counted: it has not ended, it was skipped or cancelled, its action has no
 * name, or its times make no sense.
 */
export function sampleOfRow(row: Row): DurationSample | undefined {
  // The table takes no empty name.
  if (!COUNTED_STATUSES.has(row.status) || row.action === '') return undefined;
  const createdAt = normaliseTimestamp(row.created_at);
  const endedAt = normaliseTimestamp(row.updated_at);
  if (createdAt === undefined || endedAt === undefined) return undefined;
  const durationMs = row.total_duration_ms ?? epochMsOf(endedAt) - epochMsOf(createdAt);
  if (durationMs < 0) return undefined;
  return {
    projectId: row.project_id,
    action: row.action,
    day: dayOf(epochMsOf(endedAt)),
    durationMs,
    attempts: row.failures_count + 1,
  };
}

/**
 * An operation that was reopened ends a second time, and it is counted once. The status before each
 * entry counts, because a first end that was recorded silently has no entry.
 */
function hasEndedBefore({ entries }: OperationRecord): boolean {
  return entries.some(
    (entry) => entry.type === 'state_changed' && COUNTED_STATUSES.has(entry.previous_status ?? ''),
  );
}

/** After a conflict, the record was made from a later answer than this reading. */
function givenDurationMs(record: OperationRecord, reading: Operation): number | undefined {
  const isSame = record.status === reading.status && record.updated_at === reading.updated_at;
  return isSame ? reading.total_duration_ms : undefined;
}
