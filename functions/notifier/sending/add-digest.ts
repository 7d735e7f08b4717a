/** Adds the hourly digest of failures that healed to what the channel reports. */

import { digestOf, operationCountOf } from '../deciding/digest.ts';
import type { Notice } from '../deciding/notice.ts';
import { reportsDigests } from '../deciding/route.ts';
import { hold, type Turn } from './turn.ts';

/** A crash between the two writes adds no second digest, because its id is the same. Resolves to false when another notifier holds the channel. */
export async function addDigest(turn: Turn): Promise<boolean> {
  const { deps, channel, state } = turn;
  const digest = digestOf(state?.healed, state?.last_digest_count, deps.clock.now());
  if (digest === undefined || state?.healed === undefined) return true;
  if (takesDigests(turn, digest)) await deps.store.inbox.add(channel.name, digest);
  return hold(turn, { healed: undefined, last_digest_count: operationCountOf(state.healed) });
}

function takesDigests({ deps, channel }: Turn, digest: Notice): boolean {
  return reportsDigests(channel.name, deps.policy) && (channel.takes?.(digest) ?? true);
}
