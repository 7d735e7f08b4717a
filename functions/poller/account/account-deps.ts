/**
 * Lists what the poller of one account is built from. Every part gets all of it, and an invocation adds what is its own. The
 * interfaces of parts that get all of it, too, stand here, because files import each other one way.
 */

import type { AccountRate } from '../../../shared/rates/account-rate.ts';
import type { AccountStatus, Tally } from '../../../shared/records/account-status.ts';
import type { LedgerStore } from '../../../shared/store/ledger-store.ts';
import type { TableIndexes } from '../../../shared/store/table.ts';
import type { ProjectRow } from '../../../shared/upstream/calls/schemas.ts';
import type { PollerBudget } from '../../../shared/upstream/request-budget.ts';
import type { NudgeBell } from '../nudges.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import type { PollDeps } from '../project/poll.ts';
import type { Insights } from './insights.ts';
import type { BoundReports } from './status/report-bound.ts';

export interface AccountDeps extends PollDeps {
  readonly planner: PollPlanner;
  /** `upstream` takes its permits from this budget. */
  readonly budget: PollerBudget;
  /** The lease says whether this process may poll the account, and for how long it may send. */
  readonly lease: Lease;
  readonly key: AccountKey;
  /** The API spends the same rate limit. When this is undefined, it does not. */
  readonly commands?: { readonly store: LedgerStore; readonly rate: AccountRate } | undefined;
  /** It rings when another process has left work for the account. */
  readonly bell: NudgeBell;
  readonly limits: AccountLimits;
  /** The status of the account is kept here. */
  readonly status: StatusPort;
  /** What operations took, and what began and failed in each hour, is counted here. */
  readonly insights: Insights;
  /** Replays find here what is recorded. */
  readonly indexes: TableIndexes;
  /** The names of projects are kept here. */
  readonly names: ProjectNamesPort;
  /** What projects use is watched here. */
  readonly usage: UsageWatch;
  /** Returns the accounts that this bridge watches. */
  readonly watchedAccountIds: () => readonly string[];
  /** The poller polls just these projects and lists none, for a key that may not list them. */
  readonly fixedProjectIds?: readonly string[] | undefined;
}

export interface AccountLimits {
  /** This many polls run at once, from 12 to 400 (`pollsAtOnceFor`): one slow project delays no other. */
  readonly pollsAtOnce: number;
  /** The poller may send this many requests a minute. */
  readonly requestsPerMinute: number;
  /** At most this many projects are polled. When it is undefined, `PROJECTS_MAX` is the bound. */
  readonly projectsMax?: number | undefined;
  /** The account counts as degraded once no poll succeeded for this long. */
  readonly failingMsMax: number;
  /** Two pages of the work index are read this far apart. */
  readonly workIntervalMs: number;
  /** An invocation goes on for this long after it was last needed. When this is undefined, it goes on to its end. */
  readonly lingerMs?: number | undefined;
}

export interface InvocationDeps extends AccountDeps {
  readonly bounds: BoundReports;
  /** It is called for each project that is found gone. */
  readonly onLost: (projectId: string) => void;
  /** It is aborted when the invocation stops. */
  readonly signal: AbortSignal;
}

/** The key that is sent to the upstream. */
interface AccountKey {
  /** Says whether the secret holds another key than the one that the upstream has refused. */
  hasAnother(): Promise<boolean>;
  /** Says whether the last reading of the key succeeded. It is true before the first one. */
  isReadable(): boolean;
}

export interface Lease {
  /** Resolves to false when another process holds the lease. */
  acquire(durationMs: number): Promise<boolean>;
  /** Says whether this process may still send to the upstream. */
  holds(): boolean;
  release(): Promise<void>;
}

export interface ProjectNamesPort {
  take(rows: readonly Pick<ProjectRow, 'id' | 'name'>[]): void;
  /** Resolves to the ids of the projects whose names are stored. */
  storedIds(): Promise<readonly string[]>;
  /** Writes the names that are not stored. Those of projects that are gone may be forgotten. */
  write(writing: {
    readonly isGone: (projectId: string) => boolean;
    readonly bounds: BoundReports;
  }): Promise<void>;
}

export interface StatusPort {
  read(): Promise<AccountStatus | undefined>;
  write(status: AccountStatus): Promise<void>;
  /** Returns what was counted since the last call. */
  readonly tally: { take(): Tally };
}

/** A warm environment keeps this of an account. Losing it costs one read of the record of each project that is near a limit. */
export interface UsageWatch {
  /** Takes what a page of the list shows. */
  take(rows: readonly ProjectRow[], nowMs: number): void;
  /** It is true while a figure has moved and was not looked at. The invocation is needed then. */
  isBusy(): boolean;
  /** Records and publishes what is news. `knownIds` are undefined before the whole list was read. */
  write(deps: InvocationDeps, knownIds: ReadonlySet<string> | undefined): Promise<void>;
}
