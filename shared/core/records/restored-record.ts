/**
 * Restores a damaged record of an operation from what its journal, its own state and the upstream still say. R1: an
 * entry is restored only when everything that its id rests on is known, so it has the id that it had. R2: an entry
 * that is there is never changed. R3: a restored entry counts as not published, and so does every entry behind it,
 * because copies of one event do no harm and a missing event does.
 */

import { HISTORY_ENTRIES_MAX } from '../journal/journal.ts';
import type { OperationEntry, StateChangedEntry } from '../journal/journal-entries.ts';
import { isTerminal, type Operation } from './operation.ts';
import { endsStall, type OperationRecord, readingFieldsOf, stateChangedId } from './operation-record.ts';
import { decideTransition, hasChanged, type OperationState } from './transition.ts';

export interface Restoration {
  /** It is undefined when the record needs no write, or when no write makes its journal whole. */
  readonly record: OperationRecord | undefined;
  /** State Changed events with these sequences are lost, and nothing says what they were. */
  readonly lostSequences: readonly number[];
}

/**
 * Compares a record with its own journal. A change that `reading` shows is not recorded here, but afterwards like any
 * other (`decideNextRecord`). An operation that is history may have been recorded silently first, and then nothing says
 * which state came before its first event: `isHistory` says so.
 */
export function restoreRecord(
  recorded: OperationRecord,
  reading: Operation,
  isHistory: boolean,
): Restoration {
  if (recorded.revision === 0) return { record: restoredSilently(recorded, reading), lostSequences: [] };
  const changes = new Map(recorded.entries.filter(isStateChange).map((entry) => [entry.sequence, entry]));
  const lost: number[] = [];
  const restored: StateChangedEntry[] = [];
  const latest = Math.max(recorded.sequence, ...changes.keys());
  for (let sequence = oldestKept(recorded, changes); sequence <= latest; sequence++) {
    if (changes.has(sequence)) continue;
    const before = changes.get(sequence - 1);
    const after = changes.get(sequence + 1);
    const isLatest = sequence === latest;
    if (isLatest && isNeverMade(recorded, before)) break;
    const isUnknown = sequence === 1 ? isHistory : before === undefined;
    const entry = isUnknown
      ? undefined
      : restoredEntry(recorded, { sequence, isLatest, before, after }, reading);
    if (entry === undefined) lost.push(sequence);
    else restored.push(entry);
  }
  // Without its last event, nothing says whether the state of the record is the right one.
  if (lost.includes(latest)) return { record: undefined, lostSequences: lost };
  const record = withEntries(recorded, restored);
  const isWorthWriting = restored.length > 0 || isDifferent(recorded, record);
  return { record: isWorthWriting && isWhole(record) ? record : undefined, lostSequences: lost };
}

/** The chain begins with the first entry until so many are recorded that the oldest are dropped for their age. */
function oldestKept({ revision }: OperationRecord, changes: ReadonlyMap<number, unknown>): number {
  return revision <= HISTORY_ENTRIES_MAX ? 1 : Math.min(...changes.keys());
}

/** The count says that there is one more event, and the state is still that of the event before: the count is wrong. */
function isNeverMade(recorded: OperationRecord, before: StateChangedEntry | undefined): boolean {
  return before !== undefined && !hasChanged(before, recorded);
}

/** Operations that had ended before the bridge came have no events, and stay as they ended. */
function restoredSilently(recorded: OperationRecord, reading: Operation): OperationRecord | undefined {
  const haveEnded = isTerminal(recorded.status) && isTerminal(reading.status);
  if (!haveEnded || !hasChanged(recorded, reading)) return undefined;
  const { status, failures_count, updated_at } = reading;
  return { ...recorded, status, failures_count, updated_at };
}

interface LostPlace {
  readonly sequence: number;
  /** It is true for the last event of the record, whose state the record itself has. */
  readonly isLatest: boolean;
  readonly before: StateChangedEntry | undefined;
  readonly after: StateChangedEntry | undefined;
}

