/**
 * Decides whether events are on time and the alert channels take alerts, from the poller's report and from what is not
 * published yet.
 */

import type { AccountStanding } from '../../../shared/accounts/account-directory.ts';
import type { AccountStatus, UnreadProject } from '../../../shared/core/records/account-status.ts';
import type { Unpublished } from '../read-model/open-work.ts';
import { troubleReasons } from './account-trouble.ts';

export interface Health {
  /** A paused account is not polled because an administrator wants it so. Its health says nothing of the poller. */
  readonly state: AccountStanding['state'];
  /** The account is paused since then, ISO 8601. It is absent while the account is active. */
  readonly paused_since?: string;
  readonly healthy: boolean;
  /** Each reason is a sentence for a person. The list is empty when all is well. */
  readonly reasons: readonly string[];
  /**
   * The age counts from the latest moment at which every project had been read completely. It is null when that never
   * happened.
   */
  readonly last_complete_walk_age_seconds: number | null;
  /** The list has the projects that were tried and not read to their end, as far as the caller may see them. */
  readonly unread_projects: readonly UnreadHealth[];
  readonly poller_seen_age_seconds: number | null;
  readonly unpublished: { readonly count: number; readonly oldest_age_seconds: number | null };
}

interface UnreadHealth {
  readonly project_id: string;
  /** The age counts from the project's last complete reading, or from its discovery when there was none. */
  readonly age_seconds: number;
  /** The reason says why the last attempt failed. */
  readonly reason: string;
}

/** The poller reports every minute, and three missing reports are more than a delay. */
const POLLER_AGE_MS_MAX = 3 * 60_000;

/** This is twice the time that a round of 5,000 projects takes. */
const WALK_AGE_MS_MAX = 30 * 60_000;

/**
 * By then a project was tried four times. An account of which nothing can be read counts as degraded after the same
 * time.
 */
const UNREAD_AGE_MS_MAX = 3 * 60_000;

/** The first reading of a project with years of operations may take this long. */
const UNFINISHED_AGE_MS_MAX = WALK_AGE_MS_MAX;

/** One sentence names at most this many projects, and `unread_projects` lists all of them. */
const NAMES_MAX = 5;

/** Each poll publishes what it finds, so the bus has refused an older event several times. */
const UNPUBLISHED_AGE_MS_MAX = 2 * 60_000;

export interface Observed {
  /** By default the account is active. */
  readonly standing?: AccountStanding | undefined;
  readonly status: AccountStatus | undefined;
  readonly unpublished: Unpublished;
  /** Each sentence is about an alert channel that accepts nothing. */
  readonly channelReasons?: readonly string[];
  readonly nowMs: number;
  /** Returns whether the caller may see the project with this id. */
  readonly maySee?: (projectId: string) => boolean;
}

export function decideHealth({
  standing = { state: 'active' },
  status,
  unpublished,
  channelReasons = [],
  nowMs,
  maySee = () => true,
}: Observed): Health {
  const ages: Ages = {
    pollerMs: ageMs(status?.written_at, nowMs),
    walkMs: ageMs(status?.last_complete_walk_at, nowMs),
    unreadMs: ageMs(status?.unread_since ?? status?.last_complete_walk_at, nowMs),
    oldestMs: ageMs(unpublished.oldest_at, nowMs),
    activeMs: ageMs(standing.state_since, nowMs) ?? Number.POSITIVE_INFINITY,
  };
  const unread = unreadOf(status, nowMs, ages.activeMs);
  const late = unread.filter(({ isLate }) => isLate).map(({ health }) => health);
  const ofPolling = [
    ...pollerReasons(ages),
    ...troubleReasons(status),
    ...(late.length > 0 ? [unreadReason(late, maySee)] : []),
    ...busReasons(ages, unpublished.count),
  ];
  const { state, state_since } = standing;
  const reasons = [...(state === 'active' ? ofPolling : refusal(standing)), ...channelReasons];
  return {
    state,
    ...(state === 'paused' && state_since !== undefined && { paused_since: state_since }),
    healthy: reasons.length === 0,
    reasons,
    last_complete_walk_age_seconds: secondsOrNull(ages.walkMs),
    unread_projects: unread.map(({ health }) => health).filter(({ project_id }) => maySee(project_id)),
    poller_seen_age_seconds: secondsOrNull(ages.pollerMs),
    unpublished: { count: unpublished.count, oldest_age_seconds: secondsOrNull(ages.oldestMs) },
  };
}

