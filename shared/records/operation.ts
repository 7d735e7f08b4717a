/**
 * Describes the upstream's operation with its own field names (specification, "Operation"), and decides what changed
 * between the recorded state of an operation and a newer reading of it.
 */

import type { ReadingFields } from './journal-entries.ts';
import { normaliseTimestamp } from './time.ts';

export interface Operation extends ReadingFields {
  /** The id is a UUID today. Any non-empty text is accepted, because older answers use other forms. */
  readonly id: string;
  readonly project_id: string;
  readonly branch_id?: string | undefined;
  /** It is absent on operations that are not tied to a compute. */
  readonly endpoint_id?: string | undefined;
  /** The set is open, and unknown actions are carried along. */
  readonly action: string;
  /** The set is open. Unknown statuses are carried along and count as not terminal. */
  readonly status: string;
  readonly failures_count: number;
  /** The time is kept as received, ISO 8601. It must be compared only through `normaliseTimestamp`. */
  readonly created_at: string;
  readonly updated_at: string;
}

/**
 * An operation does not leave these statuses. `error` stands in the public contract, although the specification does
 * not list it. `failed` is missing because a failed operation can be retried (specification, "States and
 * transitions").
 */
const TERMINAL_STATUSES: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

export function isTerminal(status: string): boolean {
  return TERMINAL_STATUSES.has(status);
}

/** A transition is a change of this pair. A repeated failure is one, too, although the status stays the same. */
export interface OperationState {
  readonly status: string;
  readonly failures_count: number;
}

export interface Transition {
  /** It is null at first sight. */
  readonly previous_status: string | null;
  readonly status: string;
  readonly failures_count: number;
  /** Counts the failed attempts since the recorded state, whether or not each was seen. It is never negative. */
  readonly new_failures: number;
  /** It is true when this change should not happen. It is published all the same. */
  readonly irregular: boolean;
}

export function hasChanged(recorded: OperationState, reading: OperationState): boolean {
  return recorded.status !== reading.status || recorded.failures_count !== reading.failures_count;
}

/** Returns undefined when nothing changed. `recorded` must be undefined at first sight. */
export function decideTransition(
  recorded: OperationState | undefined,
  reading: Pick<Operation, 'status' | 'failures_count'>,
): Transition | undefined {
  if (recorded !== undefined && !hasChanged(recorded, reading)) return undefined;
  return {
    previous_status: recorded?.status ?? null,
    status: reading.status,
    failures_count: reading.failures_count,
    new_failures: Math.max(0, reading.failures_count - (recorded?.failures_count ?? 0)),
    irregular: recorded !== undefined && isIrregular(recorded, reading),
  };
}

/** The specification does not list the transitions, so only changes that contradict it count as irregular. */
function isIrregular(from: OperationState, to: OperationState): boolean {
  if (isTerminal(from.status)) return true;
  if (to.failures_count < from.failures_count) return true;
  const restartedWithoutFailing = to.status === 'scheduling' && to.failures_count === from.failures_count;
  return restartedWithoutFailing && (from.status === 'running' || from.status === 'cancelling');
}

/** An operation runs through these steps once for each count of failures. A failure begins the steps of its count. */
const STEPS: Readonly<Partial<Record<string, number>>> = {
  failed: 0,
  scheduling: 1,
  running: 2,
  cancelling: 3,
  finished: 4,
  skipped: 4,
  cancelled: 4,
  error: 4,
};

type Dated = OperationState & Pick<Operation, 'updated_at'>;

/**
 * Says whether a reading shows, or may show, what an operation was before the recorded state, as a replica that lags
 * does. A status that the specification does not list has no step. Within one second of the upstream nothing orders it
 * among the others, except that an end comes last.
 */
export function goesBack(recorded: Dated, reading: Dated): boolean {
  const [recordedAt, readingAt] = [recorded.updated_at, reading.updated_at].map(normaliseTimestamp);
  if (recordedAt !== undefined && readingAt !== undefined && readingAt < recordedAt) return true;
  if (reading.failures_count !== recorded.failures_count)
    return reading.failures_count < recorded.failures_count;
  const [recordedStep, readingStep] = [STEPS[recorded.status], STEPS[reading.status]];
  if (recordedStep !== undefined && readingStep !== undefined) return readingStep < recordedStep;
  return recorded.status !== reading.status && readingAt === recordedAt && !isTerminal(reading.status);
}
