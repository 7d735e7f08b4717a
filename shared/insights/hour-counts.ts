/** Counts the operations of an account that began in one hour, and the attempts that failed in it, by project. */

import type { OperationRecord } from '../core/records/operation-record.ts';
import { epochMsOf, normaliseTimestamp } from '../core/time/timestamp.ts';
import { hourOf, type UtcHour } from './utc-hour.ts';

export interface HourCounts {
  readonly started_count: number;
  /** Counts attempts: an operation that failed twice counts twice. */
  readonly failed_count: number;
  /** The keys are the ids of projects in which an attempt failed. */
  readonly failing: ReadonlyMap<string, ProjectFailures>;
}

interface ProjectFailures {
  readonly failed_count: number;
  /** The operation that failed last. */
  readonly operation_id: string;
}

/** Says what one recorded transition adds to the counts of one hour. */
export interface CountedChange {
  readonly hour: UtcHour;
  readonly projectId: string;
  readonly operationId: string;
  readonly startedCount: number;
  readonly failedCount: number;
}

export const NO_COUNTS: HourCounts = { started_count: 0, failed_count: 0, failing: new Map() };

/**
 * An hour names at most this many projects with failures, which keeps its item under 60 kB. When more projects fail,
 * the failures of the others still count in the sum.
 */
export const FAILING_PROJECTS_MAX = 500;

/** The latest transition of a record adds nothing, one or two changes: its beginning and its failure. */
export function changesOf(record: OperationRecord): readonly CountedChange[] {
  const entry = record.entries.at(-1);
  if (entry?.type !== 'state_changed') return [];
  const { project_id: projectId, operation_id: operationId } = record;
  const change = (time: string, counts: Pick<CountedChange, 'startedCount' | 'failedCount'>) => {
    const at = normaliseTimestamp(time);
    return at === undefined ? [] : [{ hour: hourOf(epochMsOf(at)), projectId, operationId, ...counts }];
  };
  const isFirst = entry.previous_status === null;
  // An operation can be given up without an attempt that counts as failed.
  const hasGivenUp = entry.status === 'error' && entry.previous_status !== 'error';
  const failedCount = Math.max(entry.new_failures, hasGivenUp ? 1 : 0);
  return [
    ...(isFirst ? change(record.created_at, { startedCount: 1, failedCount: 0 }) : []),
    ...(failedCount > 0 ? change(entry.operation_updated_at, { startedCount: 0, failedCount }) : []),
  ];
}

/** The changes are of the same hour as the counts. */
export function withChanges(counts: HourCounts, changes: readonly CountedChange[]): HourCounts {
  const failing = new Map(counts.failing);
  for (const { projectId, operationId, failedCount } of changes) {
    const before = failing.get(projectId);
    if (failedCount === 0 || (before === undefined && failing.size >= FAILING_PROJECTS_MAX)) continue;
    const failed_count = (before?.failed_count ?? 0) + failedCount;
    // The project that failed last stands at the end.
    failing.delete(projectId);
    failing.set(projectId, { failed_count, operation_id: operationId });
  }
  return {
    started_count: counts.started_count + sum(changes.map(({ startedCount }) => startedCount)),
    failed_count: counts.failed_count + sum(changes.map(({ failedCount }) => failedCount)),
    failing,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
