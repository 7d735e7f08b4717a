/** Describes what one process remembers of a project between polls. Losing it costs requests and reads, never data. */

import type { IndexPosition } from '../../../../shared/store/table.ts';
import type { ListEnd } from './list-end.ts';
import type { PageReach } from './page-reach.ts';
import type { QuietMemory } from './quiet-project.ts';
import { NO_SETTLED_ROWS, type SettledRows } from './settled-rows.ts';

export interface ProjectMemory extends QuietMemory {
  /** The last walk met these settled operations. Their rows need no read of the table while they do not change. */
  settled: SettledRows;
  /** Each open operation was last read at this time, by our clock. */
  readonly readAtMs: Map<string, number>;
  /** Holds when each open operation that answers 404 did so first and last, by our clock. */
  readonly missing: Map<string, { readonly firstMs: number; readonly lastMs: number }>;
  /**
   * The next poll continues here in the project's part of the work index. It is undefined at the beginning of that
   * part.
   */
  nextEntries: IndexPosition | undefined;
  /** The first page of the last walk reached back this far, which sizes the next first page. */
  reach: PageReach | undefined;
  /**
   * The last first page had only this many rows, fewer than were asked for, so a page of this list may hold no more.
   * It is undefined when that page was full.
   */
  pageRowsMax: number | undefined;
  /** The list was seen to end here. */
  listEnd: ListEnd | undefined;
  /** The last sweep failed at this time, by our clock. It is undefined when that sweep succeeded or none has run. */
  sweepFailedAtMs: number | undefined;
  /** Counts the consecutive walks that the upstream did not answer to the end. */
  failureCount: number;
  /** It is true once the item of the project names what is recorded, because of these failures. */
  isReachNoted: boolean;
  /** The log lines with these names were written, and are not written again about this project. */
  readonly logged: Set<string>;
}

export function emptyMemory(): ProjectMemory {
  return {
    settled: NO_SETTLED_ROWS,
    readAtMs: new Map(),
    missing: new Map(),
    nextEntries: undefined,
    reach: undefined,
    pageRowsMax: undefined,
    listEnd: undefined,
    sweepFailedAtMs: undefined,
    failureCount: 0,
    isReachNoted: false,
    logged: new Set(),
    quiet: undefined,
    quietSeenAtMs: undefined,
    isStoreChanged: false,
  };
}
