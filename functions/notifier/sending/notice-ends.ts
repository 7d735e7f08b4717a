/** What becomes of notices: reported, refused by the channel, or recognised as copies. */

import type { NoticeOutcome } from '../../../shared/alerts/notice-outcome.ts';
import type { Notice } from '../deciding/notice.ts';

/** How many writes are under way at once: one message can name 2,000 notices, and the outcome of each is a write of its own. */
export const WRITES_AT_ONCE = 25;

export interface NoticeEnds {
  /** Notes the outcome of notices, by the sort keys of their items. They wait no more. */
  settle(
    channel: string,
    sks: readonly string[],
    end: { readonly outcome: NoticeOutcome; readonly reason?: string | undefined },
  ): Promise<void>;
  /** Keeps, for a person to look at, which notices a channel refused for good and why. */
  park(channel: string, notices: readonly Notice[], reason: string): Promise<void>;
}
