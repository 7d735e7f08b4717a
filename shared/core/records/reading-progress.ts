/** Describes how far the operations of a project are read: what its record keeps of that, and what one poll writes. */

import type { Timestamp } from '../time/timestamp.ts';
import type { RecordedAbove } from './recorded-above.ts';

/** An interrupted walk stopped here: every row from `head` down to `cursor` is recorded. */
export interface ResumePoint {
  /** The list had this head when the walk began. The walk earns it as watermark, however many polls it takes. */
  readonly head: Timestamp;
  readonly cursor: string;
  /** It is true when the list is not newest first, so that only its end ends the walk. */
  readonly is_unordered?: boolean | undefined;
  /** The row at `cursor` was created at this time, in a list that is newest first. */
  readonly lowest?: Timestamp | undefined;
  /** The walk began at this time, by the upstream's clock. It is undefined for a walk that an earlier version has begun. */
  readonly began_at?: Timestamp | undefined;
  /**
   * In an unordered list, it is the newest row so far that was there when the walk began. In another list that cannot
   * be read any more, everything from `lowest` up to this time counts as recorded.
   */
  readonly newest?: Timestamp | undefined;
}

/** The next poll continues here a sweep that one poll did not finish. */
export interface SweepPoint {
  /** The sweep began with this bound. */
  readonly bound: Timestamp;
  readonly cursor: string;
}

export interface StoredArrivals {
  /** This many operations arrived within `observed_ms`. Older ones count for less, so it need not be a whole number. */
  readonly count: number;
  readonly observed_ms: number;
}

/** Describes one write. A field that is undefined stays as it is, and `null` removes it. */
export interface Progress {
  /** It is written only when it is newer than the stored one; otherwise the whole write is refused. */
  readonly watermark?: Timestamp | undefined;
  /**
   * The poll has read this watermark, or `null` when there was none. The whole write is refused when another one is stored
   * by then.
   */
  readonly ifWatermark?: Timestamp | null | undefined;
  readonly resume?: ResumePoint | null | undefined;
  readonly sweep?: SweepPoint | null | undefined;
  readonly sweptAtMs?: number | undefined;
  readonly sweepCount?: number | undefined;
  readonly arrivals?: StoredArrivals | undefined;
  readonly listEnd?: string | undefined;
  /**
   * It is true when the list is not newest first, and `null` when a walk from its head to its end has met no disorder
   * any more.
   */
  readonly isUnordered?: true | null | undefined;
  /** It is `null` when the watermark says it from now on. */
  readonly recordedUntil?: Timestamp | null | undefined;
  /** `null`: there are none any more. */
  readonly recordedAbove?: RecordedAbove | null | undefined;
}
