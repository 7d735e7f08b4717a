/**
 * Decides which lane polls an account, and keeps how each lane is doing: its load, what helps against it, and the
 * accounts that it has set aside. A lane is one scheduled invocation that polls many accounts.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { DAY_MS, HOUR_MS } from '../records/time.ts';
import { LANES_STATUS_PARTITION, laneStatusKey } from '../store/keys.ts';
import type { Attribute, IndexPosition, Item, Table, TablePartitions } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';

/** A part of an account's settings: the lane is given when a person has pinned the account to it. */
export interface LaneChoice {
  readonly account_id: string;
  readonly lane?: number | undefined;
}

/**
 * Returns a number from 0 to `laneCount` - 1. A pin to a lane that does not exist is ignored. Pinned accounts may have
 * lanes of their own: ids are spread over the first `sharedLaneCount` lanes only, which are all by default.
 */
export function laneOf(
  { account_id, lane }: LaneChoice,
  laneCount: number,
  sharedLaneCount: number = laneCount,
): number {
  if (lane !== undefined && lane < laneCount) return lane;
  return jumpHash(numberOf(account_id), Math.max(1, Math.min(sharedLaneCount, laneCount)));
}

/** Returns the first 64 bits of the id's SHA-256. */
function numberOf(accountId: string): bigint {
  return createHash('sha256').update(accountId).digest().readBigUInt64BE(0);
}

const BITS_64 = 2n ** 64n - 1n;

/**
 * Spreads keys evenly over the buckets. One bucket more takes over its own share of keys, and no key moves between the
 * others (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
 */
function jumpHash(key: bigint, bucketCount: number): number {
  let state = key;
  let bucket = 0;
  for (let next = 0; next < bucketCount; ) {
    bucket = next;
    state = (state * 2862933555777941757n + 1n) & BITS_64;
    // The upper 31 bits are the random number of this step.
    next = Math.floor((bucket + 1) * (2 ** 31 / (Number(state >> 33n) + 1)));
  }
  return bucket;
}

/** At most this many accounts are named, so that the item stays below ten kilobytes. */
export const SET_ASIDE_NAMED_MAX = 100;

const count = z.number().nonnegative();

const laneStatus = z.object({
  lane: z.number().int().nonnegative(),
  /** The item was written at this time by our clock, ISO 8601. */
  written_at: z.iso.datetime(),
  /** The lane has polled this many accounts in its last invocation. */
  account_count: count,
  /** The load is a percentage of the bound that is nearest. More than 100 is too much. */
  load_percent: count,
  event_loop_delay_ms: count,
  late_decision_ms: count,
  memory_mb: count,
  /** This many sockets to upstreams were in use at the same time. */
  sockets_max: count,
  advice: z.enum(['none', 'pin_account', 'add_lane', 'add_memory']),
  /** This account is to be pinned to a lane of its own. It is there when the advice is `pin_account`. */
  advice_account_id: z.string().optional(),
  /** The pollers of these accounts threw, and they are polled again from `until` on. */
  set_aside: z
    .array(z.object({ account_id: z.string(), failure_count: count, until: z.iso.datetime() }))
    .max(SET_ASIDE_NAMED_MAX),
});

export type LaneStatus = Readonly<z.output<typeof laneStatus>>;

/** The item has these attributes, beside its key, `kind` and `expires_at`. */
export const LANE_STATUS_ATTRIBUTES: readonly string[] = Object.keys(laneStatus.shape);

/** An item of a lane that was taken away is deleted after this time. */
const KEPT_MS = 7 * DAY_MS;

export async function writeLaneStatus(table: Table, status: LaneStatus): Promise<void> {
  const { advice_account_id, set_aside, ...fields } = status;
  await table.update({
    key: laneStatusKey(status.lane),
    set: {
      kind: 'lane_status',
      ...fields,
      advice_account_id,
      set_aside: set_aside.map((each): Attribute => ({ ...each })),
      expires_at: Math.floor((Date.parse(status.written_at) + KEPT_MS) / 1_000),
    },
    ...(advice_account_id === undefined && { remove: ['advice_account_id'] }),
  });
}

/** Resolves to the statuses that can be read, by lane. The number of lanes bounds them. */
export async function readLaneStatuses(
  partitions: TablePartitions,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<readonly LaneStatus[]> {
  const items: Item[] = [];
  let start: IndexPosition | undefined;
  do {
    const page = await partitions.readPartition({ partition: LANES_STATUS_PARTITION, start });
    items.push(...page.items);
    start = page.next;
  } while (start !== undefined);
  return items
    .flatMap((item) => {
      const parsed = laneStatus.safeParse(item);
      if (parsed.success) return [parsed.data];
      const fields = parsed.error.issues.map(({ path }) => path.join('.'));
      noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
      return [];
    })
    .toSorted((a, b) => a.lane - b.lane);
}

/**
 * A lane that has not written for an hour does not exist any more: its number is beyond the number of lanes. A lane
 * that has stopped polling shows in the health of its accounts within minutes.
 */
const GONE_AFTER_MS = HOUR_MS;

export function presentLanes(statuses: readonly LaneStatus[], nowMs: number): readonly LaneStatus[] {
  return statuses.filter(({ written_at }) => nowMs - Date.parse(written_at) < GONE_AFTER_MS);
}

/** Returns what people should do about the load of the lane, in a sentence, or undefined when there is nothing to do. */
export function adviceSentence({
  lane,
  advice,
  advice_account_id,
}: Pick<LaneStatus, 'lane' | 'advice' | 'advice_account_id'>): string | undefined {
  switch (advice) {
    case 'none':
      return undefined;
    case 'add_lane':
      return 'Raise "lanes" in the configuration by one and deploy it.';
    case 'pin_account':
      return `Give the account ${advice_account_id ?? ''} a lane of its own ("own_lanes" in the configuration), because it does most of the polls of lane ${lane}.`;
    case 'add_memory':
      return 'Give the function more memory, which brings more processor time, too ("poller_memory_mb", or "memory_mb" of an own lane).';
  }
}
