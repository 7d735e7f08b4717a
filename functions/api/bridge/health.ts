/** Whether events are on time and alerts reach people, decided from what the poller says of itself and from what is still unsent. */

import type { AccountStatus, UnreadProject } from '../../../shared/core/records/account-status.ts';

export interface Health {
  readonly healthy: boolean;
  /** Sentences for a person; empty when all is well. */
  readonly reasons: readonly string[];
  /** Since every project was read completely, seconds; null while that never happened. */
  readonly last_complete_walk_age_seconds: number | null;
  /** Projects that were tried and not read to their end; only those that the caller may see. */
  readonly unread_projects: readonly UnreadHealth[];
  readonly poller_seen_age_seconds: number | null;
  readonly unpublished: { readonly count: number; readonly oldest_age_seconds: number | null };
}

export interface UnreadHealth {
  readonly project_id: string;
  /** Since its last complete reading or, when there was none, since it is known. */
  readonly age_seconds: number;
  /** What the last attempt met. */
  readonly reason: string;
}

/** Written every minute; three that are missing are no delay any more. */
const POLLER_AGE_MS_MAX = 3 * 60_000;

/** A round of 5,000 projects takes a quarter of an hour. */
const WALK_AGE_MS_MAX = 30 * 60_000;

/** By then a project was tried four times; an account of which nothing can be read counts as degraded after as long. */
const UNREAD_AGE_MS_MAX = 3 * 60_000;

/** A first reading of years of operations takes its time. */
const UNFINISHED_AGE_MS_MAX = WALK_AGE_MS_MAX;

/** Names in one sentence; all that are known stand in `unread_projects`. */
const NAMES_MAX = 5;

/** Each poll sends what it finds; what is older has been refused several times. */
const UNPUBLISHED_AGE_MS_MAX = 2 * 60_000;

export function healthOf({
  status,
  unpublished,
  channelReasons = [],
  nowMs,
  maySee = () => true,
}: {
  readonly status: AccountStatus | undefined;
  readonly unpublished: { readonly count: number; readonly oldest_at: string | undefined };
  /** Of alert channels that take nothing. */
  readonly channelReasons?: readonly string[];
  readonly nowMs: number;
  /** Whether the caller may see a project of this id. */
  readonly maySee?: (projectId: string) => boolean;
}): Health {
  const ageMs = (time: string | undefined) =>
    time === undefined ? undefined : Math.max(0, nowMs - Date.parse(time));
  const [pollerMs, walkMs, unreadMs, oldestMs] = [
    ageMs(status?.written_at),
    ageMs(status?.last_complete_walk_at),
    ageMs(status?.unread_since ?? status?.last_complete_walk_at),
    ageMs(unpublished.oldest_at),
  ];
  const unread = unreadOf(status, nowMs);
  const lateUnread = unread.filter(({ isLate }) => isLate).map(({ health }) => health);
  const reasons = [
    pollerMs === undefined &&
      'The poller has not reported yet; it does so ten seconds after its first start.',
    pollerMs !== undefined &&
      pollerMs > POLLER_AGE_MS_MAX &&
      `The poller has been silent for ${seconds(pollerMs)} s: is its schedule on?`,
    unreadMs !== undefined &&
      unreadMs > WALK_AGE_MS_MAX &&
      `A project has not been read completely for ${seconds(unreadMs)} s: the upstream refuses it, or the rate limit is too small.`,
    lateUnread.length > 0 && unreadReason(lateUnread, maySee),
    oldestMs !== undefined &&
      oldestMs > UNPUBLISHED_AGE_MS_MAX &&
      `The oldest of ${unpublished.count} unsent events is ${seconds(oldestMs)} s old: does the bus refuse them?`,
    ...channelReasons,
  ].filter((reason) => reason !== false);
  return {
    healthy: reasons.length === 0,
    reasons,
    last_complete_walk_age_seconds: walkMs === undefined ? null : seconds(walkMs),
    unread_projects: unread.map(({ health }) => health).filter(({ project_id }) => maySee(project_id)),
    poller_seen_age_seconds: pollerMs === undefined ? null : seconds(pollerMs),
    unpublished: {
      count: unpublished.count,
      oldest_age_seconds: oldestMs === undefined ? null : seconds(oldestMs),
    },
  };
}

function unreadOf(status: AccountStatus | undefined, nowMs: number) {
  return (status?.unread_projects ?? []).map(({ project_id, since, reason }: UnreadProject) => {
    const ageMs = Math.max(0, nowMs - Date.parse(since));
    const mostMs = reason === 'unfinished' ? UNFINISHED_AGE_MS_MAX : UNREAD_AGE_MS_MAX;
    return { health: { project_id, age_seconds: seconds(ageMs), reason }, isLate: ageMs > mostMs };
  });
}

/** Names only what the caller may see; that there is more is said without a name. */
function unreadReason(unread: readonly UnreadHealth[], maySee: (projectId: string) => boolean): string {
  const named = unread.filter(({ project_id }) => maySee(project_id)).slice(0, NAMES_MAX);
  const names = named.map(
    ({ project_id, age_seconds, reason }) => `${project_id} (${age_seconds} s, ${reason})`,
  );
  const others = unread.length - named.length;
  if (others > 0) names.push(others === 1 ? 'one other project' : `${others} other projects`);
  return `Not read completely, although it was tried: ${names.join(', ')}.`;
}

function seconds(durationMs: number): number {
  return Math.round(durationMs / 1_000);
}