/** An age is undefined when the thing has never happened. */
interface Ages {
  readonly pollerMs: number | undefined;
  readonly walkMs: number | undefined;
  readonly unreadMs: number | undefined;
  readonly oldestMs: number | undefined;
  /** What the poller has missed while the account was paused does not count: nothing is older than this. */
  readonly activeMs: number;
}

function refusal({ fault }: AccountStanding): readonly string[] {
  return fault === undefined ? [] : [`The deployment does not allow this account: ${fault}.`];
}

function pollerReasons({ activeMs, ...ages }: Ages): readonly string[] {
  const pollerMs = ages.pollerMs && Math.min(ages.pollerMs, activeMs);
  const unreadMs = ages.unreadMs && Math.min(ages.unreadMs, activeMs);
  const reasons: string[] = [];
  if (pollerMs === undefined)
    reasons.push(
      Number.isFinite(activeMs) && activeMs > POLLER_AGE_MS_MAX
        ? `The poller has not reported on this account in the ${seconds(activeMs)} s for which it should poll it: it does not serve the account, or its schedule is off.`
        : 'The poller has not reported yet; it does so ten seconds after its first start.',
    );
  if (pollerMs !== undefined && pollerMs > POLLER_AGE_MS_MAX)
    reasons.push(`The poller has been silent for ${seconds(pollerMs)} s: is its schedule on?`);
  if (unreadMs !== undefined && unreadMs > WALK_AGE_MS_MAX)
    reasons.push(
      `A project has not been read completely for ${seconds(unreadMs)} s: the upstream refuses it, or the rate limit is too small.`,
    );
  return reasons;
}

function busReasons({ oldestMs, activeMs }: Ages, count: number): readonly string[] {
  if (oldestMs === undefined || Math.min(oldestMs, activeMs) <= UNPUBLISHED_AGE_MS_MAX) return [];
  return [
    `The oldest of ${count} unpublished events is ${seconds(oldestMs)} s old: does the bus refuse them?`,
  ];
}

function unreadOf(status: AccountStatus | undefined, nowMs: number, activeMs: number) {
  return (status?.unread_projects ?? []).map(({ project_id, since, reason }: UnreadProject) => {
    const sinceMs = Math.max(0, nowMs - Date.parse(since));
    const mostMs = reason === 'unfinished' ? UNFINISHED_AGE_MS_MAX : UNREAD_AGE_MS_MAX;
    return {
      health: { project_id, age_seconds: seconds(sinceMs), reason },
      isLate: Math.min(sinceMs, activeMs) > mostMs,
    };
  });
}

/** Names only the projects that the caller may see, and counts the others. */
function unreadReason(unread: readonly UnreadHealth[], maySee: (projectId: string) => boolean): string {
  const named = unread.filter(({ project_id }) => maySee(project_id)).slice(0, NAMES_MAX);
  const names = named.map(
    ({ project_id, age_seconds, reason }) => `${project_id} (${age_seconds} s, ${reason})`,
  );
  const others = unread.length - named.length;
  if (others > 0) names.push(others === 1 ? 'one other project' : `${others} other projects`);
  return `These projects were tried and not read completely: ${names.join(', ')}.`;
}

function seconds(durationMs: number): number {
  return Math.round(durationMs / 1_000);
}

function secondsOrNull(durationMs: number | undefined): number | null {
  return durationMs === undefined ? null : seconds(durationMs);
}

function ageMs(time: string | undefined, nowMs: number): number | undefined {
  return time === undefined ? undefined : Math.max(0, nowMs - Date.parse(time));
}
