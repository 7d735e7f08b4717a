/**
 * Decides from one item, the account's ledger, which requests of callers may leave now. The ledger says what each caller
 * was permitted in the last minute, whichever instance asked, and what the poller holds of the account's rate limit.
 */

import { type AccountRate, commandsMaxBeside, type PollerPart, unknownPart } from './account-rate.ts';

/** A permit that is not used after this time is lost. */
const PERMIT_MS = 2_000;

/** Permits are counted together when they were given in the same slot. */
const SLOT_MS = 1_000;

/** The clocks of two instances differ by at most so many slots. */
const AHEAD_SLOTS_MAX = 30;

/** The upstream counts a minute from when a request arrives, and a permit may be used as late as it ends. */
const COUNTED_MS = 60_000 + PERMIT_MS;

/** The service allows so many requests a second. Requests that leave in one second may arrive in a little less. */
const SECOND_MS = 1_100;

/** Beyond an even part, a caller may have this many times what is left of the rest. So several callers come to equal parts of it. */
const PART_OF_REST = 6;

/** This part of the limit is left to callers who have not asked in the last minute. */
const PART_OF_NEWCOMERS = 0.1;

/** Nobody gets permits in advance once this part of the limit is used, because unused ones are lost. */
const AHEAD_PART = 0.75;

/** The ledger remembers at most this many callers by name. What the others were permitted counts as a whole. */
export const CALLERS_MAX = 200;

/** This is enough for a person who looks at a project, and for a script that waits for one. */
const WISHES_PER_MINUTE = 30;

/** A slot or a point in time, and how many permits were given in it. */
type Given = readonly [number, number];

export interface Ledger {
  /** The keys are names of callers (`nameIn`). The slots of a name rise. */
  readonly given: Readonly<Record<string, readonly Given[]>>;
  /** What was permitted in the last second, in milliseconds since the epoch. */
  readonly lately: readonly Given[];
  readonly poller?: PollerPart | undefined;
}

export const EMPTY_LEDGER: Ledger = { given: {}, lately: [] };

/** A request leaves at once, a command is put in line and leaves later, or the poller is asked to read a project soon. */
type Kind = 'request' | 'queued' | 'wish';

const MARKS: Readonly<Record<Kind, string>> = { request: 'r', queued: 'q', wish: 'w' };

/** Requests that left without having asked are counted under this name. */
export const UNASKED = 'r';

/** The kinds of one caller are counted separately. `digest` is the same on every instance and names no person. */
export function nameIn(kind: Kind, digest: string): string {
  return `${MARKS[kind]}${digest}`;
}

const isRequest = (name: string) => name.startsWith(MARKS.request);

export interface LedgerLimits {
  readonly rate: AccountRate;
  /** The upstream's refusals have lowered the limit to this part of it, from 0 to 1. */
  readonly share: number;
  readonly requestsPerSecond: number;
  /** No caller gets more than this, also while nobody else asks. */
  readonly callerRequestsPerMinute: number;
}

export interface Wanted {
  /** This many requests wait for a permit. */
  readonly count: number;
  /** This many are expected soon. They get permits only while much of the limit is left. */
  readonly aheadCount: number;
}

/** A caller's request left at this time, or a few did within a second of it. */
export interface Left {
  readonly name: string;
  readonly atMs: number;
  readonly count: number;
}

export interface Ask {
  readonly nowMs: number;
  readonly wanted: ReadonlyMap<string, Wanted>;
  /** These have left already, permitted or not. */
  readonly left: readonly Left[];
  /**
   * Each permit counts this many times. It is 1 for the ledger of the table, and the number of instances for an
   * instance that cannot reach the table and assumes that all others do as it does.
   */
  readonly weight: number;
}

export interface Granted {
  readonly ledger: Ledger;
  /** The table lacks what is given here, or holds what a wrong clock has written. What has only expired may stay there. */
  readonly mustBeWritten: boolean;
  readonly permits: ReadonlyMap<string, number>;
  readonly permitsEndAtMs: number;
  /** Who got less than `count` may have something at this time. */
  readonly againAtMs: ReadonlyMap<string, number>;
}

/**
 * A caller has a right to an even part of the limit, where one part is left to a newcomer. Beyond it, a caller may have
 * what neither newcomers nor the others are expected to need.
 */
