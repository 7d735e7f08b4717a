/** A channel's own item: which notifier holds the channel, what was sent lately, how the channel answers, and its current message. */

import * as z from 'zod';
import { threadSchema } from '../deciding/incident.ts';
import type { Revision } from './stored-incident.ts';

const message = z.object({
  /**
   * `sending`: the outcome of the message is not known. `reported`, `refused`: the outcome is known, but it may not have been
   * noted on every notice yet.
   */
  phase: z.enum(['sending', 'reported', 'refused']),
  /** Sort keys of the items of its notices. */
  sks: z.array(z.string()),
  /** When the message was planned. */
  at_ms: z.number(),
  thread: threadSchema.optional(),
  reason: z.string().optional(),
});

/** A field that cannot be read counts as unknown, because a damaged item must not silence its channel. */
export const channelItem = z.object({
  /** Until when the notifier that holds the channel may send on it. */
  held_until_ms: z.number().catch(0),
  sent_at_ms: z.array(z.number()).catch([]),
  /** End of the pause that the channel asked for with `Retry-After`, or of our own pause after a failure. */
  not_before_ms: z.number().catch(0),
  failures_in_row: z.number().catch(0),
  /** Since when something has been due without the channel taking a message. */
  waiting_since_ms: z.number().optional().catch(undefined),
  /** How the channel answered when it last did not take a message. */
  last_reason: z.string().optional().catch(undefined),
  /** The `waiting_since_ms` that was reported on the other channels. */
  deaf_reported_ms: z.number().optional().catch(undefined),
  /** The channel refused a larger message: smaller ones find the notice that is at fault. */
  notices_max: z.number().positive().optional().catch(undefined),
  /** More notices were waiting than the last message could name: the next invocation looks at once. */
  has_more: z.boolean().optional().catch(undefined),
  message: message.optional().catch(undefined),
});

export type MessageUnderWay = z.infer<typeof message>;

export interface ChannelState extends z.infer<typeof channelItem> {
  readonly revision: Revision;
}

export interface ChannelStates {
  read(channel: string): Promise<ChannelState>;
  /** Undefined: another notifier has changed the item since it was read. */
  write(channel: string, next: ChannelState): Promise<ChannelState | undefined>;
}
