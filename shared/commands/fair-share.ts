/**
 * Divides what commands and reads of callers may send among the callers. A request leaves with a permit of the
 * account's ledger, and one that has to wait for its permit is held for a while. What an instance wants is asked for in
 * rounds, each of which is one conditional write. Without the table the instance has its part of the limit.
 */

import { hash } from 'node:crypto';
import {
  type AccountRate,
  afterRefusal,
  COMMANDS_PER_SECOND,
  FULL_SHARE,
  type RateLimitState,
  shareAt,
  spend,
  UNUSED,
  waitMs,
} from '../rates/account-rate.ts';
import {
  type Ask,
  countedUntilMs,
  EMPTY_LEDGER,
  type Granted,
  grant,
  type Ledger,
  type LedgerLimits,
  type Left,
  nameIn,
  UNASKED,
  type Wanted,
} from '../rates/ledger.ts';
import { RETRY_AFTER_MS_MAX } from '../rates/retry-decision.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { LedgerStore } from '../store/ledger-store.ts';
import type { RequestBudget } from '../upstream/request-budget.ts';

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

interface FairShareOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly rate: AccountRate;
  readonly requestsPerSecond?: number | undefined;
  readonly callerRequestsPerMinute?: number | undefined;
  /** At most this many instances send requests at once. Each has this part of the limit while it cannot reach the table. */
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
      // The clock can be set back.
      pausedUntilMs = Math.min(pausedUntilMs, clock.now() + RETRY_AFTER_MS_MAX);
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

interface PermitRoundsOptions extends FairShareOptions {
  readonly limitsAt: (nowMs: number) => LedgerLimits;
}

/** Ten rounds may follow each other at once. Beyond that they gather what is wanted within a tenth of a second. */
const ROUNDS = { intervalMs: 100, toleranceMs: 900 };

/** A table that has not answered a call after this time counts as away, and is asked again after the same time. */
const ANSWER_MS_MAX = 1_000;

/** A round that loses the ledger to other instances for this long ends, and what it wanted goes into a later one. */
const ROUND_MS_MAX = 2_000;

/** What a caller sends within this time without the table is noted as one. */
const TOGETHER_MS = 1_000;

/** After each loss the instance waits at most this much longer. */
const CONFLICT_MS = 10;

/** A caller is expected to send in this time what it has sent in the same time before. */
const AHEAD_MS = 2_000;

/** The pace of this many callers is remembered. */
const PACES_MAX = 1_000;

/** 0 says that there was a permit. Any other number is the time at which asking makes sense again. */
type Answer = number;

interface Waiting {
  readonly name: string;
  readonly answer: (answer: Answer) => void;
}

/** Gets the permits of one instance from the ledger of the account, round by round. */
class PermitRounds {
  readonly #options: PermitRoundsOptions;
  #waiting: Waiting[] = [];
  /** These callers will soon have used up the permits that are here. */
  readonly #running = new Set<string>();
  /** The numbers are the ends of permits. */
  readonly #stock = new Map<string, readonly number[]>();
  readonly #paces = new Map<string, { readonly count: number; readonly atMs: number }>();
  /** What has left and is not in the ledger yet. */
  #unnoted: readonly Left[] = [];
  /** Is the ledger as this instance knows it, with what the instance has sent without the table. */
  #known: Ledger = EMPTY_LEDGER;
  #awayUntilMs = 0;
  /** Until then the last minute holds requests of which the table may not know. */
  #doubtUntilMs = 0;
  #rounds: RateLimitState = UNUSED;
  #isBusy = false;
  #asking: Promise<unknown> | undefined;

  constructor(options: PermitRoundsOptions) {
    this.#options = options;
  }

