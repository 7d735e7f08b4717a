/**
 * Lists what the poller of one account is built from. Each part declares what it needs of this, and an invocation
 * adds what is its own.
 */

import type { PollerBudget } from '../../../shared/upstream/request-budget.ts';
import type { NudgeBell } from '../nudges.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import type { PollDeps } from '../project/poll.ts';
import type { ReplayPort } from '../repairs-and-replays.ts';
import type { SharingDeps } from './account-budget.ts';
import type { KeyWatchDeps, ReadableKey } from './account-key.ts';
import type { ProjectNamesPort } from './discovery/keep-names.ts';
import type { ProjectLimits } from './discovery/list-page.ts';
import type { DiscoveryDeps } from './discovery/project-list.ts';
import type { Insights } from './insights.ts';
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
  readonly key: KeyWatchDeps['key'] & Pick<ReadableKey, 'isReadable'>;
  readonly commands?: SharingDeps['commands'];
  /** It rings when another process has left work for the account. */
  readonly bell: NudgeBell;
  readonly limits: AccountLimits;
  /** The status of the account is kept here. */
  readonly status: StatusPort;
  /** What operations took, and what began and failed in each hour, is counted here. */
  readonly insights: Insights;
  /** Replays are read from here. */
  readonly replays: ReplayPort;
  /** The names of projects are kept here. */
  readonly names: ProjectNamesPort;
  /** What projects use is watched here. */
  readonly usage: UsageWatch;
  /** Returns the accounts that this bridge watches. */
  readonly watchedAccountIds: () => readonly string[];
  /** The poller polls just these projects and lists none, for a key that may not list them. */
  readonly fixedProjectIds?: readonly string[] | undefined;
}

export interface AccountLimits
  extends PollingLimits,
    ProjectLimits,
    HealthLimits,
    Readonly<WorkWatchDeps['limits']>,
    Readonly<QuietDeps['limits']> {}

interface PollingLimits {
  /** This many polls run at once, from 12 to 400 (`pollsAtOnceFor`): one slow project delays no other. */
  readonly pollsAtOnce: number;
  /** The poller may send this many requests a minute. */
  readonly requestsPerMinute: number;
}

/** All loops of one invocation share these dependencies. */
export interface InvocationDeps extends AccountDeps, Pick<DiscoveryDeps, 'bounds' | 'onLost' | 'signal'> {}
