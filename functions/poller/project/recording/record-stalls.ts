/** Records, once per threshold, that an open operation takes longer than its action usually does. */

import { isJournalFull } from '../../../../shared/core/journal/journal.ts';
import type { UsualDuration } from '../../../../shared/core/journal/journal-entries.ts';
import { decideStall, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { OperationRecorder } from './operation-recorder.ts';
import type { Sightings } from './sightings.ts';
import { dependsOnUsual, dueStall, type StallThresholdsMs } from './stall.ts';

export interface StallOptions {
  readonly stallThresholdsMs: StallThresholdsMs;
}

/** Resolves to undefined when too few operations of the action have ended. */
type UsualDurationOf = (projectId: string, action: string) => Promise<UsualDuration | undefined>;

export interface StallDeps {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly options: StallOptions;
  /** Without it, only the thresholds of `options` apply. */
  readonly usualDurationOf?: UsualDurationOf | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function recordStalls(
  deps: StallDeps,
  recorder: OperationRecorder,
  sightings: Sightings,
): Promise<void> {
  const { clock, options, signal } = deps;
  for (const record of recorder.records.values()) {
    if (signal?.aborted) return;
    // An operation that this poll has not read may have ended unseen, and then it is not stalled.
    if (!sightings.hasRead(record.operation_id) || isJournalFull(record)) continue;
    const nowMs = clock.now();
    const usual = await usualOf(deps, record, nowMs);
    const stall = dueStall(record, options.stallThresholdsMs, nowMs, usual);
    if (stall !== undefined) await recorder.recordDecision(record, decideStall(record, { ...stall, nowMs }));
  }
}

/** It is read only for an operation that has been open for minutes. When it cannot be read, the next poll tries again. */
async function usualOf(
  { options, usualDurationOf, telemetry }: StallDeps,
  record: OperationRecord,
  nowMs: number,
): Promise<UsualDuration | 'unknown' | undefined> {
  if (usualDurationOf === undefined || !dependsOnUsual(record, options.stallThresholdsMs, nowMs))
    return undefined;
  const { project_id, action } = record;
  try {
    return (await usualDurationOf(project_id, action)) ?? 'unknown';
  } catch (error) {
    telemetry.log('warn', 'insights.not_read', { project_id, reason: toError(error).name });
    return undefined;
  }
}