  /** Takes a permit that is here, or asks for one. */
  async ask(name: string): Promise<Answer> {
    const nowMs = this.#options.clock.now();
    const left = (this.#stock.get(name) ?? []).filter((endMs) => endMs > nowMs);
    this.#keep(name, left.slice(1));
    const pace = this.#paced(name, nowMs);
    if (left.length > 0) {
      if (left.length <= pace / 2) this.#running.add(name);
      this.#begin();
      return 0;
    }
    return new Promise((answer) => {
      this.#waiting.push({ name, answer });
      this.#begin();
    });
  }

  /** A request has left that did not ask. */
  noteUnasked(): void {
    this.#noteLeft(UNASKED, 1);
    this.#begin();
  }

  /** Resolves when no call of the table is under way, so that the process may be frozen. */
  async idle(): Promise<void> {
    await this.#asking;
  }

  #begin(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    // What is asked for in the same step belongs to the same round.
    await Promise.resolve();
    while (this.#waiting.length + this.#running.size > 0 || (this.#unnoted.length > 0 && !this.#isAway())) {
      // A longer wait means that the clock was set back.
      if (waitMs(ROUNDS, this.#rounds, clock.now()) > ROUNDS.intervalMs) this.#rounds = UNUSED;
      const delayMs = waitMs(ROUNDS, this.#rounds, clock.now());
      if (delayMs > 0) await clock.sleep(delayMs);
      this.#rounds = spend(ROUNDS, this.#rounds, clock.now());
      await this.#round();
    }
    this.#isBusy = false;
  }

  #isAway(): boolean {
    return this.#options.clock.now() < this.#awayUntilMs;
  }

  async #round(): Promise<void> {
    const waiting = this.#waiting;
    const wanted = this.#wantedBy(waiting);
    this.#waiting = [];
    this.#running.clear();
    const isDoubtful = this.#isAway() || this.#options.clock.now() < this.#doubtUntilMs;
    const here = isDoubtful ? this.#grantHere(waiting) : undefined;
    const asking = this.#isAway() ? undefined : this.#askTable(here ? allowedBy(here) : wanted);
    this.#asking = asking;
    const ofTable = await asking;
    if (ofTable === 'contended')
      return waiting.forEach(({ answer }) => {
        answer(this.#options.clock.now() + ROUNDS.intervalMs);
      });
    const granted = ofTable ?? here ?? this.#grantHere(waiting);
    if (ofTable === undefined) this.#noteAway(granted);
    else if (here === undefined) this.#known = { ...granted.ledger, poller: undefined };
    else this.#known = here.ledger;
    this.#handOut(waiting, granted, here);
  }

  #wantedBy(waiting: readonly Waiting[]): ReadonlyMap<string, Wanted> {
    const nowMs = this.#options.clock.now();
    const names = new Set([...waiting.map(({ name }) => name), ...this.#running]);
    const each = [...names].map((name) => {
      const count = waiting.filter((one) => one.name === name).length;
      const aheadCount = Math.max(0, Math.floor(this.#paceAt(name, nowMs)) - count);
      return [name, { count, aheadCount }] as const;
    });
    return new Map(each);
  }

  /** Decides without the table. All other instances are assumed to send as much as this one. */
  #grantHere(waiting: readonly Waiting[]): Granted {
    const wanted = new Map<string, Wanted>();
    for (const { name } of waiting)
      wanted.set(name, { count: (wanted.get(name)?.count ?? 0) + 1, aheadCount: 0 });
    const nowMs = this.#options.clock.now();
    const ask: Ask = { nowMs, wanted, left: [], weight: this.#options.instancesMax };
    return grant(this.#known, this.#options.limitsAt(nowMs), ask);
  }

  #noteAway({ ledger, permits }: Granted): void {
    this.#known = ledger;
    for (const [name, count] of permits) this.#noteLeft(name, count);
    if (permits.size > 0) this.#doubtUntilMs = countedUntilMs(this.#options.clock.now());
  }

  async #askTable(wanted: ReadonlyMap<string, Wanted>): Promise<Granted | 'contended' | undefined> {
    const { clock, random, telemetry } = this.#options;
    const untilMs = clock.now() + ROUND_MS_MAX;
    try {
      for (let lossCount = 1; ; lossCount++) {
        const granted = await this.#tryTable(wanted);
        if (granted !== undefined) return granted;
        if (clock.now() >= untilMs) return 'contended';
        await clock.sleep(Math.ceil(random.next() * CONFLICT_MS * lossCount));
      }
    } catch (error) {
      this.#awayUntilMs = clock.now() + ANSWER_MS_MAX;
      telemetry.log('warn', 'usage.not_noted', { reason: toError(error).name });
      return undefined;
    }
  }

  /** Resolves to undefined when another instance has written the ledger meanwhile. */
  async #tryTable(wanted: ReadonlyMap<string, Wanted>): Promise<Granted | undefined> {
    const { clock, store, limitsAt } = this.#options;
    const { ledger, version } = await this.#inTime(store.read());
    const left = this.#unnoted;
    const granted = grant(ledger, limitsAt(clock.now()), { nowMs: clock.now(), wanted, left, weight: 1 });
    if (!granted.mustBeWritten) return granted;
    this.#unnoted = [];
    let isWritten = false;
    try {
      isWritten = await this.#inTime(store.write(granted.ledger, version));
    } finally {
      // After a failure they may count twice, which only keeps back what others could have sent.
      if (!isWritten) this.#unnoted = [...left, ...this.#unnoted];
    }
    return isWritten ? granted : undefined;
  }

  async #inTime<T>(call: Promise<T>): Promise<T> {
    const answered = new AbortController();
    const late = this.#options.clock.sleep(ANSWER_MS_MAX, answered.signal).then(
      () => Promise.reject(new DOMException('The table has not answered in time', 'TimeoutError')),
      () => call,
    );
    call.catch(() => {});
    try {
      return await Promise.race([call, late]);
    } finally {
      late.catch(() => {});
      answered.abort();
    }
  }

  #handOut(waiting: readonly Waiting[], granted: Granted, here: Granted | undefined): void {
    const nowMs = this.#options.clock.now();
    const left = new Map(granted.permits);
    for (const { name, answer } of waiting) {
      const count = left.get(name) ?? 0;
      left.set(name, count - 1);
      answer(
        count > 0 ? 0 : (granted.againAtMs.get(name) ?? here?.againAtMs.get(name) ?? nowMs + ANSWER_MS_MAX),
      );
    }
    for (const [name, count] of left)
      if (count > 0)
        this.#keep(name, [
          ...(this.#stock.get(name) ?? []),
          ...Array<number>(count).fill(granted.permitsEndAtMs),
        ]);
  }

  /** What left more than a minute ago counts no more. */
  #noteLeft(name: string, count: number): void {
    const atMs = this.#options.clock.now();
    const recent = this.#unnoted.filter((left) => countedUntilMs(left.atMs) > atMs);
    const same = recent.find((left) => left.name === name && atMs - left.atMs < TOGETHER_MS);
    const sum = { name, atMs, count: count + (same?.count ?? 0) };
    this.#unnoted = [...recent.filter((left) => left !== same), sum];
  }

  #keep(name: string, ends: readonly number[]): void {
    if (ends.length > 0) this.#stock.set(name, ends);
    else this.#stock.delete(name);
  }

  #paceAt(name: string, nowMs: number): number {
    const pace = this.#paces.get(name);
    return pace === undefined ? 0 : pace.count * Math.exp(-Math.abs(nowMs - pace.atMs) / AHEAD_MS);
  }

  /** Counts one more request of the caller and returns how many it sends in `AHEAD_MS`. */
  #paced(name: string, nowMs: number): number {
    const count = this.#paceAt(name, nowMs);
    if (this.#paces.size >= PACES_MAX) this.#paces.clear();
    this.#paces.set(name, { count: count + 1, atMs: nowMs });
    return count;
  }
}

function allowedBy({ permits }: Granted): ReadonlyMap<string, Wanted> {
  return new Map([...permits].map(([name, count]) => [name, { count, aheadCount: 0 }]));
}
