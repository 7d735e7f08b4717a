/**
 * Remembers the record of a project of which nothing is unpublished or about to end, so that the next polls need no
 * read of the table. A reading is still compared only with what was read from the table before it (ADR 0002), and each write
 * still checks that nothing has changed since, so an old memory costs a repetition and never an event.
 */

import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import { MINUTE_MS } from '../../../../shared/core/time/durations.ts';

/**
 * The table is read again after this time. Commands and wishes of other processes are noticed earlier, by the watch
 * for work (`mustReadStore`). This bound covers what is noticed in no other way, such as a table that was restored.
 */
export const QUIET_MS_MAX = 5 * MINUTE_MS;

/** These records of a project were read from the table, or written by this process. */
export interface QuietRecords {
  readonly project: ProjectRecord;
  /** These operations, by id, have failed and wait for their retry. */
  readonly operations: ReadonlyMap<string, OperationRecord>;
}

/** A poll found this project quiet. */
export interface QuietProject extends QuietRecords {
  /** The records were last read from the table at this time, by our clock. */
  readonly readAtMs: number;
}

export interface QuietMemory {
  /** It is undefined while the next poll has to read the table. */
  quiet: QuietProject | undefined;
  /** The last poll that found the project quiet began at this time, by our clock. It is undefined when none has. */
  quietSeenAtMs: number | undefined;
  /** Another process has left something for the project since the last poll began. */
  isStoreChanged: boolean;
}

/** The next poll of the project reads the table, also when one is under way now. */
export function mustReadStore(memory: QuietMemory | undefined): void {
  if (memory !== undefined) memory.isStoreChanged = true;
}

/**
 * Begins a poll. Returns what is remembered, or undefined when the table has to be read. The memory is empty
 * afterwards, because a poll that fails may have written something.
 */
export function takeQuiet(memory: QuietMemory, nowMs: number): QuietProject | undefined {
  const { quiet, isStoreChanged } = memory;
  memory.quiet = undefined;
  memory.isStoreChanged = false;
  // The clock may have been changed, so the age is taken without its sign.
  const isYoung = quiet !== undefined && Math.abs(nowMs - quiet.readAtMs) < QUIET_MS_MAX;
  return isYoung && !isStoreChanged ? quiet : undefined;
}

/**
 * Ends a poll that found the project quiet. `taken` is what the poll began with; it is undefined when the poll has
 * read the table, at `beganMs` or later. A project that is polled less than twice in `QUIET_MS_MAX` is
 * not remembered, because its memory would never be used.
 */
export function rememberQuiet(
  memory: QuietMemory,
  records: QuietRecords,
  taken: QuietProject | undefined,
  beganMs: number,
): void {
  const seenAtMs = memory.quietSeenAtMs;
  memory.quietSeenAtMs = beganMs;
  if (memory.isStoreChanged) return;
  const isPolledOften = seenAtMs !== undefined && Math.abs(beganMs - seenAtMs) < QUIET_MS_MAX;
  if (isPolledOften) memory.quiet = { ...records, readAtMs: taken?.readAtMs ?? beganMs };
}
