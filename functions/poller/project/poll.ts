/**
 * Holds one poll of one project: what was stored before, what was read, and what was decided so far. The table is read
 * before the upstream is asked: this order makes every later compare-and-set safe (PROTOCOL.md).
 */

import type { DurationSample } from '../../../shared/insights/day-insights.ts';
import type { CountedChange } from '../../../shared/insights/hour-counts.ts';
import type { RelayDeps } from '../../../shared/protocol/relay-records.ts';
import type { CommandRecord } from '../../../shared/records/command-record.ts';
import { isPending } from '../../../shared/records/journal.ts';
import type { UsualDuration } from '../../../shared/records/journal-entries.ts';
import {
  type Backfill,
  isOpen,
  isSettled,
  type Operation,
  type OperationRecord,
  type OperationState,
} from '../../../shared/records/operation-record.ts';
import { type ProjectRecord, sinceAfterSecondEdition } from '../../../shared/records/project-record.ts';
import { earlierBy, earlierNowMs, secondOf, type Timestamp } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { BridgeStore, WorkIndexEntry } from '../../../shared/store/bridge-store.ts';
import { accountKey } from '../../../shared/store/keys.ts';
import { UnreadableItemError } from '../../../shared/store/unreadable.ts';
import type { Permit } from '../../../shared/upstream/request-budget.ts';
import type { OperationPage, UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { isUpstreamError, type UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import type { ArrivalHistory } from '../planner/project-activity.ts';
import {
  joinSettledRows,
  type ProjectMemory,
  type QuietPage,
  type QuietProject,
  rememberQuiet,
  settledRowsOf,
  takeQuiet,
} from './project-memory.ts';
import type { Walk, WalkLimits, WalkPage, WalkRequest } from './walk.ts';

/** A row shows this of what was started with it. */
export type StartedRow = Pick<Operation, 'id' | 'action' | 'branch_id' | 'created_at'>;

export interface Poll {
  readonly projectId: string;
  readonly signal: AbortSignal | undefined;
  readonly memory: ProjectMemory;
  /** The poll began at this time, by our clock. */
  readonly beganMs: number;
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  /** What had ended before this time is history. */
  readonly since: Timestamp | undefined;
  /** These operations, by id, were open or unpublished before the poll, as they were stored then. */
  readonly stored: ReadonlyMap<string, OperationRecord>;
  /** The poll goes by this memory. It is undefined when the poll has read the table. */
  readonly quiet: QuietProject | undefined;
  /** The work index names something of the project beside `stored`, whether or not it can be read. */
  readonly hasOtherWork: boolean;
  /** These commands of the project are not settled, or their end is not published. Those of a quiet project are read late. */
  readonly commands: CommandRecord[];
  /** The operations of the project, by id, as the table is known to hold them now. */
  readonly records: Map<string, OperationRecord>;
  /** This poll has read these operations. */
  readonly readIds: Set<string>;
  /** This poll has asked for these operations without an answer. */
  readonly triedIds: Set<string>;
  /** These rows among those in reach are settled, by id. */
  readonly settled: Map<string, OperationState>;
  /** The rows of the pages, by branch and id, show what was started together. */
  readonly rowsOfBranch: Map<string | undefined, Map<string, StartedRow>>;
  /** These rows are newer than the stored bound. */
  readonly newerIds: Set<string>;
  transitionCount: number;
  publishedCount: number;
  areCommandsRead: boolean;
}

/**
 * One poll reads at most this many entries of the work index, which shows open and unpublished items. Projects have a
 * few. After an outage of the bus there may be thousands, and then each poll reads the entries that follow those of
 * the previous poll.
 */
export const WORK_ENTRIES_MAX = 100;

interface Stored {
  readonly project: ProjectRecord | undefined;
  readonly commands: readonly CommandRecord[];
  readonly operations: ReadonlyMap<string, OperationRecord>;
  readonly hasOtherWork: boolean;
}

/**
 * Reads what is stored of the project: from memory while the project is quiet, and otherwise from the table. Rejects
 * with `UnreadableItemError` when the account's `boot_at` cannot be read and the project has no bound: nothing says then
 * what is history there, so the project waits and its history is not published as news.
 */
export async function startPoll(
  { store, clock, options }: PollDeps,
  { projectId, bootAt, signal }: PollRequest,
  memory: ProjectMemory,
): Promise<Poll> {
  const beganMs = clock.now();
  const taken = takeQuiet(memory, beganMs);
  const quiet = bootAt !== undefined || taken?.project.bound !== undefined ? taken : undefined;
  const { project, operations, commands, hasOtherWork }: Stored =
    quiet === undefined
      ? await readStored(store, projectId, memory)
      : { ...quiet, commands: [], hasOtherWork: false };
  const bound = project?.bound;
  if (bootAt === undefined && bound === undefined)
    throw new UnreadableItemError({ key: accountKey(store.accountId), fields: ['boot_at'] });
  // Without any `since` nothing says whether an unknown row below the bound is history, so a later poll decides that.
  const since = project?.since ?? bootAt ?? (bound && earlierBy(bound, options.walkLimits.overlapMs));
  const isOfSecondEdition = project?.isOfSecondEdition === true && bound !== undefined;
  return {
    projectId,
    signal,
    memory,
    beganMs,
    project,
    since: isOfSecondEdition ? sinceAfterSecondEdition(since, bound, secondOf(beganMs)) : since,
    stored: operations,
    quiet,
    hasOtherWork,
    commands: [...commands],
    records: new Map(operations),
    readIds: new Set(),
    triedIds: new Set(),
    settled: new Map(),
    rowsOfBranch: new Map(),
    newerIds: new Set(),
    transitionCount: 0,
    publishedCount: 0,
    areCommandsRead: quiet === undefined,
  };
}

async function readStored(store: BridgeStore, projectId: string, memory: ProjectMemory): Promise<Stored> {
  const [project, { entries, next }] = await Promise.all([
    store.readProject(projectId),
    store.findWorkPage({ projectId, limit: WORK_ENTRIES_MAX, start: memory.nextEntries }),
  ]);
  memory.nextEntries = next;
  const operationIds = entries.flatMap(({ operationId }) => operationId ?? []);
  const [{ records: operations }, commands] = await Promise.all([
    store.readOperations(projectId, operationIds),
    readCommands(store, entries),
  ]);
  const isRead = ({ operationId }: WorkIndexEntry) =>
    operationId !== undefined && operations.has(operationId);
  const hasOtherWork = next !== undefined || !entries.every(isRead);
  const here = [...operations].filter(([, { moved_by }]) => moved_by === undefined);
  return { project, commands, operations: new Map(here), hasOtherWork };
}

/**
 * Reads the commands of a project that was taken to be quiet, because its list shows something new: one of them may have
 * started it.
 */
export async function readNewCommands({ store }: PollDeps, poll: Poll): Promise<void> {
  if (poll.areCommandsRead) return;
  poll.areCommandsRead = true;
  const { entries } = await store.findWorkPage({ projectId: poll.projectId, limit: WORK_ENTRIES_MAX });
  poll.commands.push(...(await readCommands(store, entries)));
}

async function readCommands(
  store: BridgeStore,
  entries: readonly WorkIndexEntry[],
): Promise<readonly CommandRecord[]> {
  return store.readCommands(entries.flatMap(({ key, isCommand }) => (isCommand ? key : [])));
}

/** Says how a poll has ended, as far as it decides what the process remembers. */
export interface PollEnd {
  readonly walk: Walk;
  readonly hasFailed: boolean;
  /** The poll has written a transition or its progress, or has swept. */
  readonly hasWritten: boolean;
  /** This many items have unpublished entries or are commands that have not ended. */
  readonly unfinishedCount: number;
  /** While the bytes of this first page stay the same, it shows nothing else. It is undefined when that is not certain. */
  readonly page: QuietPage | undefined;
}

/** Remembers what the poll has seen, and the project as quiet when nothing of it is left to do. */
export function endPoll(poll: Poll, end: PollEnd): void {
  const { memory, records, quiet, project, beganMs } = poll;
  rememberRows(poll, end.walk);
  if (end.walk.hasArrived) memory.walkedFromMs = beganMs;
  const open = [...records].filter(([, record]) => isOpen(record));
  const isWhole = end.walk.hasArrived && !end.hasFailed && !end.walk.isOutOfOrder;
  const hasFoundNothing = isWhole && !end.hasWritten && end.unfinishedCount === 0 && !poll.hasOtherWork;
  if (project === undefined || !hasFoundNothing || !isAtRest(project)) return;
  // Where the list is empty there is nothing to set a bound to.
  const isRead = project.bound !== undefined || end.walk.head === undefined;
  if (!isRead || ![...records.values()].every(isResting)) return;
  const readAtMs = quiet?.readAtMs ?? beganMs;
  rememberQuiet(memory, { project, operations: new Map(open), readAtMs, page: end.page }, beganMs);
}

/** Rows of this walk are remembered as settled, and those of earlier polls while one walk takes several of them. */
function rememberRows({ memory, records, readIds, settled }: Poll, walk: Walk): void {
  for (const [id, record] of records) if (readIds.has(id) && isSettled(record)) settled.set(id, record);
  const rows = settledRowsOf(settled);
  if (!walk.isUnchanged) memory.settled = walk.hasArrived ? rows : joinSettledRows(rows, memory.settled);
  for (const known of [memory.readAtMs, memory.missing])
    for (const id of known.keys()) {
      const record = records.get(id);
      if (record === undefined || !isOpen(record)) known.delete(id);
    }
}

/** A failed operation waits for minutes until it is retried. Others that are open end within seconds. */
function isResting(record: OperationRecord): boolean {
  return isSettled(record) || (record.status === 'failed' && !isPending(record));
}

/** Nothing of the project waits for a later poll: no unfinished walk, no event, no note that a poll has to correct. */
function isAtRest(project: ProjectRecord): boolean {
  const { resume, sweep, is_unread } = project;
  return resume === undefined && sweep === undefined && is_unread !== true && !isPending(project);
}

export interface PollDeps extends RelayDeps {
  readonly upstream: UpstreamClient;
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly options: PollOptions;
  /** Takes what recorded transitions add to the counts of the account. */
  readonly insights: { takeSample(sample: DurationSample): void; takeChange(change: CountedChange): void };
  /** Resolves to what an action usually takes, and to undefined when too few operations have ended. */
  readonly usualDurationOf: (projectId: string, action: string) => Promise<UsualDuration | undefined>;
}

/**
 * The configuration may fix thresholds for an action, in milliseconds and in ascending order. Those of `default` apply
 * to every action that has none of its own. Without any, the threshold of an action comes from what it usually takes.
 */
export type StallThresholdsMs = Readonly<Record<string, readonly number[]>>;

export interface PollOptions {
  readonly walkLimits: WalkLimits;
  readonly backfill: Backfill;
  /** The bound moves once this many newer rows were seen: a write per walk would double the cost of a quiet account. */
  readonly boundStepRows: number;
  readonly sweepIntervalMs: number;
  readonly stallThresholdsMs: StallThresholdsMs;
}

export interface PollRequest {
  readonly projectId: string;
  /**
   * The account's `boot_at` is `since` of a project that has none of its own. It is undefined when it cannot be read,
   * and then only a project that was read before is polled.
   */
  readonly bootAt: Timestamp | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The first request leaves with this permit. It takes its own when this is undefined. */
  readonly permit?: Permit | undefined;
  /** Operations begin this often in the project, as earlier polls have seen it. */
  readonly history?: ArrivalHistory | undefined;
  /**
   * It is called once the operations were read, before anything is published, because the bus may take longer than
   * the invocation has.
   */
  readonly onRead?: (() => void) | undefined;
}

export interface FetchedPage extends OperationPage, Pick<WalkPage, 'readAt' | 'readBy'> {
  /** The request left at this time or later, by our clock. */
  readonly requestedMs: number;
}

/**
 * A page whose bytes have the digest `known` comes back unchanged and without its rows. An error of the upstream is
 * returned, since it ends the walk and not the poll. Rejects with any other error.
 */
export async function fetchPage(
  { upstream, clock, telemetry }: PollDeps,
  { projectId, signal, permit }: PollRequest,
  { cursor, limit }: WalkRequest,
  known?: string,
): Promise<FetchedPage | UpstreamError> {
  const query = { projectId, limit, ...(cursor !== undefined && { cursor }) };
  const requestedMs = clock.now();
  try {
    const page = await upstream.listOperations(query, { permit, known, ...(signal && { signal }) });
    if (page.malformedRowCount > 0) telemetry.measure('MalformedRows', page.malformedRowCount);
    const readAt = secondOf(earlierNowMs({ ...page, requestedMs }));
    const { serverDateMs } = page;
    const readBy = serverDateMs === undefined ? undefined : secondOf(Math.max(clock.now(), serverDateMs));
    return { ...page, requestedMs, readAt, readBy };
  } catch (error) {
    if (isUpstreamError(error)) return error;
    throw error;
  }
}
