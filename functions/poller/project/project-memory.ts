/** Describes what one process remembers of a project between polls. Losing it costs requests and reads, never data. */

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
    settled: NO_SETTLED_ROWS,
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

interface SettledRows {
  /** There is one number for each row, and they are sorted. */
  readonly prints: Float64Array;
  has(id: string, state: OperationState): boolean;
}

const NONE = new Float64Array(0);

const NO_SETTLED_ROWS: SettledRows = settledRowsOf(new Map());

export function settledRowsOf(states: ReadonlyMap<string, OperationState>): SettledRows {
  if (states.size === 0) return among(NONE);
  const prints = new Float64Array(states.size);
  let index = 0;
  for (const [id, state] of states) prints[index++] = fingerprint(id, state);
  return among(prints.toSorted());
}

/**
 * At most this many rows of one project are kept while a walk takes several polls, at 8 bytes each. Further rows are
 * read again.
 */
export const JOINED_ROWS_MAX = 50_000;

/** Returns the rows of both, or only those of the latest poll when together they are more than `JOINED_ROWS_MAX`. */
export function joinSettledRows(latest: SettledRows, earlier: SettledRows): SettledRows {
  const prints = new Set([...latest.prints, ...earlier.prints]);
  return prints.size > JOINED_ROWS_MAX ? latest : among(Float64Array.from(prints).toSorted());
}

function among(sorted: Float64Array): SettledRows {
  return {
    prints: sorted,
    has(id, state) {
      const wanted = fingerprint(id, state);
      let low = 0;
      let high = sorted.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
        else high = middle;
      }
      return sorted[low] === wanted;
    },
  };
}

/** Returns 53 bits of two multiplicative hashes, each of which is mixed at the end as in MurmurHash3. */
function fingerprint(id: string, { status, failures_count }: OperationState): number {
  const text = `${id} ${status} ${failures_count}`;
  let first = 0x9e37_79b9;
  let second = 0x85eb_ca6b;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    first = Math.imul(first ^ unit, 0x0100_0193);
    second = Math.imul(second ^ unit, 0x5bd1_e995) ^ (second >>> 15);
  }
  const HIGH_BITS = 21;
  return (stir(first) >>> (32 - HIGH_BITS)) * 2 ** 32 + (stir(second) >>> 0);
}

function stir(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return mixed ^ (mixed >>> 16);
}
