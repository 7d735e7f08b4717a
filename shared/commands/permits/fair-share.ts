/**
 * Divides the commands' part of the account's rate limit among callers. A request leaves when its caller's own limit
 * and the permits of the instance allow it.
 */

import { hash } from 'node:crypto';
import { commandLimitOf, USAGE_NOTE_MS } from '../../core/rates/account-rate.ts';
import { type RateLimit, rateLimitOf } from '../../core/rates/rate-limit.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { CommandUsage, UsageSums } from '../../store/command-usage.ts';
import type { RequestBudget } from '../../upstream/request-budget.ts';
import { CALLER_BURST, createCallerParts } from './caller-parts.ts';
import { InstanceLimit, InstancePart } from './instance-limit.ts';
import { PermitStock } from './permit-stock.ts';
import { CALLERS_MAX, createSharedUses, UsageNotes } from './shared-use.ts';

interface RunningCounts {
  countOf(name: string): number;
  /** Counts the task under this name until it has ended, well or not. */
  during<T>(name: string, task: Promise<T>): Promise<T>;
}

function createRunningCounts(): RunningCounts {
  const counts = new Map<string, number>();
  const countOf = (name: string) => counts.get(name) ?? 0;
  return {
    countOf,
    async during(name, task) {
      counts.set(name, countOf(name) + 1);
      try {
        return await task;
      } finally {
        counts.set(name, countOf(name) - 1);
        if (countOf(name) === 0) counts.delete(name);
      }
    },
  };
}

interface CallerAllowance {
  /** Uses up one and returns 0, or uses up none and returns how long the caller has to wait, in ms. */
  use(name: string, nowMs: number): number;
  /** Counts what the other instances have counted. `added` is what this instance has just added to the sums. */
  learn(sums: UsageSums, added: ReadonlyMap<string, number>, nowMs: number): void;
}

/** Makes an allowance that gives each caller this limit. */
function createCallerAllowance(limit: RateLimit): CallerAllowance {
  const uses = createSharedUses();

  return {
    use(name, nowMs) {
      const delayMs = uses.waitMs(limit, name, nowMs);
      if (delayMs === 0) uses.spend(limit, name, nowMs);
      return delayMs;
    },
    learn({ window, members }, added, nowMs) {
      for (const [name, sum] of members)
        uses.learn(limit, name, { window, sum, addedCount: added.get(name) ?? 0 }, nowMs);
    },
  };
}

export interface FairShare {
  /**
   * Takes a permit and resolves to 0, or takes none and resolves to the time that the caller would have to wait, in ms.
   * The request of a caller who takes no more than an even part is held until permits can be asked for again, for at
   * most `holdMs`. Default and maximum are two seconds.
   */
  admit(clientId: string, holdMs?: number): Promise<number>;
  /** Does the same for a wish that the poller read a project soon, and holds nothing. */
  admitWish(clientId: string): number;
  /**
   * Does the same for a command that the caller puts in line, and holds nothing. A caller may put as many in line in a
   * minute as it may send, and the command takes its permit when it is sent.
   */
  admitQueued(clientId: string): number;
  /** Counts the requests that were admitted as they leave. They do not queue again. */
  readonly budget: RequestBudget;
  /**
   * Resolves when no note is under way, so that the process may be frozen. What is not noted yet goes into the next
   * note.
   */
  idle(): Promise<void>;
}

export interface FairShareOptions {
  readonly clock: Clock;
  readonly requestsPerMinute: number;
  readonly callerRequestsPerMinute: number;
  /** At most this many instances send requests at once. Each keeps its part of the limit while the table does not answer. */
  readonly instancesMax: number;
  readonly usage: CommandUsage;
  readonly telemetry: Telemetry;
}

/** If requests were held longer, they would occupy too many instances of the function. */
const HOLD_MS_MAX = 2_000;

/** No request has to look for a permit this often within `HOLD_MS_MAX`. */
const LOOKS_MAX = 20;

/** This is enough for a person who looks at a project, and for a script that waits for one. */
const WISHES_PER_MINUTE = 30;
const WISH_BURST = 3;

