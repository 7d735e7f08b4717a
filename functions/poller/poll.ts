/** Everything one poll of one project knows while it runs, and the one way in which it records a reading. */

import type { CommandRecord } from '../../shared/core/command-record.ts';
import type { CommandOrigin } from '../../shared/core/journal.ts';
import type { Operation } from '../../shared/core/operation.ts';
import type { Backfill, OperationRecord, ReadingContext } from '../../shared/core/operation-record.ts';
import type { PageReach, WalkLimits } from '../../shared/core/page-walk.ts';
import type { ArrivalHistory, ProjectActivity } from '../../shared/core/project-activity.ts';
import type { ProjectRecord } from '../../shared/core/project-record.ts';
import { NO_SETTLED_ROWS, type SettledRows } from '../../shared/core/settled-rows.ts';
import type { StallThresholdsMs } from '../../shared/core/stall.ts';
import { normaliseTimestamp, type Timestamp } from '../../shared/core/timestamp.ts';
import { hasChanged, type OperationState } from '../../shared/core/transition.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import { type RecordOutcome, recordOperation } from '../../shared/protocol/record-operation.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { BridgeStore } from '../../shared/store/bridge-store.ts';
import type { Permit } from '../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';

export interface PollDeps {
  readonly upstream: Pick<UpstreamClient, 'listOperations' | 'getOperation'>;
  readonly store: BridgeStore;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
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
   * The account's `boot_at`: operations created before it are history when they are met for the first time. Undefined: it
   * cannot be read, and only a project that was read before is polled.
   */
  readonly bootAt: Timestamp | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How often something happens there, as far as it was known before. */
  readonly history?: ArrivalHistory | undefined;
  /** For the first request. */
  readonly permit?: Permit | undefined;
}

/** What one process remembers of a project between polls. Losing it costs requests and reads, never data. */
export interface ProjectMemory {
  /** Settled operations of the last walk, so that rows that did not change need no read of the table. */
  settled: SettledRows;
  /** When an open operation was last read, by our clock. */
  readonly readAtMs: Map<string, number>;
  /** When an open operation first answered 404. */
  readonly missingSinceMs: Map<string, number>;
  /** Of the last first page. */
  reach: PageReach | undefined;
}

export function emptyMemory(): ProjectMemory {
  return { settled: NO_SETTLED_ROWS, readAtMs: new Map(), missingSinceMs: new Map(), reach: undefined };
}

/** Everything one poll knows while it runs. */
export interface Poll {
  readonly deps: PollDeps;
  readonly request: PollRequest;
  readonly memory: ProjectMemory;
  readonly project: ProjectRecord | undefined;
  /** Commands of this project that are not settled, or whose end is not published. */
  readonly commands: readonly CommandRecord[];
  readonly isSweep: boolean;
  /** Operations as they are known to be stored; read before, or written after, any later upstream read. */
  readonly records: Map<string, OperationRecord>;
  /** Operations that this poll has a reading of. */
  readonly readIds: Set<string>;
  /** Settled operations among the rows in reach, for the next poll's memory. */
  readonly settled: Map<string, OperationState>;
  /** Rows newer than the watermark. */
  readonly newerIds: Set<string>;
  recordedCount: number;
  /** What the newest page says about how soon to come back; undefined until one was read. */
  activity: ProjectActivity | undefined;
  /** Operations that could not be recorded for sure: the page they stood on does not count as read. */
  unresolvedCount: number;
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
    poll.unresolvedCount += 1;
    return outcome;
  }
  if (outcome.kind === 'unreadable') {
    // What this poll had read of it is not true any more.
    poll.records.delete(reading.id);
    return outcome;
  }
  poll.records.set(reading.id, outcome.record);
  if (outcome.kind === 'recorded') noteRecorded(poll, outcome.record);
  return outcome;
}

export function isUnchanged(record: OperationState | undefined, reading: OperationState): boolean {
  return record !== undefined && !hasChanged(record, reading);
}

function contextFor(poll: Poll, stored: OperationRecord | undefined, row: Operation): ReadingContext {
  const { deps, request, project, isSweep } = poll;
  const command = commandOf(poll, row.id);
  const context = { account_id: deps.store.accountId, nowMs: deps.clock.now(), command };
  if (stored !== undefined) return { ...context, observed_by: isSweep ? 'sweep' : 'poll' };
  const createdAt = normaliseTimestamp(row.created_at);
  const isFirstWalk = project?.watermark === undefined;
  const { bootAt } = request;
  if (isFirstWalk && createdAt !== undefined && bootAt !== undefined && createdAt < bootAt) {
    return { ...context, observed_by: 'backfill', history: { backfill: deps.options.backfill } };
  }
  return { ...context, observed_by: isSweep ? 'sweep' : 'poll', late: isBehindWatermark(poll, createdAt) };
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
  return Date.parse(watermark.slice(0, 19)) - Date.parse(createdAt.slice(0, 19)) > overlapMs;
}

function noteRecorded(poll: Poll, record: OperationRecord): void {
  const { telemetry, clock } = poll.deps;
  const entry = record.entries.at(-1);
  if (entry?.type !== 'state_changed') return;
  poll.recordedCount += 1;
  telemetry.measure('TransitionsRecorded', 1);
  telemetry.measure('TransitionsByStatus', 1, entry.status);
  const failureCount = Math.max(entry.new_failures, entry.status === 'error' ? 1 : 0);
  if (failureCount > 0) telemetry.measure('FailuresByAction', failureCount, record.action);
  if (entry.late === true) telemetry.measure('LateOperations', 1);
  if (entry.observed_by === 'backfill' || entry.late === true) return;
  const changedAtMs = Date.parse(entry.operation_updated_at);
  if (!Number.isNaN(changedAtMs))
    telemetry.measure('DetectionDelayMs', Math.max(0, clock.now() - changedAtMs));
}
