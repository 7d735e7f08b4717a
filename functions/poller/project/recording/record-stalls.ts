/** Records, once per threshold, that an open operation takes longer than its action usually does. */

import { isJournalFull } from '../../../../shared/core/journal/journal.ts';
import { decideStall } from '../../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { OperationRecorder } from './operation-recorder.ts';
import type { Sightings } from './sightings.ts';
import { dueStall, type StallThresholdsMs } from './stall.ts';

export interface StallOptions {
  readonly stallThresholdsMs: StallThresholdsMs;
}

export interface StallDeps {
  readonly clock: Clock;
  readonly options: StallOptions;
  readonly signal?: AbortSignal | undefined;
}

export async function recordStalls(
  { clock, options, signal }: StallDeps,
  recorder: OperationRecorder,
  sightings: Sightings,
): Promise<void> {
  for (const record of recorder.records.values()) {
    if (signal?.aborted) return;
    // An operation that this poll has not read may have ended unseen, and then it is not stalled.
    if (!sightings.hasRead(record.operation_id) || isJournalFull(record)) continue;
    const nowMs = clock.now();
    const stall = dueStall(record, options.stallThresholdsMs, nowMs);
    if (stall !== undefined) await recorder.recordDecision(record, decideStall(record, { ...stall, nowMs }));
  }
}