export function grant(before: Ledger, limits: LedgerLimits, ask: Ask): Granted {
  const { nowMs, wanted, weight } = ask;
  const ledger = without(before, nowMs);
  const given = new Map(Object.entries(ledger.given));
  for (const { name, atMs, count } of ask.left) give(given, name, atMs, count);
  const limit = limits.share * commandsMaxBeside(limits.rate, ledger.poller ?? unknownPart(limits.rate));
  const perSecond = Math.max(1, Math.floor(limits.requestsPerSecond / weight));
  const uses = usesOf(given, [...wanted.keys()], nowMs);
  const callers = [...uses].filter(([name]) => isRequest(name));
  const evenPart = limit / (callers.length + 1);
  const forNewcomers = Math.min(evenPart, Math.max(2 * weight, PART_OF_NEWCOMERS * limit));
  let used = sumOf(given.get(UNASKED)) + callers.reduce((sum, [, { count }]) => sum + count, 0);
  let expected = callers.reduce((sum, [, use]) => sum + expectedOf(use, evenPart), 0);
  let ofSecond = sumOf(ledger.lately);
  const permits = new Map<string, number>();
  const mayHave = (name: string, { count, aheadCount }: Wanted, use: Use) => {
    const had = permits.get(name) ?? 0;
    if (had >= count + aheadCount || use.count + weight > mostOf(name, limits)) return false;
    if (!isRequest(name)) return had < count;
    if (had >= count && used > AHEAD_PART * limit) return false;
    if (ofSecond >= perSecond || used + weight > limit) return false;
    const others = expected - expectedOf(use, evenPart);
    const rest = limit - used - weight - forNewcomers - others;
    const isDue = use.count === 0 || use.count + weight <= evenPart;
    return isDue || use.count + weight - evenPart <= PART_OF_REST * rest;
  };
  // Each round gives everyone one more, and those who have least come first.
  let waiting = [...wanted].toSorted(([a], [b]) => (uses.get(a)?.count ?? 0) - (uses.get(b)?.count ?? 0));
  while (waiting.length > 0) {
    waiting = waiting.filter(([name, each]) => {
      const use = uses.get(name) ?? { count: 0, ageMs: 0 };
      if (!mayHave(name, each, use)) return false;
      const next = { ...use, count: use.count + weight };
      permits.set(name, (permits.get(name) ?? 0) + 1);
      uses.set(name, next);
      if (!isRequest(name)) return true;
      [used, ofSecond] = [used + weight, ofSecond + 1];
      expected += expectedOf(next, evenPart) - expectedOf(use, evenPart);
      return true;
    });
  }
  // In the slot of the clock that is furthest ahead, or its instance would forget the permits too early.
  const slots = Object.values(ledger.given).flatMap((each) => each.map(([slot]) => slot * SLOT_MS));
  const givenAtMs = slots.reduce((latest, atMs) => Math.max(latest, atMs), nowMs);
  for (const [name, count] of permits) give(given, name, givenAtMs, count * weight);
  const lateCount = ofSecond - sumOf(ledger.lately);
  const lately: readonly Given[] = lateCount > 0 ? [...ledger.lately, [nowMs, lateCount]] : ledger.lately;
  const refused = [...wanted].filter(([name, { count }]) => (permits.get(name) ?? 0) < count);
  const againAtMs = refused.map(([name]) => {
    const isSecondFull = isRequest(name) && ofSecond >= perSecond;
    return [name, isSecondFull ? endOfSecond(lately, nowMs) : firstEnd(given, name, limits, nowMs)] as const;
  });
  return {
    ledger: { given: Object.fromEntries(bounded(given)), lately, poller: ledger.poller },
    mustBeWritten:
      permits.size > 0 ||
      ask.left.length > 0 ||
      Object.values(before.given)
        .flat()
        .some((each) => isByWrongClock(each, nowMs)),
    permits,
    permitsEndAtMs: nowMs + PERMIT_MS,
    againAtMs: new Map(againAtMs),
  };
}

interface Use {
  readonly count: number;
  /** The caller has asked for so long. */
  readonly ageMs: number;
}

/** Returns what each caller had in the last minute, also of those who have had nothing and want something. */
function usesOf(given: ReadonlyMap<string, readonly Given[]>, wanted: readonly string[], nowMs: number) {
  const names = [...new Set([...given.keys(), ...wanted])].filter((name) => name !== UNASKED);
  const uses = names.map((name): [string, Use] => {
    const slots = given.get(name) ?? [];
    const firstMs = Math.min(nowMs, ...slots.map(([slot]) => slot * SLOT_MS));
    return [name, { count: sumOf(slots), ageMs: nowMs - firstMs }];
  });
  return new Map(uses);
}

