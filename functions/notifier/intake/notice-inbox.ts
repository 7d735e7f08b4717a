/** Defines where notices come in, whichever part of the notifier makes them. */

import type { Notice } from '../deciding/notices/notice.ts';
import type { PendingNotice } from '../deciding/notices/pending-notice.ts';

export interface NoticeInbox {
  /**
   * Stores the notice for the channel until it is reported. Resolves to undefined when it is a copy of one that was
   * stored before.
   */
  add(channel: string, notice: Notice): Promise<PendingNotice | undefined>;
}
