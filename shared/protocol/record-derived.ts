/**
 * Records what derives from operations: whether a new branch can be used, what state a compute has, and whether a
 * command has come to its end.
 */

import { type CommandRecord, decideSettlement } from '../records/command-record.ts';
import { decideComputeStates } from '../records/compute-state.ts';
import {
  decideReadiness,
  joinCreation,
  pendingEnds,
  type Subject,
  subjectsOf,
  unknownOperations,
} from '../records/derivations.ts';
import { isJournalFull, isPending } from '../records/journal.ts';
import type { BranchRecord, DerivedRecord } from '../records/journal-record.ts';
import type { OperationRecord } from '../records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import { forEachConcurrently } from '../runtime/concurrency.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { BridgeStore } from '../store/bridge-store.ts';
import { keyOf } from '../store/items.ts';
import { branchKey, computeKey } from '../store/keys.ts';
import type { DerivedRead } from '../store/records.ts';
import { type Key, keyText } from '../store/table.ts';

export interface DeriveDeps {
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** Neither settling nor deciding writes a line of the log. */
type QuietDeps = Omit<DeriveDeps, 'telemetry'>;

/** At most this many commands are looked at concurrently. Each needs a read and perhaps a write. */
const COMMANDS_AT_ONCE = 8;

/**
 * Returns those commands that this call has settled, as they are now stored. `known` are operations, by id, that need
 * no read. An operation that cannot be read counts as not ended, so its command settles at the deadline. Once
 * `signal` is aborted, no further command is looked at, and the next invocation settles the others.
 */
export async function settleCommands(
  deps: QuietDeps,
  commands: readonly CommandRecord[],
  known: ReadonlyMap<string, OperationRecord> = new Map(),
  signal?: AbortSignal,
): Promise<readonly CommandRecord[]> {
  const settled: CommandRecord[] = [];
  const settleOne = async (command: CommandRecord) => {
    const next = await settleIfEnded(deps, command, known);
    if (next !== undefined) settled.push(next);
  };
  const open = commands.filter(({ is_settled }) => !is_settled);
  await forEachConcurrently(open, COMMANDS_AT_ONCE, settleOne, signal);
  return settled;
}

async function settleIfEnded(
  { store, clock }: QuietDeps,
  command: CommandRecord,
  known: ReadonlyMap<string, OperationRecord>,
): Promise<CommandRecord | undefined> {
  const unknownIds = command.operation_ids.filter((id) => !known.has(id));
  const read =
    unknownIds.length > 0 ? (await store.readOperations(command.project_id, unknownIds)).records : [];
  const next = decideSettlement(command, new Map([...known, ...read]), clock.now());
  if (next === undefined) return undefined;
  // On a conflict another process has settled the command, and that process publishes it.
  return (await store.record(next, command.revision)) === 'recorded' ? next : undefined;
}

/** Resolves to undefined when nothing is known of the branch or compute, and to `recorded` when nothing changes. */
async function nextDerived(
  deps: QuietDeps,
  subject: Subject,
  known: readonly OperationRecord[],
  recorded: DerivedRecord | undefined,
): Promise<DerivedRecord | undefined> {
  const own = known.filter(({ project_id }) => project_id === subject.project_id);
  if (subject.kind === 'branch') {
    const operations = own.filter(({ branch_id }) => branch_id === subject.id);
    return nextBranch(deps, subject, operations, recorded?.kind === 'branch' ? recorded : undefined);
  }
  const before = recorded?.kind === 'compute' ? recorded : undefined;
  const ends = subject.operations.flatMap(pendingEnds);
  return decideComputeStates(before, ends, neighboursOf(subject, own), deps.clock.now());
}

/** The operations of the branch show whether a compute was restarted, or suspended for a restore. */
function neighboursOf(
  { id, operations }: Subject,
  known: readonly OperationRecord[],
): readonly OperationRecord[] {
  const branchIds = new Set(operations.flatMap(({ branch_id }) => branch_id ?? []));
  return known.filter(
    ({ endpoint_id, branch_id }) =>
      endpoint_id === id || (branch_id !== undefined && branchIds.has(branch_id)),
  );
}

/**
 * Operations of the creation that are not known to have ended are read after the end of this one was recorded. So of
 * two processes that record two last ends, at least one sees both. Each end that is not acknowledged is decided in its
 * turn, also when the operation has left it since, as a process would that knew no more.
 */
async function nextBranch(
  { store, clock }: QuietDeps,
  { project_id, operations: news }: Subject,
  operations: readonly OperationRecord[],
  recorded: BranchRecord | undefined,
): Promise<BranchRecord | undefined> {
  const joined = joinCreation(recorded, operations);
  if (joined === undefined) return undefined;
  const known = new Map(operations.map((operation) => [operation.operation_id, operation]));
  const members = news.filter(({ operation_id }) => joined.operation_ids.includes(operation_id));
  if (members.length === 0) return recorded;
  const ends = members.flatMap(pendingEnds);
  // What joins the creation now may have ended before, and its end comes only once.
  if (joined === recorded && ends.length === 0) return recorded;
  const unknown = unknownOperations(joined, known);
  const read = unknown.length > 0 ? (await store.readOperations(project_id, unknown)).records : [];
  const all = new Map([...known, ...read]);
  const atEach = [...ends.map((end) => new Map(all).set(end.operation_id, end)), all];
  const next = atEach.reduce((branch, then) => decideReadiness(branch, then, clock.now()), joined);
  const hasEvent = next.revision !== joined.revision;
  return hasEvent || next === recorded ? next : noted(next);
}

/** A change without an event counts as a revision, too, so that two processes cannot both make one. */
function noted(branch: BranchRecord): BranchRecord {
  const revision = branch.revision + 1;
  return { ...branch, revision, published: revision };
}

/** What derives from some operations of one branch or compute. */
export interface Derived {
  readonly operations: readonly OperationRecord[];
  /**
   * This record has events that must be published before the operations count as derived. It is undefined when there
   * are none.
   */
  readonly record: DerivedRecord | undefined;
  /** It is false when what derives from the operations may not be recorded, so they must not count as derived. */
  readonly isSure: boolean;
}

type Outcome = Pick<Derived, 'record' | 'isSure'>;

const NOTHING: Outcome = { record: undefined, isSure: true };
const UNSURE: Outcome = { record: undefined, isSure: false };

/** Two processes that race for one branch or compute need two attempts; two more allow for throttled writes. */
const ATTEMPTS_MAX = 4;

/** At most this many branches and computes are recorded concurrently. Each needs a write, and sometimes a read. */
const SUBJECTS_AT_ONCE = 8;

/**
 * `operations` must be stored like this. `around` are further operations that are known to be stored, which show what
 * was started together. Once `signal` is aborted, the rest is left to the next invocation.
 */
export async function recordDerived(
  deps: DeriveDeps,
  operations: readonly OperationRecord[],
  around: readonly OperationRecord[] = [],
  signal?: AbortSignal,
): Promise<readonly Derived[]> {
  const subjects = subjectsOf(operations);
  if (subjects.length === 0) return [];
  // Of several readings of one operation the last one counts.
  const read = [...around, ...operations].map((operation) => [keyText(keyOf(operation)), operation] as const);
  const known = [...new Map(read).values()];
  const stored = await readSubjects(deps, subjects);
  const outcomes = new Map<Subject, Outcome>();
  const recordOne = async (subject: Subject) => {
    outcomes.set(subject, await recordSubject(deps, subject, known, stored));
  };
  await forEachConcurrently(subjects, SUBJECTS_AT_ONCE, recordOne, signal);
  return subjects.map((subject) => ({
    operations: subject.operations,
    ...(outcomes.get(subject) ?? UNSURE),
  }));
}

/** Returns undefined when the table could not be read. */
async function readSubjects(
  { store, telemetry }: DeriveDeps,
  subjects: readonly Subject[],
): Promise<DerivedRead | undefined> {
  try {
    return await store.readDerived(subjects.map(keyOfSubject));
  } catch (error) {
    telemetry.log('warn', 'derivation.unknown', { reason: toError(error).name });
    return undefined;
  }
}

async function recordSubject(
  deps: DeriveDeps,
  subject: Subject,
  known: readonly OperationRecord[],
  firstRead: DerivedRead | undefined,
): Promise<Outcome> {
  let read = firstRead;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    if (read === undefined) return UNSURE;
    // An item that this version cannot read is left as it is, and holds up no operation.
    const name = keyText(keyOfSubject(subject));
    if (read.unreadable.some((key) => keyText(key) === name)) return NOTHING;
    const recorded = read.records.find((record) => keyText(keyOf(record)) === name);
    // The bus takes some of its entries first, and the next relay derives again.
    if (recorded !== undefined && isJournalFull(recorded)) return { record: recorded, isSure: false };
    const result = await tryRecord(deps, subject, known, recorded);
    if (result !== 'again') return result;
    read = await readSubjects(deps, [subject]);
  }
  return UNSURE;
}

/** Resolves to `again` when another process was faster, or when the reply was lost and the write may have been applied. */
async function tryRecord(
  deps: DeriveDeps,
  subject: Subject,
  known: readonly OperationRecord[],
  recorded: DerivedRecord | undefined,
): Promise<Outcome | 'again'> {
  try {
    const next = await nextDerived(deps, subject, known, recorded);
    const isStored = next === undefined || next === recorded;
    if (!isStored && (await deps.store.record(next, recorded?.revision)) !== 'recorded') return 'again';
    // A record that was written with a lost reply, or by a process that has crashed, is published now.
    return { record: next !== undefined && isPending(next) ? next : undefined, isSure: true };
  } catch (error) {
    deps.telemetry.log('warn', 'derivation.unknown', { reason: toError(error).name });
    return 'again';
  }
}

function keyOfSubject({ kind, account_id, project_id, id }: Subject): Key {
  return kind === 'branch' ? branchKey(account_id, project_id, id) : computeKey(account_id, project_id, id);
}
