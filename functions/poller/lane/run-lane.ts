/**
 * Polls the accounts of one lane side by side in one invocation. Accounts come and go while it runs, and a failure of
 * one account ends the polls of no other: an account that fails again and again is set aside for longer and longer.
 */

import { laneOf } from '../../../shared/accounts/account.ts';
import type { ServedAccount } from '../../../shared/accounts/account-directory.ts';
import type { PollAccountSettings, PollLane } from '../../../shared/config/poller-config.ts';
import { MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { sleepUntil, stoppedBy, untilStopped } from '../../../shared/runtime/concurrency.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { AccountReport, Invocation } from '../account/poll-account.ts';
import { atMost, POLLS_END_MS, RELEASE_MS, REPORT_MS } from '../account/wind-up.ts';
import { type NudgeWatchDeps, watchNudges } from '../nudges.ts';

/** The lane polls this account. An account that is in two lanes is polled by the one that has its lease. */
export interface LaneAccount {
  readonly accountId: string;
  /** Identifies the settings: an account whose settings have changed is polled anew with the new ones. */
  readonly identity: string;
  /** Polls the account until the signal of the invocation aborts. It writes the account's metrics out at its end. */
  poll(invocation: Invocation): Promise<AccountReport>;
  /** Another process has left work for the account. */
  nudge(): void;
}

export interface LaneDeps extends NudgeWatchDeps {
  /** Resolves to the accounts that the lane has now. */
  readonly accounts: () => Promise<readonly LaneAccount[]>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** A warm environment keeps this of the accounts whose pollers threw, by their ids. */
export type SetAsideAccounts = Map<string, SetAside>;

export interface LaneInvocation {
  readonly signal: AbortSignal;
  /** Returns for how long the lease of an account that begins now has to hold, in milliseconds. */
  readonly leaseMs: () => number;
}

type AccountOutcome = AccountReport['outcome'] | 'failed';

export interface LaneReport {
  /** Counts the accounts whose polling ended in each way. */
  readonly outcomes: Readonly<Partial<Record<AccountOutcome, number>>>;
  readonly pollCount: number;
  readonly recordedCount: number;
  readonly publishedCount: number;
}

/** Two looks at which accounts the lane has are this far apart, so that a new account is polled within seconds. */
export const ACCOUNTS_LOOK_MS = 15_000;

/** An account ends within this time after the stop signal. One that is still waiting for its first items is left behind. */
const ACCOUNT_ENDS_MS = POLLS_END_MS + REPORT_MS + RELEASE_MS;

/** Rejects when all accounts failed, as the first of them did, because the trouble is not that of one account. */
export async function runLane(
  deps: LaneDeps,
  setAside: SetAsideAccounts,
  invocation: LaneInvocation,
): Promise<LaneReport> {
  const { clock } = deps;
  const { signal } = invocation;
  const polls = createPolls(deps, invocation);
  const over = stoppedBy(signal);
  const watching = watchNudges(deps, polls.nudge, over.signal);
  const waits = (account: LaneAccount) => isSetAside(setAside.get(account.accountId), clock.now());
  let accounts: readonly LaneAccount[] = [];
  while (!signal.aborted) {
    accounts = await currentAccounts(deps, accounts, signal);
    polls.keepOnly(accounts);
    const polled = accounts.filter((account) => !waits(account));
    for (const account of polled) polls.begin(account);
    if (polls.areOver(polled)) break;
    const lookAtMs = clock.now() + ACCOUNTS_LOOK_MS;
    // A quiet lane ends early.
    while (!signal.aborted && clock.now() < lookAtMs && !polls.areOver(polled))
      await sleepUntil(polls.changed(), clock, lookAtMs - clock.now(), signal);
  }
  over.abort(GONE);
  await watching;
  await atMost(deps, 'accounts', ACCOUNT_ENDS_MS, polls.ended());
  settleFailures(deps, setAside, polls.endings);
  // An account that only waits is measured, too, so that its alarm stays until a polling of it has ended well.
  for (const { accountId } of accounts)
    if (setAside.has(accountId)) deps.telemetry.measure('AccountsSetAside', 1);
  return reportOf(polls.endings);
}

/** Resolves to the accounts as they were before when they cannot be read now, or not before the signal aborts. */
async function currentAccounts(
  { accounts, telemetry }: LaneDeps,
  before: readonly LaneAccount[],
  signal: AbortSignal,
): Promise<readonly LaneAccount[]> {
  try {
    return (await untilStopped(accounts(), signal)) ?? before;
  } catch (error) {
    telemetry.log('warn', 'lane.accounts_not_read', { reason: toError(error).name });
    return before;
  }
}

interface Ending {
  readonly accountId: string;
  readonly report: AccountReport | undefined;
  /** It is there when the poller threw. */
  readonly error?: Error;
}

interface Poll {
  readonly account: LaneAccount;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Begins and ends the polls of accounts, and notes how each has ended. */
function createPolls({ telemetry }: LaneDeps, { signal, leaseMs }: LaneInvocation) {
  const underWay = new Map<string, Poll>();
  /** The polling of these accounts, with these identities, is over for this invocation. */
  const over = new Map<string, string>();
  const endings: Ending[] = [];
  let change = Promise.withResolvers<void>();

  const poll = async (account: LaneAccount, stop: AbortController): Promise<void> => {
    const { accountId, identity } = account;
    try {
      const report = await account.poll({ signal: stop.signal, leaseMs: leaseMs() });
      endings.push({ accountId, report });
      // An account that another process holds is tried again at the next look, because its lane may have changed.
      if (report.outcome !== 'lease_held' && !stop.signal.aborted) over.set(accountId, identity);
    } catch (error) {
      const thrown = toError(error);
      endings.push({ accountId, report: undefined, error: thrown });
      over.set(accountId, identity);
      telemetry.log('error', 'account.failed', {
        account_id: accountId,
        reason: thrown.name,
        detail: thrown.message,
      });
    } finally {
      underWay.delete(accountId);
      change.resolve();
      change = Promise.withResolvers();
    }
  };

  return {
    endings,
    nudge: (accountId: string): void => underWay.get(accountId)?.account.nudge(),
    begin(account: LaneAccount): void {
      const { accountId, identity } = account;
      if (underWay.has(accountId) || over.get(accountId) === identity) return;
      const stop = stoppedBy(signal);
      underWay.set(accountId, { account, stop, ended: poll(account, stop) });
    },
    /** Ends the polling of accounts that the lane has no more, and of those with other settings. */
    keepOnly(accounts: readonly LaneAccount[]): void {
      const identities = new Map(accounts.map(({ accountId, identity }) => [accountId, identity]));
      for (const [accountId, { account, stop }] of underWay)
        if (identities.get(accountId) !== account.identity) stop.abort(GONE);
    },
    /** Says whether none of them is polled any more, and none waits for its lease. */
    areOver: (accounts: readonly LaneAccount[]) =>
      underWay.size === 0 && accounts.every(({ accountId, identity }) => over.get(accountId) === identity),
    /** Resolves when the polling of an account ends. */
    changed: () => change.promise,
    async ended(): Promise<void> {
      await Promise.all([...underWay.values()].map((each) => each.ended));
    },
  };
}

/** A reason of one's own would record its stack for each account. */
const GONE = new Error('The lane does not poll this account any more');

/** Sets accounts aside that failed while others of the lane did not, and forgets the failures of those that did not. */
function settleFailures(
  { clock, telemetry }: LaneDeps,
  setAside: SetAsideAccounts,
  all: readonly Ending[],
): void {
  const endings = lastOfEach(all);
  for (const { accountId, error } of endings) if (error === undefined) setAside.delete(accountId);
  if (haveAllFailed(endings)) return;
  for (const { accountId, error } of endings) {
    if (error === undefined) continue;
    const next = setAsideAfter(setAside.get(accountId), clock.now());
    setAside.set(accountId, next);
    telemetry.log('warn', 'account.set_aside', {
      account_id: accountId,
      failure_count: next.failureCount,
      until: new Date(next.untilMs).toISOString(),
    });
  }
}

/** An account that was polled twice in the invocation counts as its last polling ended. */
function lastOfEach(endings: readonly Ending[]): readonly Ending[] {
  return [...new Map(endings.map((ending) => [ending.accountId, ending])).values()];
}

/**
 * When all of several accounts failed, the table or the function itself is in trouble, and no account is set aside for that. Nor is the
 * only account of a lane, because no other one gains by it.
 */
function haveAllFailed(endings: readonly Ending[]): boolean {
  return endings.every(({ error }) => error !== undefined);
}

function reportOf(endings: readonly Ending[]): LaneReport {
  const last = lastOfEach(endings);
  const [first] = last;
  if (first?.error !== undefined && haveAllFailed(last)) throw first.error;
  const reports = endings.flatMap(({ report }) => report ?? []);
  const sum = (count: (report: AccountReport) => number) =>
    reports.reduce((total, report) => total + count(report), 0);
  const outcomes: Partial<Record<AccountOutcome, number>> = {};
  for (const { report } of last) {
    const outcome = report?.outcome ?? 'failed';
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return {
    outcomes,
    pollCount: sum(({ pollCount }) => pollCount),
    recordedCount: sum(({ recordedCount }) => recordedCount),
    publishedCount: sum(({ publishedCount }) => publishedCount),
  };
}

type Served = ServedAccount<PollAccountSettings>;
type Lane = Omit<PollLane, 'accounts' | 'other_account_ids'>;

/** The deployment has divided the configured accounts already, so the schedule names only those of this lane. */
export function settingsOfLane(lane: Lane, served: Iterable<Served>): readonly PollAccountSettings[] {
  return ofLane(lane, served)
    .filter(({ state }) => state === 'active')
    .map(({ settings }) => settings);
}

/** Such a lane measures nothing of an account, and is not behind. A lane without accounts leaves that to the others. */
export function hasOnlyPaused(lane: Lane, served: Iterable<Served>): boolean {
  const accounts = ofLane(lane, served);
  return accounts.length > 0 && accounts.every(({ state }) => state === 'paused');
}

/**
 * Returns a function that logs each account of the lane that the deployment does not allow, once for each reason in the
 * life of the process. Without this line nobody would learn from the poller why an account is not polled.
 */
export function createRefusalLog(telemetry: Telemetry): (lane: Lane, served: Iterable<Served>) => void {
  const logged = new Map<string, string>();
  return (lane, served) => {
    for (const { settings, state, fault = '' } of ofLane(lane, served)) {
      const { account_id } = settings;
      if (state !== 'refused') logged.delete(account_id);
      else if (logged.get(account_id) !== fault) {
        logged.set(account_id, fault);
        telemetry.log('error', 'account.not_served', { account_id, detail: fault });
      }
    }
  };
}

function ofLane({ lane, lanes, shared_lanes }: Lane, served: Iterable<Served>): readonly Served[] {
  return [...served].filter(({ settings: { account_id }, origin, lane: pinned }) => {
    const choice = { account_id, ...(pinned !== undefined && { lane: pinned }) };
    return origin === 'configured' || laneOf(choice, lanes, shared_lanes) === lane;
  });
}

/**
 * One environment keeps at most this many accounts. Lambda may hand any lane's invocation to any warm environment, so
 * the bound is that of two lanes of a hundred small accounts, which have about 30 MB beyond the function's own memory
 * (docs/performance.md). An account that is dropped begins as after a cold start.
 */
export const WARM_ACCOUNTS_MAX = 200;

export interface WarmAccounts<Account> {
  /** `identity` identifies the settings, because changed settings must not meet the adapters of the old ones. */
  get(accountId: string, identity: string, create: () => Account): Account;
}

/** The account that was served longest ago is dropped first. */
export function createWarmAccounts<Account>(): WarmAccounts<Account> {
  const kept = new Map<string, { readonly identity: string; readonly account: Account }>();
  return {
    get(accountId, identity, create) {
      const known = kept.get(accountId);
      const account = known?.identity === identity ? known.account : create();
      kept.delete(accountId);
      kept.set(accountId, { identity, account });
      const [oldest] = kept.keys();
      if (kept.size > WARM_ACCOUNTS_MAX && oldest !== undefined) kept.delete(oldest);
      return account;
    },
  };
}

export interface SetAside {
  /** The poller of the account has thrown in this many invocations in a row. */
  readonly failureCount: number;
  /** The account is polled again from this time on, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** The first failure costs the account the rest of its minute. Most failures have passed by then. */
const FIRST_MS = MINUTE_MS;

/** After the longest pause a repaired account is polled again within a quarter of an hour. */
export const SET_ASIDE_MS_MAX = 15 * MINUTE_MS;

/** Returns the pause after one more failure. It doubles from a minute to a quarter of an hour. */
export function setAsideAfter(before: SetAside | undefined, nowMs: number): SetAside {
  const failureCount = (before?.failureCount ?? 0) + 1;
  const pauseMs = Math.min(SET_ASIDE_MS_MAX, FIRST_MS * 2 ** Math.min(failureCount - 1, 10));
  return { failureCount, untilMs: nowMs + pauseMs };
}

/**
 * Says whether the account waits. A time that lies further ahead than any pause was written by a clock that was wrong,
 * and is ignored.
 */
export function isSetAside(account: SetAside | undefined, nowMs: number): boolean {
  if (account === undefined) return false;
  const restMs = account.untilMs - nowMs;
  return restMs > 0 && restMs <= SET_ASIDE_MS_MAX;
}