/** Returns what the caller will need beside what it had, up to an even part, if it goes on as in the time since it began. */
function expectedOf({ count, ageMs }: Use, evenPart: number): number {
  const inMinute = (count * COUNTED_MS) / Math.min(COUNTED_MS, ageMs + 2 * SLOT_MS);
  return Math.max(0, Math.min(evenPart, inMinute) - count);
}

/** Returns how many requests commands were permitted in the last minute. */
export function requestCountIn(ledger: Ledger, nowMs: number): number {
  const { given } = without(ledger, nowMs);
  return sumOf(Object.entries(given).flatMap(([name, each]) => (isRequest(name) ? each : [])));
}

/** Returns until when what is given now counts. */
export function countedUntilMs(nowMs: number): number {
  return endOf([Math.floor(nowMs / SLOT_MS), 0]);
}

function mostOf(name: string, { rate, callerRequestsPerMinute }: LedgerLimits): number {
  if (name.startsWith(MARKS.wish)) return WISHES_PER_MINUTE;
  if (isRequest(name)) return callerRequestsPerMinute;
  return Math.min(callerRequestsPerMinute, rate.commandRequestsPerMinute);
}

function endOf([slot]: Given): number {
  return (slot + 1) * SLOT_MS + COUNTED_MS;
}

/**
 * What another instance was given counts for as long by this clock, too, which may be behind. What stands further ahead was
 * written by a clock that was wrong, and ends as if it were written now.
 */
function without({ given, lately, poller }: Ledger, nowMs: number): Ledger {
  const next = Math.floor(nowMs / SLOT_MS) + 1;
  const kept = Object.entries(given).map(([name, slots]) => {
    const known = slots.map((each): Given => (isByWrongClock(each, nowMs) ? [next, each[1]] : each));
    return [name, known.filter((each) => endOf(each) > nowMs)] as const;
  });
  return {
    given: Object.fromEntries(kept.filter(([, slots]) => slots.length > 0)),
    lately: lately.filter(([atMs]) => Math.abs(nowMs - atMs) < SECOND_MS),
    poller,
  };
}

function isByWrongClock([slot]: Given, nowMs: number): boolean {
  return slot > Math.floor(nowMs / SLOT_MS) + AHEAD_SLOTS_MAX;
}

function give(given: Map<string, readonly Given[]>, name: string, nowMs: number, count: number): void {
  if (count <= 0) return;
  const slot = Math.floor(nowMs / SLOT_MS);
  const slots = given.get(name) ?? [];
  const others = slots.filter(([each]) => each !== slot);
  const present = sumOf(slots.filter(([each]) => each === slot));
  given.set(name, [...others, [slot, present + count]]);
}

/** The callers with the fewest permits lose their names first, and count together from then on. */
function bounded(given: Map<string, readonly Given[]>): Map<string, readonly Given[]> {
  if (given.size <= CALLERS_MAX) return given;
  const names = [...given.keys()].filter((name) => name !== UNASKED);
  const few = names.toSorted((a, b) => sumOf(given.get(a)) - sumOf(given.get(b)));
  for (const name of few.slice(0, given.size - CALLERS_MAX)) {
    if (isRequest(name))
      for (const [slot, count] of given.get(name) ?? []) give(given, UNASKED, slot * SLOT_MS, count);
    given.delete(name);
  }
  return given;
}

/** Returns when the first of the permits ends that leave no more for the caller: its own, or anybody's. */
function firstEnd(
  given: ReadonlyMap<string, readonly Given[]>,
  name: string,
  limits: LedgerLimits,
  nowMs: number,
): number {
  const own = given.get(name) ?? [];
  const isOwn = !isRequest(name) || sumOf(own) >= mostOf(name, limits);
  const all = [...given].flatMap(([each, slots]) => (isRequest(each) ? slots : []));
  const ends = (isOwn ? own : all).map(endOf);
  return ends.length === 0 ? nowMs + SLOT_MS : Math.min(...ends);
}

function endOfSecond(lately: readonly Given[], nowMs: number): number {
  return Math.min(nowMs + SECOND_MS, ...lately.map(([atMs]) => atMs + SECOND_MS));
}

function sumOf(given: readonly Given[] = []): number {
  return given.reduce((sum, [, count]) => sum + count, 0);
}
