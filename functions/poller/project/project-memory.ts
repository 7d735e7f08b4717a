/** What one process remembers of a project between polls. Losing it costs requests and reads, never data. */

import type { IndexPosition } from '../../../shared/store/table.ts';
import type { ListEnd } from './list-end.ts';
import type { PageReach } from './page-reach.ts';
import { NO_SETTLED_ROWS, type SettledRows } from './settled-rows.ts';

export interface ProjectMemory {
  /** Settled operations of the last walk: their rows need no read of the table while they do not change. */
  settled: SettledRows;
  /** When each open operation was last read, by our clock. */
  readonly readAtMs: Map<string, number>;
  /** When each open operation that answers 404 did so first, by our clock. */
  readonly missingSinceMs: Map<string, number>;
  /** Where the next poll continues in the project's part of the work index; undefined: at its beginning. */
  nextEntries: IndexPosition | undefined;
  /** How far back the first page of the last walk reached; it sizes the next one. */
  reach: PageReach | undefined;
  /** Rows of the last first page, when it had fewer than were asked for: a page of this list may hold no more. */
  pageRowsMax: number | undefined;
  /** Where the list was seen to end. */
  listEnd: ListEnd | undefined;
  /** When the last sweep failed, by our clock; undefined when it succeeded or none has run. */
  sweepFailedAtMs: number | undefined;
  /** Consecutive walks that the upstream did not answer to the end. */
  failureCount: number;
  /** The newest recorded operation was looked up after the first of these failures. */
  isReachNoted: boolean;
  /** Names of the log lines that are written once about this project. */
  readonly logged: Set<string>;
}

export function emptyMemory(): ProjectMemory {
  return {
    settled: NO_SETTLED_ROWS,
    readAtMs: new Map(),
    missingSinceMs: new Map(),
    nextEntries: undefined,
    reach: undefined,
    pageRowsMax: undefined,
    listEnd: undefined,
    sweepFailedAtMs: undefined,
    failureCount: 0,
    isReachNoted: false,
    logged: new Set(),
  };
}
