/**
 * Defines a channel's own item: which notifier holds the channel, what was sent lately, how the channel answers, and
 * its current message.
 */

import * as z from 'zod';
import type { LastRing } from '../channels/kind/channel.ts';
import { hasJustRung } from '../deciding/messages/gathering.ts';
import { threadSchema } from '../deciding/messages/incident.ts';
import type { Revision } from './stored-incident.ts';

/** The failures of one action that healed, for the next digest. */
const healedAction = z.object({
  operation_count: z.number(),
  attempt_count: z.number(),
});

const healed = z.object({
  /** The first of them was noted at this time. */
  since_ms: z.number(),
  /** The keys are actions. */
  by_action: z.record(z.string(), healedAction),
  /** These alerts were not sent, because a person had acknowledged what they are about. */
  acknowledged_count: z.number().optional(),
});

/** A channel that can join messages rang for this one last. */
const ring = z.object({
  channel: z.string(),
  ts: z.string(),
  at_ms: z.number(),
  /** These critical notices have joined it since without a ring, each with the name of what it is about. */
  silent: z.array(z.object({ about: z.string(), line: z.string() })),
  /** So many further ones have joined it. */
  more_count: z.number(),
});

export type StoredRing = z.infer<typeof ring>;

const message = z.object({
  /**
   * While `sending`, the outcome of the message is not known. With `reported` or `refused` it is known, but it may
   * not have been noted on every notice yet.
   */
  phase: z.enum(['sending', 'reported', 'refused']),
  /** The items of its notices have these sort keys. */
  sks: z.array(z.string()),
  /** The message was planned at this time. */
  at_ms: z.number(),
  thread: threadSchema.optional(),
  reason: z.string().optional(),
});

/** A field that cannot be read counts as unknown, because a damaged item must not silence its channel. */
export const channelItem = z.object({
  /** The notifier that holds the channel may send on it until this time. */
  held_until_ms: z.number().catch(0),
  sent_at_ms: z.array(z.number()).catch([]),
  /** The pause ends at this time, whether the channel asked for it with `Retry-After` or a failure caused it. */
  not_before_ms: z.number().catch(0),
  failures_in_row: z.number().catch(0),
  /** Something has been due since this time without the channel taking a message. */
  waiting_since_ms: z.number().optional().catch(undefined),
  /** The channel answered like this when it last did not take a message. */
  last_reason: z.string().optional().catch(undefined),
  /** This is the `waiting_since_ms` that was reported on the other channels. */
  deaf_reported_ms: z.number().optional().catch(undefined),
  /** The channel refused a larger message. Smaller ones find the notice that is at fault. */
  notices_max: z.number().positive().optional().catch(undefined),
  /** When true, more notices were waiting than the last message could name, so the next invocation looks at once. */
  has_more: z.boolean().optional().catch(undefined),
  message: message.optional().catch(undefined),
  /** People were last interrupted by a message at this time. */
  interrupted_at_ms: z.number().optional().catch(undefined),
  /** After that, the notices of other incidents are gathered for this long. */
  gather_ms: z.number().optional().catch(undefined),
  /** A critical message last went out at this time. */
  critical_at_ms: z.number().optional().catch(undefined),
  ring: ring.optional().catch(undefined),
  /** These failures ended before they woke people, since the last digest. */
  healed: healed.optional().catch(undefined),
  /** Muted alerts that were stored up to this time stand in a digest. */
  muted_counted_ms: z.number().optional().catch(undefined),
  /** This many operations stood in the last digest. */
  last_digest_count: z.number().optional().catch(undefined),
});

/** Returns the message that rang last on a channel that can join messages. */
export function lastRingOf(
  state: ChannelState | undefined,
  gatherMs: number,
  nowMs: number,
): LastRing | undefined {
  return state?.ring && { ...state.ring, isFresh: hasJustRung(state.ring.at_ms, gatherMs, nowMs) };
}

export type MessageUnderWay = z.infer<typeof message>;

export interface ChannelState extends z.infer<typeof channelItem> {
  readonly revision: Revision;
}

export interface ChannelStates {
  read(channel: string): Promise<ChannelState>;
  /** Resolves to undefined when another notifier has changed the item since it was read. */
  write(channel: string, next: ChannelState): Promise<ChannelState | undefined>;
}
