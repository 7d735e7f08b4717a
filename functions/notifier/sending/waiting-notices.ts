/** Defines what sending reads of the notices that wait on a channel. */

import type { PendingNotice, WaitingNotice } from '../deciding/notices/pending-notice.ts';

export interface WaitingNotices {
  /**
   * Resolves to waiting notices that are wanted, the most severe first and then the oldest: at most `countMax` and a
   * little more.
   */
  list(
    channel: string,
    countMax: number,
    isWanted: (pending: PendingNotice) => boolean,
  ): Promise<readonly PendingNotice[]>;
  /** Reads the items. The index may lag behind, so notices that were sent in the meantime are left out. */
  read(channel: string, pendings: readonly PendingNotice[]): Promise<readonly WaitingNotice[]>;
}

export interface BegunNotices {
  /**
   * Resolves to those notices of a begun message that still wait, by the sort keys of its notices. `stored_at_ms` is
   * 0.
   */
  readBegun(channel: string, sks: readonly string[]): Promise<readonly WaitingNotice[]>;
}
