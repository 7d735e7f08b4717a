/**
 * Shares an account's rate limit with commands: the poller holds a part of it in the account's ledger, sends no more than
 * that, and changes it as it needs more or less.
 */

import {
  type AccountRate,
  certainFor,
  leastHeldBy,
  nextPart,
  type PollerPart,
  type PollerUse,
  sharedRequestsPerMinute,
  USAGE_LOOK_MS,
  unknownPart,
} from '../../../shared/rates/account-rate.ts';
import { requestCountIn } from '../../../shared/rates/ledger.ts';
import { MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createRequestBudget, type PollerBudget } from '../../../shared/upstream/request-budget.ts';
import type { InvocationDeps } from './account-deps.ts';

/**
 * This many requests may leave at once after a quiet moment: as many as the fastest rate saves up between two
 * invocations. One route allows 40 a second, and what is kept for a burst is missing from the steady rate.
 */
export const REQUEST_BURST = 6;

/** A raised limit lets half a second of its rate leave at once: between two invocations it saves up about that much. */
const BURST_SECONDS = 0.5;

/**
 * A low rate saves up no whole request between two invocations, and every request of a burst would cost it one of each
 * minute. With the second one, a project that the list shows to move is read at once.
 */
const LOW_RATE_BURST = 2;
const LOW_RATE_BURST_SHARE = 0.05;

export function burstOf(requestsPerMinute: number): number {
  const saved = Math.floor((BURST_SECONDS * requestsPerMinute) / 60);
  const affordable = Math.max(LOW_RATE_BURST, Math.floor(LOW_RATE_BURST_SHARE * requestsPerMinute));
  return Math.max(saved, Math.min(REQUEST_BURST, affordable));
}

export interface BudgetDeps {
  readonly clock: Clock;
  /** Returns milliseconds that only ever rise, even when the clock of the machine is changed. */
  readonly monotonicMs: () => number;
}

/** Without commands the poller has everything. Otherwise it begins with what it holds in any case. */
export function createAccountBudget({ clock, monotonicMs }: BudgetDeps, rate: AccountRate): PollerBudget {
  const whole = sharedRequestsPerMinute(rate);
  const requestsPerMinute = rate.commandRequestsPerMinute === 0 ? whole : leastHeldBy(rate);
  return createRequestBudget({
    clock: { ...clock, now: risingClock({ clock, monotonicMs }) },
    requestsPerMinute,
    burst: burstOf(requestsPerMinute),
    startsEmpty: true,
  });
}

/**
 * Passes by the clock that says more, and never goes back: the monotonic clock stands still while some machines are frozen, and the other
 * one can be set back. When that one is put right, one burst may leave.
 */
function risingClock({ clock, monotonicMs }: BudgetDeps): () => number {
  let [nowMs, wallMs, steadyMs] = [clock.now(), clock.now(), monotonicMs()];
  return () => {
    const [wallNowMs, steadyNowMs] = [clock.now(), monotonicMs()];
    nowMs += Math.max(0, wallNowMs - wallMs, steadyNowMs - steadyMs);
    [wallMs, steadyMs] = [wallNowMs, steadyNowMs];
    return nowMs;
  };
}

/** The process asks itself this often whether it needs another part. The table is asked only when it does. */
const TICK_MS = 1_000;

/** Requests that wait for this many ticks in a row show that the part is too small. A few polls at once do not. */
const SHORT_TICKS = 3;

/** Writes of the ledger that lose to other processes are repeated at once this many times. */
const TRIES = 5;

/**
 * Changes the budget until the signal aborts. While the ledger cannot be read, what it has said in this invocation holds.
 * Before that another process may have changed it, so the poller sends what it holds in any case.
 */
export async function shareWithCommands(deps: InvocationDeps): Promise<void> {
  const { commands, budget, clock, signal } = deps;
  if (commands === undefined) return;
  const { rate } = commands;
  let held: PollerPart | undefined;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let confirmedAtMs = clock.now();
  let shortTicks = 0;
  let shortAtMs = Number.NEGATIVE_INFINITY;
  for (; !signal.aborted; await clock.sleep(TICK_MS, signal).catch(() => {})) {
    const nowMs = clock.now();
    shortTicks = budget.wasShort() ? shortTicks + 1 : 0;
    const isShort = shortTicks >= SHORT_TICKS;
    if (isShort) shortAtMs = nowMs;
    const { count: sentCount, countMax } = budget.sent();
    // The first look says what earlier processes may have sent.
    const sentCountMax = held === undefined ? Number.POSITIVE_INFINITY : countMax;
    const use = { sentCount, sentCountMax, isShort, mayLower: nowMs - shortAtMs >= MINUTE_MS };
    if (held !== undefined && !isShort) {
      const next = nextPart(rate, { ...held, ...use, commandCount: 0 });
      const isSettled = next.holds === held.holds && next.wants === held.wants;
      if (
        Math.abs(nowMs - lookedAtMs) < USAGE_LOOK_MS ||
        (isSettled && held.holds <= rate.pollerRequestsPerMinute)
      )
        continue;
    }
    const mustConfirm = (held?.holds ?? 0) > certainFor(rate) && Math.abs(nowMs - confirmedAtMs) >= MINUTE_MS;
    const changed = await changePart(deps, commands, { ...use, mustConfirm }).catch(() => undefined);
    if (changed !== undefined) [held, lookedAtMs] = [changed.part, nowMs];
    if (changed?.isWritten === true) confirmedAtMs = nowMs;
    if (changed === undefined && held === undefined) limit(budget, rate, evenly(leastHeldBy(rate)), true);
    else if (changed === undefined && mustConfirm) limit(budget, rate, evenly(certainFor(rate)));
  }
}

interface Use extends Omit<PollerUse, 'holds' | 'commandCount'> {
  /** The ledger is written although nothing changes. */
  readonly mustConfirm: boolean;
}

/** A lower part holds from before the write, and a higher one from after it. Rejects when the table does not answer. */
async function changePart(
  { budget, clock }: InvocationDeps,
  { store, rate }: NonNullable<InvocationDeps['commands']>,
  { mustConfirm, ...use }: Use,
): Promise<{ readonly part: PollerPart; readonly isWritten: boolean } | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const { ledger, version } = await store.read();
    const before = ledger.poller ?? unknownPart(rate);
    const commandCount = requestCountIn(ledger, clock.now());
    const part = nextPart(rate, { holds: before.holds, ...use, commandCount });
    limit(budget, rate, { holds: Math.min(part.holds, before.holds), wants: part.wants });
    const isSame = part.holds === ledger.poller?.holds && part.wants === ledger.poller.wants;
    if (isSame && !mustConfirm) return { part, isWritten: false };
    if (!(await store.write({ ...ledger, poller: part }, version))) continue;
    limit(budget, rate, part);
    return { part, isWritten: true };
  }
  return undefined;
}

/** What the poller holds it may use at the pace of its whole share, so that what comes together is read together. */
function limit(
  budget: PollerBudget,
  { pollerRequestsPerMinute }: AccountRate,
  { holds, wants }: PollerPart,
  isGuess = false,
): void {
  const requestsPerMinute = Math.max(pollerRequestsPerMinute, Math.min(holds, wants));
  budget.limitTo({ requestsPerMinute, burst: burstOf(requestsPerMinute), most: holds, isGuess });
}

function evenly(requestsPerMinute: number): PollerPart {
  return { holds: requestsPerMinute, wants: requestsPerMinute };
}
