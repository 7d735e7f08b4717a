/**
 * Divides what commands and reads of callers may send among the callers. A request leaves with a permit of the account's
 * ledger, and one that has to wait for its permit is held for a while.
 */

import { hash } from 'node:crypto';
import {
  type AccountRate,
  afterRefusal,
  COMMANDS_PER_SECOND,
  FULL_SHARE,
  shareAt,
} from '../rates/account-rate.ts';
import { nameIn } from '../rates/ledger.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { LedgerStore } from '../store/ledger-store.ts';
import type { RequestBudget } from '../upstream/request-budget.ts';
import { PermitRounds } from './permit-rounds.ts';

/** Without a preference of its caller, a request is held so long. Longer ones would occupy too many instances of the function. */
export const HOLD_MS = 2_000;

interface Hold {
  readonly forMs: number;
  /** Is asked before each wait. The request is not held when it resolves to false. The default is that it is. */
  readonly mayHold?: (() => Promise<boolean>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FairShare {
  /**
   * Takes a permit and resolves to 0, or takes none and resolves to the time that the caller would have to wait, in ms.
   * The request is held as long as it may be.
   */
  admit(clientId: string, hold?: Hold): Promise<number>;
  /** Does the same for a wish that the poller read a project soon, and holds nothing. */
  admitWish(clientId: string): Promise<number>;
  /**
   * Does the same for a command that the caller puts in line, and holds nothing. A caller may put as many in line in a
   * minute as it may send, and the command takes its permit when it is sent.
   */
  admitQueued(clientId: string): Promise<number>;
  /** Counts the requests that were admitted as they leave. They do not queue again. */
  readonly budget: RequestBudget;
  /** Resolves when no write of the ledger is under way, so that the process may be frozen. */
  idle(): Promise<void>;
}

export interface FairShareOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly rate: AccountRate;
  readonly requestsPerSecond?: number | undefined;
  readonly callerRequestsPerMinute?: number | undefined;
  readonly instancesMax: number;
  readonly store: LedgerStore;
  readonly telemetry: Telemetry;
}

/** Requests that were held until the same moment do not all ask at that moment. */
const SPREAD_MS = 100;

/** This bounds the memory of admitted requests, because an admitted request may never be sent. */
const ADMITTED_MAX = 100;

/** An account with a raised limit may send two seconds' worth of its minute in one. */
const SECONDS_AT_ONCE = 2;

export function createFairShare(options: FairShareOptions): FairShare {
  const { clock, random, rate } = options;
  const perSecond = Math.max(
    options.requestsPerSecond ?? COMMANDS_PER_SECOND,
    Math.ceil((SECONDS_AT_ONCE * rate.commandRequestsPerMinute) / 60),
  );
  const callerRequestsPerMinute = options.callerRequestsPerMinute ?? Number.POSITIVE_INFINITY;
  let share = FULL_SHARE;
  let pausedUntilMs = 0;
  let admittedCount = 0;
  const limitsAt = (nowMs: number) => ({
    rate,
    share: shareAt(share, nowMs),
    requestsPerSecond: perSecond,
    callerRequestsPerMinute,
  });
  const rounds = new PermitRounds({ ...options, limitsAt });

  const admit = async (name: string, { forMs, mayHold, signal }: Hold): Promise<number> => {
    const untilMs = clock.now() + forMs;
    for (;;) {
      const againAtMs = clock.now() < pausedUntilMs ? pausedUntilMs : await rounds.ask(name);
      if (againAtMs === 0) return 0;
      const delayMs = Math.max(1, Math.ceil(againAtMs - clock.now()));
      if (clock.now() + delayMs > untilMs || signal?.aborted) return delayMs;
      if (mayHold !== undefined && !(await mayHold())) return delayMs;
      await clock.sleep(delayMs + Math.floor(random.next() * SPREAD_MS), signal).catch(() => {});
    }
  };

  return {
    async admit(clientId, hold = { forMs: HOLD_MS }) {
      const delayMs = await admit(nameIn('request', digestOf(clientId)), hold);
      if (delayMs === 0) admittedCount = Math.min(admittedCount + 1, ADMITTED_MAX);
      return delayMs;
    },
    admitWish: (clientId) => admit(nameIn('wish', digestOf(clientId)), { forMs: 0 }),
    admitQueued: (clientId) => admit(nameIn('queued', digestOf(clientId)), { forMs: 0 }),
    budget: {
      async take() {
        if (admittedCount > 0) admittedCount -= 1;
        else rounds.noteUnasked();
      },
      pauseFor(durationMs) {
        share = afterRefusal(share, clock.now());
        pausedUntilMs = Math.max(pausedUntilMs, clock.now() + durationMs);
      },
    },
    idle: () => rounds.idle(),
  };
}

/** It is short, the same on every instance, and does not hold the name of a person. */
function digestOf(clientId: string): string {
  return hash('sha256', clientId).slice(0, 12);
}
