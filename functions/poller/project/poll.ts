/** Everything one poll of one project knows while it runs, and the one way in which it records a reading. */

import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import { isJournalFull, PENDING_ENTRIES_MAX } from '../../../shared/core/records/journal.ts';
import type { CommandOrigin } from '../../../shared/core/records/journal-entries.ts';
import type { Operation } from '../../../shared/core/records/operation.ts';
import type {
  Backfill,
  OperationRecord,
  ReadingContext,
} from '../../../shared/core/records/operation-record.ts';
import type { WalkLimits } from '../../../shared/core/records/page-walk.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import { hasChanged, type OperationState } from '../../../shared/core/records/transition.ts';
import type { Progress } from '../../../shared/core/records/walk-progress.ts';
import { epochMsOf, normaliseTimestamp, type Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import type { OperationReader } from '../../../shared/protocol/read-in-order.ts';
import { type RecordOutcome, recordOperation } from '../../../shared/protocol/record-operation.ts';
import type { RecordWriter } from '../../../shared/protocol/record-writer.ts';
import type { RelayLedger } from '../../../shared/protocol/relay-ledger.ts';
import type { RelayStore } from '../../../shared/protocol/relay-records.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { OperationsRead } from '../../../shared/store/operation-records.ts';
import type { RecordResult } from '../../../shared/store/record-result.ts';
import type { IndexPosition, Key } from '../../../shared/store/table.ts';
import type { WorkPageRequest, WorkPlacePage } from '../../../shared/store/work-index.ts';
import type { Permit } from '../../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import type { ArrivalHistory, ProjectActivity } from '../planner/project-activity.ts';
import type { ListEnd } from './list-end.ts';
import type { PageReach } from './page-reach.ts';
import { NO_SETTLED_ROWS, type SettledRows } from './settled-rows.ts';
import type { StallThresholdsMs } from './stall.ts';

/** What a poll reads of the table before it asks the upstream. */
export interface ProjectStore {
  readProject(projectId: string): Promise<ProjectRecord | undefined>;
  findWorkPage(request: WorkPageRequest): Promise<WorkPlacePage>;
  readOperations(projectId: string, operationIds: readonly string[]): Promise<OperationsRead>;
  readCommands(keys: readonly Key[]): Promise<readonly CommandRecord[]>;
}

export interface ProgressStore {
  /** `conflict`: the stored watermark is at least as new, and nothing was written. */
  saveProgress(projectId: string, progress: Progress): Promise<RecordResult>;
}

export interface PollDeps {
  readonly upstream: Pick<UpstreamClient, 'listOperations' | 'getOperation'>;
  readonly store: { readonly accountId: string } & ProjectStore &
    ProgressStore &
    OperationReader &
    RecordWriter &
    RelayStore;
  readonly bus: EventBus;
  /** When the newest operation of a project began whose end is recorded; undefined: nobody can say. */
  readonly newestRecorded?: ((projectId: string) => Promise<Timestamp | undefined>) | undefined;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Of the invocation: what its loops are publishing at present. */
  readonly ledger?: RelayLedger | undefined;
  readonly options: PollOptions;
}

export interface PollOptions {
  readonly walkLimits: WalkLimits;
  readonly backfill: Backfill;
  /** How far below its head the first walk of a project goes, unless all history is wanted. */
  readonly backfillDepthMs: number;
  /** The watermark moves once this many newer rows were seen: a write per walk would double the cost of a quiet account. */
  readonly watermarkStepRows: number;
  readonly sweepIntervalMs: number;
  readonly stallThresholdsMs: StallThresholdsMs;
}

export interface PollRequest {
  readonly projectId: string;
  /**
   * The account's `boot_at`: it ends the history of a project that has no end of its own. Undefined: it cannot be read, and
   * only a project that was read before is polled.
   */
  readonly bootAt: Timestamp | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How often something happens there, as far as it was known before. */
  readonly history?: ArrivalHistory | undefined;
  /** For the first request. */
  readonly permit?: Permit | undefined;
  /** Called once the operations were read, before anything is published: the bus may take longer than the invocation has. */
  readonly onRead?: (() => void) | undefined;
}

/** What one process remembers of a project between polls. Losing it costs requests and reads, never data. */
export interface ProjectMemory {
  /** Settled operations of the last walk, so that rows that did not change need no read of the table. */
  settled: SettledRows;
  /** When an open operation was last read, by our clock. */
  readonly readAtMs: Map<string, number>;
  /** When an open operation first answered 404. */
  readonly missingSinceMs: Map<string, number>;
  /** Where the next poll goes on among the project's open and unpublished items; undefined: at the first. */
  nextPlaces: IndexPosition | undefined;
  /** How far back the first page of the last walk reached; it sizes the next one. */
  reach: PageReach | undefined;
  /** Rows of the last first page, when there were fewer than asked for: a page of this list may hold no more. */
  pageRowsMax: number | undefined;
  /** Where the list was seen to end. */
  listEnd: ListEnd | undefined;
  /** When the last sweep failed, by our clock; undefined when it did not. */
  sweepFailedAtMs: number | undefined;
  /** Walks in a row that the upstream did not answer to the end. */
  failureCount: number;
  /** Since the first of them, the newest recorded operation was looked up. */
  isReachNoted: boolean;
  /** Log lines about this project that one of them is enough of. */
  readonly logged: Set<string>;
}

export function emptyMemory(): ProjectMemory {
  return {
    settled: NO_SETTLED_ROWS,
    readAtMs: new Map(),
    missingSinceMs: new Map(),
    nextPlaces: undefined,
    reach: undefined,
    pageRowsMax: undefined,
    listEnd: undefined,
    sweepFailedAtMs: undefined,
    failureCount: 0,
    isReachNoted: false,
    logged: new Set(),
  };
}

/** Everything one poll knows while it runs. */
export interface Poll {
  readonly deps: PollDeps;
  readonly request: PollRequest;
  readonly memory: ProjectMemory;
  readonly project: ProjectRecord | undefined;
  /** Commands of this project that are not settled, or whose end is not published. */
  readonly commands: readonly CommandRecord[];
  /** The rows at hand are those of a sweep. */
  readonly isSweeping: boolean;
  /** Operations as they are known to be stored; read before, or written after, any later upstream read. */
  readonly records: Map<string, OperationRecord>;
  /** Those of them that were stored when this poll began, and that it has not changed. */
  readonly readAtFirst: ReadonlySet<OperationRecord>;
  /** Operations that this poll has a reading of. */
  readonly readIds: Set<string>;
  /** Settled operations among the rows in reach, for the next poll's memory. */
  readonly settled: Map<string, OperationState>;
  /** Rows newer than the watermark. */
  readonly newerIds: Set<string>;
  readonly counts: PollCounts;
  /** What the newest page says about how soon to come back; undefined until one was read. */
  activity: ProjectActivity | undefined;
  /** The upstream's clock, as its last answer said; undefined when it did not. */
  upstreamNowMs: number | undefined;
}

export interface PollCounts {
  recorded: number;
  /** Operations that could not be recorded for sure: the page they stood on does not count as read. */
  unresolved: number;
}

/** Writes one log line about the project in the life of this process. */
export function logOnce({ memory, deps, request }: Poll, event: string): void {
  if (memory.logged.has(event)) return;
  memory.logged.add(event);
  deps.telemetry.log('warn', event, { project_id: request.projectId });
}

/** Compares one reading with one record and writes the difference. */
export async function recordReadingOf(
  poll: Poll,
  recorded: OperationRecord | undefined,
  reading: Operation,
): Promise<RecordOutcome> {
  const { deps, request } = poll;
  const contextOf = (stored: OperationRecord | undefined, row: Operation) => contextFor(poll, stored, row);
  const { upstream, store } = deps;
  const recordDeps = { upstream, store, contextOf, signal: request.signal };
  const outcome = await recordOperation(recordDeps, recorded, reading);
  if (outcome.kind === 'unresolved') {
    poll.counts.unresolved += 1;
    return outcome;
  }
  if (outcome.kind === 'unreadable') {
    // What this poll had read of it is not true any more.
    poll.records.delete(reading.id);
    return outcome;
  }
  poll.records.set(reading.id, outcome.record);
  if (outcome.kind === 'deferred') deps.telemetry.measure('TransitionsDeferred', 1);
  if (outcome.kind === 'recorded') noteRecorded(poll, outcome.record);
  return outcome;
}

export function isUnchanged(record: OperationState | undefined, reading: OperationState): boolean {
  return record !== undefined && !hasChanged(record, reading);
}

function contextFor(poll: Poll, stored: OperationRecord | undefined, row: Operation): ReadingContext {
  const { deps, request, project, isSweeping } = poll;
  const command = commandOf(poll, row.id);
  const context = { account_id: deps.store.accountId, nowMs: deps.clock.now(), command };
  const observed_by = isSweeping ? 'sweep' : 'poll';
  if (stored !== undefined) return { ...context, observed_by };
  const createdAt = normaliseTimestamp(row.created_at);
  const historyUntil = project?.history_until ?? request.bootAt;
  if (createdAt !== undefined && historyUntil !== undefined && createdAt < historyUntil) {
    return { ...context, observed_by: 'backfill', history: { backfill: deps.options.backfill } };
  }
  return { ...context, observed_by, late: isBehindWatermark(poll, createdAt) };
}

/** The command's own record says which operations it started, should the poll meet them first. */
function commandOf({ commands }: Poll, operationId: string): CommandOrigin | undefined {
  const command = commands.find(({ operation_ids }) => operation_ids.includes(operationId));
  return command && { client_id: command.client_id, request_id: command.request_id };
}

/** A walk had already finished there: the row became visible late, or stood between two pages. */
function isBehindWatermark({ project, deps }: Poll, createdAt: Timestamp | undefined): boolean {
  const watermark = project?.watermark;
  if (watermark === undefined || createdAt === undefined) return false;
  const { overlapMs } = deps.options.walkLimits;
  return epochMsOf(watermark) - epochMsOf(createdAt) > overlapMs;
}

function noteRecorded(poll: Poll, record: OperationRecord): void {
  const { telemetry, clock } = poll.deps;
  const entry = record.entries.at(-1);
  // Once per outage: until entries are acknowledged, nothing more is recorded.
  if (isJournalFull(record)) {
    const { project_id, operation_id } = record;
    telemetry.log('warn', 'journal.full', { project_id, operation_id, entry_count: PENDING_ENTRIES_MAX });
  }
  if (entry?.type !== 'state_changed') return;
  poll.counts.recorded += 1;
  telemetry.measure('TransitionsRecorded', 1);
  telemetry.measure('TransitionsByStatus', 1, entry.status);
  const failureCount = Math.max(entry.new_failures, entry.status === 'error' ? 1 : 0);
  if (failureCount > 0) telemetry.measure('FailuresByAction', failureCount, record.action);
  if (entry.late === true) telemetry.measure('LateOperations', 1);
  // The first walk of a project says how late the bridge came, and not how soon it sees what changes.
  const isFirstWalk = poll.project?.watermark === undefined;
  if (isFirstWalk || entry.observed_by === 'backfill' || entry.late === true) return;
  const changedAtMs = Date.parse(entry.operation_updated_at);
  if (!Number.isNaN(changedAtMs))
    telemetry.measure('DetectionDelayMs', Math.max(0, clock.now() - changedAtMs));
}
