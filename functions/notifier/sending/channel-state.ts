/**
 * Defines what sending reads and writes in the table: a channel's own item, the notices that wait and how their end
 * is noted, and what the channel remembers of an incident.
 */

import * as z from 'zod';
import { pagesSchema } from '../../../shared/alerts/channel-apps.ts';
import type { IncidentRecord, IncidentStore, NoticeOutcome } from '../../../shared/alerts/incidents.ts';
import type { Attribute, Key } from '../../../shared/store/table.ts';
import type { LastRing } from '../channels/channel.ts';
import { type Incident, threadSchema } from '../deciding/incident.ts';
import type { Notice, PendingNotice, WaitingNotice } from '../deciding/notice.ts';
import { hasJustRung } from '../deciding/waking.ts';

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

/** The message for which a channel notified people last. What is critical soon after joins it without notifying them again. */
const ring = z.object({
  channel: z.string(),
  ts: z.string(),
  at_ms: z.number(),
  /** These critical notices have joined the message since, each with the name of what it is about. */
  silent: z.array(z.object({ about: z.string(), line: z.string() })),
  /** This number of further notices has joined the message, and is not listed. */
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
  /** Lists were last edited at this time. */
  edited_at_ms: z.number().optional().catch(undefined),
  /** These pages are open on a channel that keeps them open until their trouble has ended. */
  pages: pagesSchema.optional().catch(undefined),
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

export interface KnownNotices {
  /** Resolves to the notices with these sort keys that are stored still. `stored_at_ms` is 0. */
  readKnown(channel: string, sks: readonly string[]): Promise<readonly KnownNotice[]>;
}

export interface KnownNotice extends WaitingNotice {
  /** When false, it has an outcome. */
  readonly isWaiting: boolean;
}

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

/** An item's revision is a number, and undefined when there is no item. */
export type Revision = Attribute | undefined;

export interface StoredIncident {
  readonly key: Key;
  readonly revision: Revision;
  readonly incident: Incident;
  /** When false, the incident cannot be read and is left as it is, for a person to look at. */
  readonly isReadable: boolean;
}

/** The keys are the names of the incidents. */
export type StoredIncidents = ReadonlyMap<string, StoredIncident>;

export interface IncidentMemory {
  /** Resolves to all these incidents. One of which nothing is known is empty. */
  readMany(channel: string, names: Iterable<string>): Promise<StoredIncidents>;
  /** Writes the change. When another writer was faster, the change is applied to what that writer left. */
  change(channel: string, found: StoredIncident, change: (incident: Incident) => Incident): Promise<void>;
}

export interface CareRecords {
  readonly incidentsOf: (accountId: string) => IncidentStore;
  /** Resolves to incidents of the account that are open, at most one page of the index. */
  readonly readOpenRecords: (accountId: string) => Promise<readonly IncidentRecord[]>;
}
