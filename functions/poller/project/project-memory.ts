/** Describes what one process remembers of a project between polls. Losing it costs requests and reads, never data. */

import { hash } from 'node:crypto';
import type { DurationSample } from '../../../shared/insights/day-insights.ts';
import type { OperationRecord, OperationState } from '../../../shared/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/records/project-record.ts';
import { MINUTE_MS } from '../../../shared/records/time.ts';
import type { IndexPosition } from '../../../shared/store/table.ts';
import type { ProjectActivity } from '../planner/project-activity.ts';

/**
 * The table is read again after this time. Commands and wishes of other processes are noticed earlier, by the watch
 * for work (`mustReadStore`). This bound covers what is noticed in no other way, such as a bound that was lowered.
 */
const QUIET_MS_MAX = 5 * MINUTE_MS;

/** A first page that shows nothing to do. While its bytes stay the same, there is still nothing to do. */
export interface QuietPage {
  readonly digest: string;
  readonly activity: ProjectActivity;
  /** The page shows these operations open. They have failed and wait for their retry. */
  readonly openIds: readonly string[];
}

/** A poll found nothing of this project unpublished or about to end, so the next polls need no read of the table. */
export interface QuietProject {
  readonly project: ProjectRecord;
  /** These operations, by id, have failed and wait for their retry. */
  readonly operations: ReadonlyMap<string, OperationRecord>;
  /** The records were last read from the table at this time, by our clock. */
  readonly readAtMs: number;
  /** It is undefined when the next first page has to be parsed. */
  readonly page: QuietPage | undefined;
}

export interface ProjectMemory {
  /** The last walk met these settled operations. Their rows need no read of the table while they do not change. */
  settled: SettledRows;
  /** The operations of history that the first walk has met until now, by id, took this. A walk may take several polls. */
  readonly historySamples: Map<string, DurationSample>;
  /** Each open operation was last read, or was asked for without an answer, at this time, by our clock. */
  readonly readAtMs: Map<string, number>;
  /** Holds when each open operation that answers 404 did so first and last, by our clock. */
  readonly missing: Map<string, { readonly firstMs: number; readonly lastMs: number }>;
  /** The next poll continues here in the project's part of the work index. It is undefined at its beginning. */
  nextEntries: IndexPosition | undefined;
  /** The last sweep failed at this time, by our clock. It is undefined when that sweep succeeded or none has run. */
  sweepFailedAtMs: number | undefined;
  /** The last poll that has walked to the end began at this time, by our clock. It is undefined when none has. */
  walkedFromMs: number | undefined;
  /** It is undefined while the next poll has to read the table. */
  quiet: QuietProject | undefined;
  /** The last poll that found the project quiet began at this time, by our clock. It is undefined when none has. */
  quietSeenAtMs: number | undefined;
  /** Another process has left something for the project since the last poll began. */
  isStoreChanged: boolean;
  /** It is true once the log says that the project's list is out of order. */
  isDisorderLogged: boolean;
}

export function emptyMemory(): ProjectMemory {
  return {
    settled: new Float64Array(),
    historySamples: new Map(),
    readAtMs: new Map(),
    missing: new Map(),
    nextEntries: undefined,
    sweepFailedAtMs: undefined,
    walkedFromMs: undefined,
    quiet: undefined,
    quietSeenAtMs: undefined,
    isStoreChanged: false,
    isDisorderLogged: false,
  };
}

/** The next poll of the project reads the table, also when one is under way now. */
export function mustReadStore(memory: ProjectMemory | undefined): void {
  if (memory !== undefined) memory.isStoreChanged = true;
}

/**
 * Begins a poll. Returns what is remembered, or undefined when the table has to be read. The memory is empty
 * afterwards, because a poll that fails may have written something.
 */
export function takeQuiet(memory: ProjectMemory, nowMs: number): QuietProject | undefined {
  const { quiet, isStoreChanged } = memory;
  memory.quiet = undefined;
  memory.isStoreChanged = false;
  // The clock may have been changed, so the age is taken without its sign.
  const isYoung = quiet !== undefined && Math.abs(nowMs - quiet.readAtMs) < QUIET_MS_MAX;
  return isYoung && !isStoreChanged ? quiet : undefined;
}

/**
 * Ends a poll that found the project quiet and began at `beganMs`. A project that is polled less than twice in
 * `QUIET_MS_MAX` is not remembered, because its memory would never be used.
 */
export function rememberQuiet(memory: ProjectMemory, quiet: QuietProject, beganMs: number): void {
  const seenAtMs = memory.quietSeenAtMs;
  memory.quietSeenAtMs = beganMs;
  if (memory.isStoreChanged) return;
  const isPolledOften = seenAtMs !== undefined && Math.abs(beganMs - seenAtMs) < QUIET_MS_MAX;
  if (isPolledOften) memory.quiet = quiet;
}

/** There is one number for each row, and they are sorted. */
type SettledRows = Float64Array;

export function settledRowsOf(states: ReadonlyMap<string, OperationState>): SettledRows {
  return Float64Array.from(states, ([id, state]) => fingerprint(id, state)).toSorted();
}

/**
 * At most this many rows of one project are kept while a walk takes several polls, at 8 bytes each. Further rows are
 * read again.
 */
export const JOINED_ROWS_MAX = 50_000;

/** Returns the rows of both, or only those of the latest poll when together they are more than `JOINED_ROWS_MAX`. */
export function joinSettledRows(latest: SettledRows, earlier: SettledRows): SettledRows {
  const prints = new Set([...latest, ...earlier]);
  return prints.size > JOINED_ROWS_MAX ? latest : Float64Array.from(prints).toSorted();
}

export function isSettledRow(rows: SettledRows, id: string, state: OperationState): boolean {
  const wanted = fingerprint(id, state);
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return rows[low] === wanted;
}

/** Thirteen hexadecimal digits of a hash are a whole number of 52 bits. */
function fingerprint(id: string, { status, failures_count }: OperationState): number {
  return Number.parseInt(hash('sha256', `${id} ${status} ${failures_count}`).slice(0, 13), 16);
}
