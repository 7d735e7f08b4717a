/**
 * Serves whether events of the caller's account are on time, and whether the alert channels take alerts. Both are
 * decided from the poller's report and from what is open.
 */

import * as z from 'zod';
import type { AccountStanding, StandingOf } from '../../../shared/accounts/account-directory.ts';
import { type Caller, maySee as maySeeProject } from '../../../shared/callers/scopes.ts';
import type { AccountStatus, AccountTrouble, UnreadProject } from '../../../shared/records/account-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { OpenWork, Unpublished } from '../read-model/account-activity.ts';
import type { Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

export interface HealthDeps {
  /** Resolves to undefined while the poller has not written its status yet. */
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  readonly standingOf: StandingOf;
  /** Resolves to a sentence for each alert channel that accepts nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
  readonly clock: Clock;
}

export function healthRoutes(modelOf: ModelOf, deps: HealthDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'getHealth',
        path: '/health',
        summary: 'Whether events are on time and the alert channels take alerts',
        description:
          '503 when they are not, with the reasons. About the account of the caller. A project that could not be read completely for three minutes is a reason, by its name. A paused account is in order: `state` says that it is paused, and the poller is not expected to read it.',
        access: 'signed_in',
        otherStatuses: [503],
        answer: z.looseObject({
          healthy: z.boolean(),
          reasons: z.array(z.string()),
          state: z.enum(['active', 'paused', 'refused']),
        }),
      },
      async ({ caller }, work) => {
        const { health } = await readHealth(deps, work, caller);
        return { status: health.healthy ? 200 : 503, body: health };
      },
    ),
  ];
}

/** Reads the health of an account. It names only projects that the caller may see. */
export async function readHealth(
  { statusOf, standingOf, deafChannels, clock }: HealthDeps,
  work: Pick<OpenWork, 'unpublished'>,
  caller: Caller,
): Promise<{ readonly status: AccountStatus | undefined; readonly health: Health }> {
  const [status, unpublished, channelReasons] = await Promise.all([
    statusOf(caller.account_id),
    work.unpublished(),
    deafChannels(),
  ]);
  const nowMs = clock.now();
  const isVisible = (projectId: string) => maySeeProject(caller, projectId);
  const standing = standingOf(caller.account_id);
  const observed = { standing, status, unpublished, channelReasons, nowMs, maySee: isVisible };
  return { status, health: decideHealth(observed) };
}

export interface Health {
  /** A paused account is not polled because an administrator wants it so. Its health says nothing of the poller. */
  readonly state: AccountStanding['state'];
  /** The account is paused since then, ISO 8601. It is absent while the account is active. */
  readonly paused_since?: string;
  readonly healthy: boolean;
  /** Each reason is a sentence for a person. The list is empty when all is well. */
  readonly reasons: readonly string[];
  /**
   * The age counts from the latest moment at which every project had been read completely. It is null while the poller has not read
   * every project since it started, or since a project is new.
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

const SENTENCES: Readonly<Record<AccountTrouble, string>> = {
  key_rejected: "The upstream refuses the account's key: put a valid one into its secret.",
  key_unreadable:
    "The account's key cannot be read from its secret: the log line key.unreadable of the poller says why, and what to do.",
  upstream_failing:
    'No poll of the account has succeeded for minutes: check whether the upstream answers, and its address.',
};

/** Returns one sentence, or none when readings succeed. */
function troubleReasons(status: AccountStatus | undefined): readonly string[] {
  return status?.trouble === undefined ? [] : [SENTENCES[status.trouble]];
}