export function createFairShare(options: FairShareOptions): FairShare {
  const { clock, requestsPerMinute } = options;
  const here = new InstanceLimit(commandLimitOf(requestsPerMinute));
  const limitAt = (nowMs: number) => here.limitAt(nowMs);
  const callerRequestsPerMinute = Math.min(options.callerRequestsPerMinute, requestsPerMinute);
  const wishes = createCallerAllowance(rateLimitOf(WISHES_PER_MINUTE, WISH_BURST));
  const queued = createCallerAllowance(rateLimitOf(callerRequestsPerMinute, CALLER_BURST));
  const commandMemberOf = rememberedMembers('command');
  const notes = new UsageNotes({
    ...options,
    learn(sums, added) {
      const nowMs = clock.now();
      callers.learn(sums, added, nowMs);
      wishes.learn(sums, added, nowMs);
      queued.learn(sums, added, nowMs);
    },
  });
  const partOptions = { limitAt, callerRequestsPerMinute, instancesMax: options.instancesMax };
  const part = new InstancePart(partOptions);
  const queuedPart = new InstancePart(partOptions);
  const callers = createCallerParts({
    callerRequestsPerMinute,
    limitAt,
    count: (name, by) => notes.count(name, by),
  });
  const stock = new PermitStock({ clock, limitAt, notes });
  const admit = admitterOf({ clock, here, part, callers, stock, notes });
  const useOne = (allowance: CallerAllowance, name: string): number => {
    const delayMs = allowance.use(name, clock.now());
    if (delayMs > 0) return delayMs;
    notes.count(name, 1);
    notes.noteSoon();
    return 0;
  };

  return {
    admit: (clientId, holdMs = HOLD_MS_MAX) =>
      admit(commandMemberOf(clientId), Math.min(holdMs, HOLD_MS_MAX)),
    admitWish: (clientId) => useOne(wishes, memberOf('wish', clientId)),
    admitQueued(clientId) {
      const name = memberOf('queued', clientId);
      const nowMs = clock.now();
      const isAway = stock.isAway();
      if (!queuedPart.hasRoom(name, nowMs, isAway)) {
        if (isAway) notes.noteSoon();
        return USAGE_NOTE_MS;
      }
      const delayMs = useOne(queued, name);
      if (delayMs === 0) queuedPart.noteSent(name, nowMs, isAway);
      return delayMs;
    },
    budget: {
      async take() {
        here.send(clock.now());
        notes.countSent();
        notes.noteSoon();
      },
      pauseFor: (durationMs) => here.pauseFor(durationMs, clock.now()),
    },
    idle: () => notes.idle(),
  };
}

interface AdmitterDeps {
  readonly clock: Clock;
  readonly here: InstanceLimit;
  readonly part: InstancePart;
  readonly callers: ReturnType<typeof createCallerParts>;
  readonly stock: PermitStock;
  readonly notes: UsageNotes;
}

/** Returns a function that looks for a permit until the caller has one, has to wait longer, or has looked often enough. */
function admitterOf({ clock, here, part, callers, stock, notes }: AdmitterDeps) {
  const held = createRunningCounts();

  return async (name: string, holdMs: number): Promise<number> => {
    const untilMs = clock.now() + holdMs;
    callers.noteAsked(name, clock.now());
    for (let look = 0; look < LOOKS_MAX; look++) {
      const nowMs = clock.now();
      const limitedMs = Math.max(callers.waitMs(name, nowMs), here.waitMs(nowMs));
      if (limitedMs > 0) return limitedMs;
      const isAway = stock.isAway();
      if (!part.hasRoom(name, nowMs, isAway)) {
        // The next note shows whether the table counts again.
        if (isAway) notes.noteSoon();
        return USAGE_NOTE_MS;
      }
      const standing = callers.standingOf(name, held.countOf(name), nowMs);
      const isHere = isAway || stock.tryTake(standing);
      if (!isHere) {
        const obtained = await held.during(name, stock.obtain(standing, untilMs));
        if (obtained.kind === 'later') return obtained.delayMs;
        continue;
      }
      if (standing !== 'above') stock.renew(standing);
      here.admit(nowMs);
      part.noteSent(name, nowMs, isAway);
      callers.noteSent(name, nowMs);
      return 0;
    }
    return USAGE_NOTE_MS;
  };
}

/** A caller asks again and again, and the name is a digest, which costs as much as the rest of a permit that is here. */
function rememberedMembers(kind: 'command'): (clientId: string) => string {
  const known = new Map<string, string>();
  return (clientId) => {
    const member = known.get(clientId) ?? memberOf(kind, clientId);
    known.set(clientId, member);
    const [oldest] = known.keys();
    if (known.size > CALLERS_MAX && oldest !== undefined) known.delete(oldest);
    return member;
  };
}

/** The name is short, the same on every instance, and does not hold the name of a person. */
function memberOf(kind: 'command' | 'queued' | 'wish', clientId: string): string {
  return hash('sha256', `${kind}\n${clientId}`).slice(0, 16);
}
