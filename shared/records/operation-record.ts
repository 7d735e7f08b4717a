/**
 * Describes the upstream's operation with its own field names (specification, "Operation"), decides what changed
 * between the recorded state of an operation and a newer reading of it, what is recorded of it next, and what becomes
 * an event.
 */

import * as z from 'zod';
import { append, EMPTY_JOURNAL, isPending, type Journal, withEventId } from './journal.ts';
import {
  type CommandOrigin,
  commandOrigin,
  type Fields,
  type ObservedBy,
  type OperationEntry,
  type ReadingFields,
  readingFields,
  type StalledEntry,
  type StateChangedEntry,
  type WatchEndReason,
} from './journal-entries.ts';
import { epochMsOf, isoTimeOf, MINUTE_MS, normaliseTimestamp } from './time.ts';

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

interface Transition {
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
function goesBack(recorded: Dated, reading: Dated): boolean {
  const [recordedAt, readingAt] = [recorded.updated_at, reading.updated_at].map(normaliseTimestamp);
  if (recordedAt !== undefined && readingAt !== undefined && readingAt < recordedAt) return true;
  if (reading.failures_count !== recorded.failures_count)
    return reading.failures_count < recorded.failures_count;
  const [recordedStep, readingStep] = [STEPS[recorded.status], STEPS[reading.status]];
  if (recordedStep !== undefined && readingStep !== undefined) return readingStep < recordedStep;
  return recorded.status !== reading.status && readingAt === recordedAt && !isTerminal(reading.status);
}

/** `sequence` counts the operation's State Changed events, `revision` all its journal entries. */
export const operationFields = {
  kind: z.literal('operation'),
  account_id: z.string(),
  project_id: z.string(),
  operation_id: z.string(),
  action: z.string(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  created_at: z.string(),
  updated_at: z.string(),
  status: z.string(),
  failures_count: z.number(),
  sequence: z.number().int().nonnegative(),
  /**
   * What derives from the entries up to this revision is recorded and published. When it is absent, that is so for all
   * entries that are acknowledged.
   */
  derived: z.number().int().nonnegative().optional(),
  /** This status was first observed at this time by our clock, ISO 8601. */
  status_observed_at: z.string(),
  /**
   * It is true when the bridge has stopped following the operation. It is false again when the operation changes
   * after all.
   */
  watch_ended: z.boolean().default(false),
  /** This command through the bridge started the operation. It is undefined when no such command is known. */
  command: commandOrigin.optional(),
  /**
   * It is set on an operation that creates a branch: these operations of the branch were started with it. It is
   * undefined for every other operation, and for a creation that restores a branch.
   */
  started_with: z.array(z.string()).optional(),
  /** The transfer with this number took the operation to another account, where it goes on. Nothing is recorded here any more. */
  moved_by: z.number().int().positive().optional(),
  /** It is the largest stall threshold that was published, in milliseconds. */
  stalled_threshold_ms: z.number().optional(),
};

export interface OperationRecord extends Fields<typeof operationFields>, Journal<OperationEntry> {}

/** Says which operations become events although they are older than the bridge's first sight of their account. */
export type Backfill = 'open' | 'all' | 'none';

export interface ReadingContext {
  readonly account_id: string;
  readonly nowMs: number;
  /** The request that the reading answers left at this time or later, by our clock. */
  readonly requestedMs: number;
  readonly observed_by: ObservedBy;
  /** It is set when the operation is history. It applies only to an operation that is met for the first time. */
  readonly history?: { readonly backfill: Backfill } | undefined;
  /** It is true when the operation was found where a finished walk had already looked. */
  readonly late?: boolean | undefined;
  /** This command is known to have started the operation. */
  readonly command?: CommandOrigin | undefined;
  /** These operations were started with an operation that creates a branch, as far as they are known. */
  readonly started_with?: readonly string[] | undefined;
}

/**
 * Records and events keep at most this many characters of an upstream error. A few lines leave the item near one
 * write unit.
 */
export const ERROR_TEXT_CHARACTERS_MAX = 500;

/** No replica of the upstream is taken to lag by more than this. */
export const REPLICA_LAG_MS_MAX = MINUTE_MS;

/**
 * An older reading creates no record. A process that was frozen for months may hold the row of an operation that the
 * table has forgotten.
 */
export const READING_GOOD_MS = 15 * MINUTE_MS;

/**
 * Returns the next record with its event. Returns undefined when the record already says what the reading says, or when
 * the reading proves nothing: it may come from a replica that lags, or it is too old.
 */
export function decideNextRecord(
  recorded: OperationRecord | undefined,
  reading: Operation,
  context: ReadingContext,
): OperationRecord | undefined {
  if (recorded === undefined && context.nowMs - context.requestedMs > READING_GOOD_MS) return undefined;
  if (recorded !== undefined && isDoubtful(recorded, reading, context)) return undefined;
  const transition = decideTransition(recorded, reading);
  if (transition === undefined) return undefined;
  const base = {
    ...describe(reading, context),
    ...immutableFields(recorded),
    ...(recorded?.derived !== undefined && { derived: recorded.derived }),
    sequence: recorded?.sequence ?? 0,
  };
  const journal: Journal<OperationEntry> = recorded ?? EMPTY_JOURNAL;
  if (recorded === undefined && isSilent(context)) return { ...base, ...journal };
  const sequence = base.sequence + 1;
  const { command } = base;
  const revision = journal.revision + 1;
  const was_stalled = endsStall(recorded, reading.status);
  const entry = stateChangedEntry({ transition, reading, context, sequence, revision, command, was_stalled });
  return { ...base, sequence, ...append(journal, entry) };
}

/**
 * A reading that goes back is believed once it was requested more than the longest lag after the recorded one. The record
 * says when it was written, which is never before its own reading was requested. The sign does not count, because the clocks
 * of two processes differ, and one that was far ahead must not keep later readings out.
 */
function isDoubtful(recorded: OperationRecord, reading: Operation, { requestedMs }: ReadingContext): boolean {
  const observedAt = normaliseTimestamp(recorded.status_observed_at);
  if (observedAt === undefined || !goesBack(recorded, reading)) return false;
  return Math.abs(requestedMs - epochMsOf(observedAt)) <= REPLICA_LAG_MS_MAX;
}

/** Returns the record of an operation that is no longer watched, with the event that says so. */
export function decideWatchEnd(
  recorded: OperationRecord,
  end: { readonly reason: WatchEndReason; readonly nowMs: number },
): OperationRecord {
  const revision = recorded.revision + 1;
  const entry: OperationEntry = withEventId(identity(recorded), {
    type: 'watch_ended' as const,
    revision,
    observed_at: isoTimeOf(end.nowMs),
    reason: end.reason,
    status: recorded.status,
    failures_count: recorded.failures_count,
  });
  return { ...recorded, watch_ended: true, ...append(recorded, entry) };
}

/** How long the operation has been open, the threshold that it has passed, and what that rests on. */
export type Stall = Pick<StalledEntry, 'threshold_ms' | 'open_ms' | 'usual_duration'>;

/** Returns the record with the event that says that its operation has been open for longer than `threshold_ms`. */
export function decideStall(
  recorded: OperationRecord,
  stall: Stall & { readonly nowMs: number },
): OperationRecord {
  const { threshold_ms, open_ms, usual_duration, nowMs } = stall;
  const revision = recorded.revision + 1;
  const entry: OperationEntry = withEventId(identity(recorded), {
    type: 'operation_stalled' as const,
    revision,
    observed_at: isoTimeOf(nowMs),
    status: recorded.status,
    failures_count: recorded.failures_count,
    open_ms,
    threshold_ms,
    usual_duration,
  });
  return { ...recorded, stalled_threshold_ms: threshold_ms, ...append(recorded, entry) };
}

type Watched = Pick<OperationRecord, 'status' | 'watch_ended' | 'moved_by'>;

/** Says whether the operation must be read again here: it has not ended or moved, and its watch has not ended either. */
export function isOpen({ status, watch_ended, moved_by }: Watched): boolean {
  return !isTerminal(status) && !watch_ended && moved_by === undefined;
}

/** Says whether the upstream will not try the operation again. One whose project is gone is nobody's concern any more. */
export function isGivenUp({ status, watch_ended, entries }: OperationRecord): boolean {
  const last = entries.at(-1);
  const isLeft = last?.type === 'watch_ended' && last.reason === 'project_gone';
  return status === 'error' || (watch_ended && status === 'failed' && !isLeft);
}

/** Says whether nothing is left to do: the operation is not open, and the bus has taken everything that is recorded. */
export function isSettled(record: OperationRecord): boolean {
  return !isOpen(record) && !isPending(record);
}

type Derived = Pick<OperationRecord, 'published' | 'derived'>;

/** Returns the revision up to which everything that derives from the record is recorded and published. */
export function derivedThrough({ derived, published }: Derived): number {
  return derived ?? published;
}

/** Says whether something derives from entries that are published already, and is not published itself. */
export function isUnderived(record: Derived): boolean {
  return derivedThrough(record) < record.published;
}

/**
 * Returns the milliseconds since the status was first observed. They are never negative, although another machine's
 * clock may have been ahead.
 */
export function statusAgeMs(record: OperationRecord, nowMs: number): number {
  const since = normaliseTimestamp(record.status_observed_at);
  return since === undefined ? 0 : Math.max(0, nowMs - epochMsOf(since));
}

/** What had ended before the first sight is passed over, so only what was open then is recorded silently. */
function isSilent({ history }: ReadingContext): boolean {
  return history?.backfill === 'none';
}

function describe(reading: Operation, context: ReadingContext) {
  return {
    kind: 'operation' as const,
    account_id: context.account_id,
    project_id: reading.project_id,
    operation_id: reading.id,
    action: reading.action,
    branch_id: reading.branch_id,
    endpoint_id: reading.endpoint_id,
    created_at: reading.created_at,
    updated_at: reading.updated_at,
    status: reading.status,
    failures_count: reading.failures_count,
    status_observed_at: isoTimeOf(context.nowMs),
    watch_ended: false,
    command: context.command,
    ...(context.started_with && { started_with: context.started_with }),
  };
}

/** These fields keep the value of the first reading, because copies of older events are rendered from them. */
function immutableFields(recorded: OperationRecord | undefined) {
  if (recorded === undefined) return {};
  const { action, branch_id, endpoint_id, created_at, command, stalled_threshold_ms, started_with } =
    recorded;
  return { action, branch_id, endpoint_id, created_at, command, stalled_threshold_ms, started_with };
}

function stateChangedEntry(parts: {
  readonly transition: Transition;
  readonly reading: Operation;
  readonly context: ReadingContext;
  readonly sequence: number;
  readonly revision: number;
  readonly command: CommandOrigin | undefined;
  readonly was_stalled: true | undefined;
}): StateChangedEntry {
  const { transition, reading, context, sequence, revision } = parts;
  const { irregular, ...change } = transition;
  const { account_id } = context;
  const ids = { account_id, project_id: reading.project_id, operation_id: reading.id };
  return withEventId(identity(ids), {
    type: 'state_changed' as const,
    revision,
    sequence,
    ...change,
    operation_updated_at: reading.updated_at,
    ...readingFieldsOf(reading),
    error: reading.error?.slice(0, ERROR_TEXT_CHARACTERS_MAX),
    observed_at: isoTimeOf(context.nowMs),
    observed_by: context.observed_by,
    late: context.late === true ? true : undefined,
    irregular: irregular ? true : undefined,
    was_stalled: parts.was_stalled,
    command: parts.command,
  });
}

/** Returns true when this status ends an operation that was reported as stalled, and otherwise undefined. */
function endsStall(recorded: OperationRecord | undefined, status: string): true | undefined {
  return recorded?.stalled_threshold_ms !== undefined && isTerminal(status) ? true : undefined;
}

type Identified = Pick<OperationRecord, 'account_id' | 'project_id' | 'operation_id'>;

function readingFieldsOf(reading: Operation): ReadingFields {
  const names = Object.keys(readingFields) as (keyof ReadingFields)[];
  return Object.fromEntries(names.map((name) => [name, reading[name]]));
}

function identity(record: Identified): readonly string[] {
  return [record.account_id, record.project_id, record.operation_id];
}
