/** What sending reads of notices that wait on a channel. */

import type { PendingNotice, WaitingNotice } from '../deciding/pending-notice.ts';

export interface WaitingNotices {
  /** Waiting notices that are wanted, the most severe first and then the oldest: `countMax` and a little more at most. */
  list(
    channel: string,
    countMax: number,
    isWanted: (pending: PendingNotice) => boolean,
  ): Promise<readonly PendingNotice[]>;
  /** Reads the items. The index may lag behind, so notices that were sent meanwhile are left out. */
  read(channel: string, pendings: readonly PendingNotice[]): Promise<readonly WaitingNotice[]>;
}

export interface BegunNotices {
  /** Of a message that was begun, by the sort keys of its notices: those that still wait. `stored_at_ms` is 0. */
  readBegun(channel: string, sks: readonly string[]): Promise<readonly WaitingNotice[]>;
}
