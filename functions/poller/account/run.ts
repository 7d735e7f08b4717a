/** Everything the loops of one invocation share, and what a warm environment keeps of it. */

import type { AccountRecord } from '../../../shared/core/records/account-record.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { JournalRecord } from '../../../shared/core/records/journal-record.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { AccountOrigin } from '../../../shared/store/parse-record.ts';
import type { Key } from '../../../shared/store/table.ts';
import type { GuardedKeySource } from '../../../shared/upstream/key-source.ts';
import type { PollerBudget } from '../../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import type { Listing } from '../planner/listing.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import type { PollDeps, ProjectMemory } from '../project/poll.ts';
import type { Absence } from './absence.ts';
import type { Lease } from './lease.ts';
import type { Leftovers } from './leftovers.ts';
import type { TallyKeeper } from './tally.ts';

export interface AccountStore {
  /** Rejects with `UnreadableItemError` when the item cannot be read. */
  readAccount(): Promise<AccountRecord | undefined>;
  /** Undefined when there is no such item. */
  readOrigin(): Promise<AccountOrigin | 'unreadable' | undefined>;
}

/** What other processes leave for the poller: records to publish, and projects to read soon. */
export interface LeftoverStore {
  readRecords(keys: readonly Key[]): Promise<readonly JournalRecord[]>;
  takeReadRequests(): Promise<readonly string[]>;
}

export interface AccountDeps extends PollDeps {
  readonly store: PollDeps['store'] & AccountStore & LeftoverStore;
  readonly upstream: Pick<UpstreamClient, 'listProjects' | 'listOperations' | 'getOperation'>;
  readonly planner: PollPlanner;
  /** The one that `upstream` takes its permits from. */
  readonly budget: Pick<PollerBudget, 'take' | 'giveBack' | 'charge' | 'learned' | 'restore'>;
  /** Whether this process may poll the account, and for how long it may send. */
  readonly lease: Lease;
  /** Where the key comes from that `upstream` sends. */
  readonly key: Pick<GuardedKeySource, 'hasAnother'>;
  /** Who spends the same rate limit through the API; undefined: nobody. */
  readonly commands?: CommandsPort | undefined;
  readonly limits: AccountLimits;
  /** How the account is doing is told here; undefined: to nobody. */
  readonly status?: StatusPort | undefined;
  /** Poll just these, and list no projects: for a key that may not list them. */
  readonly fixedProjectIds?: readonly string[] | undefined;
}

export interface CommandsPort {
  /** All that were ever sent for this account. */
  sentCount(): Promise<number>;
  readonly requestsPerMinute: number;
}

export interface StatusPort {
  read(): Promise<AccountStatus | undefined>;
  write(status: AccountStatus): Promise<void>;
  readonly tally: TallyKeeper;
  readonly requestsPerMinute: number;
}

export interface AccountLimits {
  /** Polls under way at once: one sick project delays nobody, and a dozen sockets are enough for the rate limit. */
  readonly pollsAtOnce: number;
  /** Between two readings of the whole project list, while something needs one; otherwise its pages have turns of their own. */
  readonly discoveryIntervalMs: number;
  /** The poller's share of the rate limit. */
  readonly requestsPerMinute: number;
  /** Between two looks at what others have recorded; undefined: nobody else does. */
  readonly workIntervalMs?: number;
  /** How long an invocation goes on after it was last needed; undefined: to its end. */
  readonly lingerMs?: number | undefined;
  /** The account counts as degraded once no poll succeeded for this long. */
  readonly failingMsMax: number;
}

/** What a warm environment keeps between invocations. */
export interface AccountMemory {
  readonly projects: Map<string, ProjectMemory>;
  /** Those of them whose record this process has read or written; the others were left over by an earlier process. */
  readonly sighted: Set<string>;
  /** Projects whose operations answer 404 and that wait for evidence. */
  readonly absences: Map<string, Absence>;
  /** Fixed projects that are published as unreachable; they are polled seldom. */
  readonly unreachable: Set<string>;
  readonly completedAtMs: Map<string, number>;
  /** The listing under way; it may take several invocations. */
  listing: Listing | undefined;
  /** When a page of a listing could not be read. */
  listingFailedAtMs: number | undefined;
  /** Since when a project is known of which this process has no complete reading. */
  readonly knownAtMs: Map<string, number>;
  /** Projects whose last poll did not read them to the end. */
  readonly unread: Map<string, NotRead>;
  /** The process before this one had a project that was never read completely: since then. */
  unreadBeforeMs: number | undefined;
  /** When the upstream last answered as it should. */
  answeredAtMs: number | undefined;
  /** When the latest listing came to its end. */
  discoveredAtMs: number | undefined;
  listingCount: number;
  /** How long the latest listing took. */
  listingMs: number;
  /** The list was read as a whole once, so a project that appears is new. */
  areSightingsNews: boolean;
  /** Bounds that the invocation under way has said it met. */
  readonly boundsMet: Set<string>;
  /** Requests that commands had sent when the poller last looked. */
  commandCount: number | undefined;
  failingSinceMs: number | undefined;
  /** The upstream refuses the key, and the secret holds no other one: nothing is sent. */
  isKeyRejected: boolean;
  /** As it was last written. */
  status: AccountStatus | undefined;
  statusToldAtMs: number | undefined;
}

export interface NotRead {
  /** Its last complete reading or, when there was none, since when it is known. */
  readonly sinceMs: number;
  /** Since then it has failed while other requests of the account were answered. */
  readonly aloneSinceMs: number;
  readonly reason: string;
}

export function emptyAccountMemory(): AccountMemory {
  return {
    projects: new Map(),
    sighted: new Set(),
    absences: new Map(),
    unreachable: new Set(),
    completedAtMs: new Map(),
    listing: undefined,
    listingFailedAtMs: undefined,
    knownAtMs: new Map(),
    unread: new Map(),
    unreadBeforeMs: undefined,
    answeredAtMs: undefined,
    discoveredAtMs: undefined,
    listingCount: 0,
    listingMs: 0,
    areSightingsNews: false,
    boundsMet: new Set(),
    commandCount: undefined,
    failingSinceMs: undefined,
    isKeyRejected: false,
    status: undefined,
    statusToldAtMs: undefined,
  };
}

/** Everything the loops of one invocation share. */
export interface Run {
  readonly deps: AccountDeps;
  readonly memory: AccountMemory;
  /** Aborted at the deadline, or by the caller. */
  readonly stop: AbortController;
  /** Projects that a page of the list is adding at the moment, so that no other page adds them, too. */
  readonly addedNow: Set<string>;
  bootAt: Timestamp | undefined;
  /** The account's item is there and says nothing about what is history: projects that were never read have to wait. */
  isOriginUnreadable: boolean;
  /** Subscribers know that events of the account are late. */
  isDegraded: boolean;
  pollCount: number;
  recordedCount: number;
  publishedCount: number;
  unpublishedCount: number;
  readonly leftovers: Leftovers;
}
