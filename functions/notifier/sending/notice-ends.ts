/** Defines how the end of notices is noted: they were reported, refused by the channel, or recognised as copies. */

import type { NoticeOutcome } from '../../../shared/alerts/notice-outcome.ts';
import type { Notice } from '../deciding/notices/notice.ts';

/**
 * At most this many writes are under way at once. One message can name 2,000 notices, and the outcome of each is a
 * write of its own.
 */
export const WRITES_AT_ONCE = 25;

export interface NoticeEnds {
  /** Notes the outcome of the notices whose items have these sort keys. They no longer wait. */
  settle(
    channel: string,
    sks: readonly string[],
    end: { readonly outcome: NoticeOutcome; readonly reason?: string | undefined },
  ): Promise<void>;
  /** Keeps which notices a channel refused for good and why, for a person to look at. */
  park(channel: string, notices: readonly Notice[], reason: string): Promise<void>;
}
