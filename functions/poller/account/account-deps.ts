/**
 * Lists what the poller of one account is built from. Each part declares what it needs of this, and an invocation
 * adds what is its own.
 */

import type { PollerBudget } from '../../../shared/upstream/request-budget.ts';
import type { NudgeBell } from '../nudges.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import type { PollDeps } from '../project/poll.ts';
import type { ReplayPort } from '../wishes.ts';
import type { SharingDeps } from './account-budget.ts';
import type { KeyWatchDeps, ReadableKey } from './account-key.ts';
import type { ListingIntervals } from './account-memory.ts';
import type { ProjectNamesPort } from './discovery/keep-names.ts';
import type { ProjectLimits } from './discovery/list-page.ts';
import type { DiscoveryDeps } from './discovery/project-list.ts';
import type { HourCountsPort, InsightsPort } from './insights.ts';
import type { Lease } from './lease.ts';
import type { HealthLimits } from './status/publish-health.ts';
import type { StatusPort } from './status/publish-status.ts';
import type { UsageWatch } from './usage.ts';
import type { QuietDeps, WorkWatchDeps } from './watch-for-work.ts';

export interface AccountDeps extends PollDeps {
  readonly planner: PollPlanner;
  /** `upstream` takes its permits from this budget. */
  readonly budget: PollerBudget;
  /** The lease says whether this process may poll the account, and for how long it may send. */
  readonly lease: Lease;
  readonly key: KeyWatchDeps['key'] & Partial<Pick<ReadableKey, 'isReadable'>>;
  readonly commands?: SharingDeps['commands'];
  /** It rings when another process has left work for the account. Without one the loops look for work all the time. */
  readonly bell?: NudgeBell | undefined;
  readonly limits: AccountLimits;
  /** The status of the account is kept here. It is not published when this is undefined. */
  readonly status?: StatusPort | undefined;
  /** What operations took is kept here. Nothing is kept of it when this is undefined. */
  readonly insights?: InsightsPort | undefined;
  /** Replays are read from here. Nothing is replayed when this is undefined. */
  readonly replays?: ReplayPort | undefined;
  /** What began and failed in each hour is counted here. Nothing is counted when this is undefined. */
  readonly hourCounts?: HourCountsPort | undefined;
  /** The names of projects are kept here. They are not kept when this is undefined. */
  readonly names?: ProjectNamesPort | undefined;
  /** What projects use is watched here. Nothing is told of it when this is undefined. */
  readonly usage?: UsageWatch | undefined;
  /** Returns the accounts that this bridge watches. This one is the only one when it is undefined. */
  readonly watchedAccountIds?: (() => readonly string[]) | undefined;
  /** The poller polls just these projects and lists none, for a key that may not list them. */
  readonly fixedProjectIds?: readonly string[] | undefined;
}

export interface AccountLimits
  extends PollingLimits,
    ListingIntervals,
    ProjectLimits,
    HealthLimits,
    Readonly<WorkWatchDeps['limits']>,
    Readonly<QuietDeps['limits']> {}

interface PollingLimits {
  /** This many polls run at once: one slow project delays no other, and a dozen sockets are enough for the rate limit. */
  readonly pollsAtOnce: number;
  /** The poller may send this many requests a minute. */
  readonly requestsPerMinute: number;
}

/** All loops of one invocation share these dependencies. */
export interface InvocationDeps extends AccountDeps, Pick<DiscoveryDeps, 'bounds' | 'onLost' | 'signal'> {}
