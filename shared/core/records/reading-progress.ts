/** How far the operations of a project are read: what its record keeps of that, and what one poll writes. */

import type { Timestamp } from '../time/timestamp.ts';
import type { RecordedAbove } from './recorded-above.ts';

/** Where an interrupted walk stopped: every row from `head` down to `cursor` is recorded. */
export interface ResumePoint {
  /** The head of the list when the walk began. The walk earns this watermark, however many polls it takes. */
  readonly head: Timestamp;
  readonly cursor: string;
  /** Whether the list is not newest first, so that only its end ends the walk. */
  readonly is_unordered?: boolean | undefined;
  /** The creation time of the row at `cursor`, for a list that is newest first. */
  readonly lowest?: Timestamp | undefined;
  /** When the walk began, for an unordered list. */
  readonly began_at?: Timestamp | undefined;
  /**
   * Of an unordered list: the newest row so far that was there when the walk began. Of another one that cannot be read any
   * more: the newest operation that is recorded.
   */
  readonly newest?: Timestamp | undefined;
}

/** Where a sweep continues that one poll did not finish. */
export interface SweepPoint {
  /** The bound with which the sweep began. */
  readonly bound: Timestamp;
  readonly cursor: string;
}

export interface StoredArrivals {
  /** Operations that arrived within `observed_ms`; older ones count for less, so it need not be a whole number. */
  readonly count: number;
  readonly observed_ms: number;
}

/** One write. A field that is undefined stays as it is; `null` removes it. */
export interface Progress {
  /** Written only when it is newer than the stored one; otherwise the whole write is refused. */
  readonly watermark?: Timestamp | undefined;
  readonly resume?: ResumePoint | null | undefined;
  readonly sweep?: SweepPoint | null | undefined;
  readonly sweptAtMs?: number | undefined;
  readonly sweepCount?: number | undefined;
  readonly arrivals?: StoredArrivals | undefined;
  readonly listEnd?: string | undefined;
  /** The list is not newest first; `null`: a walk from its head to its end has met no disorder any more. */
  readonly isUnordered?: true | null | undefined;
  /** `null`: the watermark says it from now on. */
  readonly recordedUntil?: Timestamp | null | undefined;
  /** `null`: there are none any more. */
  readonly recordedAbove?: RecordedAbove | null | undefined;
}
