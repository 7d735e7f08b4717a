/** Adds the hourly digest of what was not reported to what the channel reports: failures that healed, and alerts that were held back. */

import { digestOf, type MutedAlert, operationCountOf } from '../deciding/messages/digest.ts';
import type { Notice } from '../deciding/notices/notice.ts';
import { subjectOfPending } from '../deciding/notices/pending-notice.ts';
import { mutedUntilMs } from '../deciding/policy/mute.ts';
import { reportsDigests } from '../deciding/policy/route.ts';
import { hold, type Turn } from './turn.ts';

/** One digest counts at most this many muted alerts. The next digest counts the rest. */
export const MUTED_COUNTED_MAX = 5_000;

/** A crash between the two writes adds no second digest, because its id is the same. Resolves to false when another notifier holds the channel. */
export async function addDigest(turn: Turn): Promise<boolean> {
  const { deps, channel, state } = turn;
  const muted = await uncountedMutes(turn);
  const digest = digestOf(
    { healed: state?.healed, muted, lastCount: state?.last_digest_count },
    deps.clock.now(),
  );
  if (digest === undefined) return true;
  if (takesDigests(turn, digest)) await deps.store.inbox.add(channel.name, digest);
  const countedMs = muted.map(({ stored_at_ms }) => stored_at_ms);
  return hold(turn, {
    healed: undefined,
    ...(state?.healed && { last_digest_count: operationCountOf(state.healed) }),
    ...(countedMs.length > 0 && { muted_counted_ms: Math.max(...countedMs) }),
  });
}

/** Resolves to the muted alerts that stand in no digest yet. While the digest itself would be muted, none is counted. */
async function uncountedMutes({ deps, channel, state }: Turn): Promise<readonly MutedAlert[]> {
  const { policy, clock, store } = deps;
  const nowMs = clock.now();
  const isAnyMute = policy.mutes.length > 0 || (policy.stored_mutes ?? []).length > 0;
  if (!isAnyMute || mutedUntilMs({ kind: 'digest', account_id: 'bridge' }, policy, nowMs) > 0) return [];
  const countedMs = state?.muted_counted_ms ?? 0;
  const untilMsOf = (pending: Parameters<typeof subjectOfPending>[0]) =>
    mutedUntilMs(subjectOfPending(pending), policy, nowMs);
  const found = await store.waiting.list(
    channel.name,
    MUTED_COUNTED_MAX,
    (pending) => pending.stored_at_ms > countedMs && untilMsOf(pending) > 0,
  );
  return found.map((pending) => ({ ...pending, until_ms: untilMsOf(pending) }));
}

function takesDigests({ deps, channel }: Turn, digest: Notice): boolean {
  return reportsDigests(channel.name, deps.policy) && (channel.takes?.(digest) ?? true);
}
