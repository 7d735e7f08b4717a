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
 * record are in whole seconds. Returns undefined when the operation is not counted: it has not ended, it was skipped
 * or cancelled, it ended before this reading already, its action has no
 * name, or its times make no sense.
 */
export function sampleOf(record: OperationRecord, reading: Operation): DurationSample | undefined {
  if (!COUNTED_STATUSES.has(record.status) || hasEndedBefore(record)) return undefined;
  // The table takes no empty name.
  if (record.action === '') return undefined;
  const createdAt = normaliseTimestamp(record.created_at);
  const endedAt = normaliseTimestamp(record.updated_at);
  if (createdAt === undefined || endedAt === undefined) return undefined;
  const durationMs = givenDurationMs(record, reading) ?? epochMsOf(endedAt) - epochMsOf(createdAt);
  if (durationMs < 0) return undefined;
  return {
    projectId: record.project_id,
    action: record.action,
    day: dayOf(epochMsOf(endedAt)),
    durationMs,
    attempts: record.failures_count + 1,
  };
}

/**
 * An operation that was reopened ends a second time, and it is counted once. Its first end has no entry when it was recorded silently, as
 * history is, so the status before each entry counts.
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