/** Returns undefined when something is not known that the id of the entry rests on. */
function restoredEntry(
  recorded: OperationRecord,
  place: LostPlace,
  reading: Operation,
): StateChangedEntry | undefined {
  const { sequence, isLatest, before, after } = place;
  const revision = freeRevision(recorded, place);
  const found = isLatest ? lastState(recorded, reading) : after && stateBefore(after);
  const transition = found && decideTransition(before, found);
  if (revision === undefined || found === undefined || transition === undefined) return undefined;
  const { irregular, ...change } = transition;
  const { operation_updated_at, observed_at, ...told } = found;
  return {
    ...told,
    type: 'state_changed',
    id: stateChangedId(recorded, { ...change, sequence, operation_updated_at }),
    revision,
    sequence,
    ...change,
    operation_updated_at,
    previous_updated_at: before?.operation_updated_at,
    observed_at,
    observed_by: sequence === 1 && recorded.command !== undefined ? 'command' : 'poll',
    irregular: irregular ? true : undefined,
    was_stalled: endsStall(recorded, change.status),
    command: recorded.command,
  };
}

type KnownState = OperationState &
  Pick<StateChangedEntry, 'operation_updated_at' | 'observed_at' | 'error' | 'total_duration_ms'>;

/** The record itself has the state of its last entry. The upstream has its details, if it still has that state. */
function lastState(recorded: OperationRecord, reading: Operation): KnownState {
  const { status, failures_count, updated_at, status_observed_at } = recorded;
  return {
    ...(hasChanged(recorded, reading) ? {} : readingFieldsOf(reading)),
    status,
    failures_count,
    operation_updated_at: updated_at,
    observed_at: status_observed_at,
  };
}

/** Every entry says what the state before was, unless an older version wrote it or the count of failures fell. */
function stateBefore(after: StateChangedEntry): KnownState | undefined {
  const { previous_status, failures_count, new_failures, previous_updated_at, observed_at } = after;
  if (previous_status === null || previous_updated_at === undefined || after.irregular) return undefined;
  return {
    status: previous_status,
    failures_count: failures_count - new_failures,
    operation_updated_at: previous_updated_at,
    // The bridge had observed it by then. When exactly is lost.
    observed_at,
  };
}

/** Returns the lowest revision between the two neighbours that no entry has. */
function freeRevision(recorded: OperationRecord, { before, after }: LostPlace): number | undefined {
  const taken = new Set([...recorded.entries, ...(recorded.foreign ?? [])].map(({ revision }) => revision));
  const end = after?.revision ?? Math.max(recorded.revision, ...taken) + 1;
  for (let revision = (before?.revision ?? 0) + 1; revision < end; revision++)
    if (!taken.has(revision)) return revision;
  return undefined;
}

/** The state and the counts of a record are those of its journal. */
function withEntries(recorded: OperationRecord, restored: readonly StateChangedEntry[]): OperationRecord {
  const entries: readonly OperationEntry[] = [...recorded.entries, ...restored].toSorted(
    (a, b) => a.revision - b.revision,
  );
  const last = entries.findLast(isStateChange);
  if (last === undefined) return recorded;
  const revision = Math.max(...[...entries, ...(recorded.foreign ?? [])].map((entry) => entry.revision));
  const isPublishedUntil = Math.min(
    recorded.published,
    revision,
    ...restored.map((entry) => entry.revision - 1),
  );
  return {
    ...recorded,
    status: last.status,
    failures_count: last.failures_count,
    updated_at: last.operation_updated_at,
    sequence: last.sequence,
    revision,
    published: isPublishedUntil,
    entries,
  };
}

function isDifferent(recorded: OperationRecord, record: OperationRecord): boolean {
  const names = ['updated_at', 'sequence', 'revision', 'published'] as const;
  return hasChanged(recorded, record) || names.some((name) => recorded[name] !== record[name]);
}

/** A journal that is not whole cannot be read (`parse-record.ts`), so writing it would help nobody. */
function isWhole({ revision, published, entries, foreign = [] }: OperationRecord): boolean {
  const found = new Set([...entries, ...foreign].map((entry) => entry.revision));
  for (let pending = published + 1; pending <= revision; pending++) if (!found.has(pending)) return false;
  return true;
}

function isStateChange(entry: OperationEntry): entry is StateChangedEntry {
  return entry.type === 'state_changed';
}
