/** Decides which lane polls an account. A lane is one scheduled invocation that polls many accounts. */

import { createHash } from 'node:crypto';

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
