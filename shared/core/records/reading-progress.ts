/** Describes how far the operations of a project are read: what its record keeps of that, and what one poll writes. */

import type { Timestamp } from '../time/timestamp.ts';

/** A walk was cut short here: every row from `head` down to `cursor` is recorded. */
export interface ResumePoint {
  /** The walk earns this head as its bound, however many polls it takes. */
  readonly head: Timestamp;
  readonly cursor: string;
}

/** The next poll continues here a sweep that one poll did not finish. */
export interface SweepPoint {
  /** The sweep reads down to this time. */
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
  readonly bound?: Timestamp | undefined;
  /** The bound is lowered by a repair, and not earned by a walk. */
  readonly isLowered?: true | undefined;
  readonly since?: Timestamp | undefined;
  readonly resume?: ResumePoint | null | undefined;
  readonly sweep?: SweepPoint | null | undefined;
  readonly sweptAtMs?: number | undefined;
  readonly arrivals?: StoredArrivals | undefined;
}
