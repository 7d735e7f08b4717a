/** Whether events are on time and alerts reach people, decided from what the poller says of itself and from what is still unsent. */

import type { AccountStatus } from '../../../shared/core/account-status.ts';

export interface Health {
  readonly healthy: boolean;
  /** Sentences for a person; empty when all is well. */
  readonly reasons: readonly string[];
  /** Since every project was read completely, seconds; null while that never happened. */
  readonly last_complete_walk_age_seconds: number | null;
  readonly poller_seen_age_seconds: number | null;
  readonly unpublished: { readonly count: number; readonly oldest_age_seconds: number | null };
}

/** Written every minute; three that are missing are no delay any more. */
const POLLER_AGE_MS_MAX = 3 * 60_000;

/** A round of 5,000 projects takes a quarter of an hour. */
const WALK_AGE_MS_MAX = 30 * 60_000;

/** Each poll sends what it finds; what is older has been refused several times. */
const UNPUBLISHED_AGE_MS_MAX = 2 * 60_000;

export function healthOf({
  status,
  unpublished,
  channelReasons = [],
  nowMs,
}: {
  readonly status: AccountStatus | undefined;
  readonly unpublished: { readonly count: number; readonly oldest_at: string | undefined };
  /** Of alert channels that take nothing. */
  readonly channelReasons?: readonly string[];
  readonly nowMs: number;
}): Health {
  const ageMs = (time: string | undefined) =>
    time === undefined ? undefined : Math.max(0, nowMs - Date.parse(time));
  const [pollerMs, walkMs, oldestMs] = [
    ageMs(status?.written_at),
    ageMs(status?.last_complete_walk_at),
    ageMs(unpublished.oldest_at),
  ];
  const reasons = [
    pollerMs === undefined &&
      'The poller has not reported yet; it does so ten seconds after its first start.',
    pollerMs !== undefined &&
      pollerMs > POLLER_AGE_MS_MAX &&
      `The poller has been silent for ${seconds(pollerMs)} s: is its schedule on?`,
    walkMs !== undefined &&
      walkMs > WALK_AGE_MS_MAX &&
      `A project has not been read completely for ${seconds(walkMs)} s: the upstream refuses it, or the rate limit is too small.`,
    oldestMs !== undefined &&
      oldestMs > UNPUBLISHED_AGE_MS_MAX &&
      `The oldest of ${unpublished.count} unsent events is ${seconds(oldestMs)} s old: does the bus refuse them?`,
    ...channelReasons,
  ].filter((reason) => reason !== false);
  return {
    healthy: reasons.length === 0,
    reasons,
    last_complete_walk_age_seconds: walkMs === undefined ? null : seconds(walkMs),
    poller_seen_age_seconds: pollerMs === undefined ? null : seconds(pollerMs),
    unpublished: {
      count: unpublished.count,
      oldest_age_seconds: oldestMs === undefined ? null : seconds(oldestMs),
    },
  };
}

function seconds(durationMs: number): number {
  return Math.round(durationMs / 1_000);
}
