/**
 * Derives what a record says of the circumstances of a reading: who observed it, whether it is history, whether it
 * came late.
 */

import type { CommandOrigin } from '../../../../shared/core/journal/journal-entries.ts';
import type { CommandRecord } from '../../../../shared/core/records/command-record.ts';
import type { Operation } from '../../../../shared/core/records/operation.ts';
import type {
  Backfill,
  OperationRecord,
  ReadingContext,
} from '../../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import { epochMsOf, normaliseTimestamp, type Timestamp } from '../../../../shared/core/time/timestamp.ts';
import type { WalkLimits } from '../../walk-plan/walk-state.ts';

/** Says which part of a poll has read an operation. */
export type Observer = 'poll' | 'sweep';

export interface ReadingOptions {
  readonly backfill: Backfill;
  readonly walkLimits: Pick<WalkLimits, 'overlapMs'>;
}

/** Every reading of one poll shares what is known of its project. */
export interface ReadingProject {
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  readonly commands: readonly CommandRecord[];
  /** The account's `boot_at` ends the history of a project that has no end of its own. */
  readonly bootAt: Timestamp | undefined;
  /** Returns the operations that were started with one that creates a branch, or undefined when it creates none. */
  readonly startedWith?: ((creation: Operation) => readonly string[] | undefined) | undefined;
}

export type ObservedReading = Pick<ReadingContext, 'account_id' | 'nowMs' | 'requestedMs'> & {
  readonly observed_by: Observer;
  readonly recorded: OperationRecord | undefined;
  readonly reading: Operation;
};

export function readingContextOf(
  { recorded, reading, ...observed }: ObservedReading,
  { project, commands, bootAt, startedWith }: ReadingProject,
  { backfill, walkLimits }: ReadingOptions,
): ReadingContext {
  const known = { ...observed, command: commandOf(commands, reading.id) };
  if (recorded !== undefined) return known;
  const context = { ...known, started_with: startedWith?.(reading) };
  const createdAt = normaliseTimestamp(reading.created_at);
  const historyUntil = project?.history_until ?? bootAt;
  if (createdAt !== undefined && historyUntil !== undefined && createdAt < historyUntil) {
    return { ...context, observed_by: 'backfill', history: { backfill } };
  }
  return { ...context, late: isBehindWatermark(project?.watermark, createdAt, walkLimits.overlapMs) };
}

/** Returns the command whose own record names the operation, for the case that the poll meets the operation first. */
function commandOf(commands: readonly CommandRecord[], operationId: string): CommandOrigin | undefined {
  const command = commands.find(({ operation_ids }) => operation_ids.includes(operationId));
  return command && { client_id: command.client_id, request_id: command.request_id };
}

/** Says whether an earlier walk has read that part of the list: the row became visible late, or stood between two pages. */
function isBehindWatermark(
  watermark: Timestamp | undefined,
  createdAt: Timestamp | undefined,
  overlapMs: number,
): boolean {
  if (watermark === undefined || createdAt === undefined) return false;
  return epochMsOf(watermark) - epochMsOf(createdAt) > overlapMs;
}
