/**
 * The planner of the second edition, which gave each project a stride at its poll, and kept strides in queues. It is a rival of the
 * planner of production for one edition, so that the table shows both, and is deleted with the next one. Its comments are those of the
 * commit 286368fb.
 */

import type { IntervalMsMin } from '../../../functions/poller/planner/pace.ts';
import type {
  PollDecision,
  PollingNeed,
  PollPlanner,
  PollResult,
} from '../../../functions/poller/planner/poll-planner.ts';
import type {
  ArrivalHistory,
  Lifetime,
  ProjectActivity,
} from '../../../functions/poller/planner/project-activity.ts';
import type { FieldEvidence, HintRecall } from '../../../shared/core/records/account-status.ts';

import type { RunningCompute } from '../../../shared/core/records/running-compute.ts';
import { DAY_MS } from '../../../shared/core/time.ts';

function longRunHistory(
  before: ArrivalHistory | undefined,
  page: ArrivalHistory,
  elapsedMs: number,
): ArrivalHistory {
  const saysItAll = page.observedMs >= DAY_MS || elapsedMs >= page.observedMs;
  if (before === undefined || saysItAll) return page;
  const observedMs = Math.min(DAY_MS, before.observedMs + elapsedMs);
  const keptCount = (before.arrivalCount * (observedMs - elapsedMs)) / before.observedMs;
  const newCount = (page.arrivalCount * elapsedMs) / page.observedMs;
  return { arrivalCount: keptCount + newCount, observedMs };
}
interface AgedHazard {
  note(fromMs: number, toMs: number, hasEnded: boolean): void;
  perMs(ageMs: number): number;
  nextRiseMs(ageMs: number): number | undefined;
}

interface AssumedHazard {
  readonly edgesMs: readonly number[];
  perMs(ageMs: number): number;
  readonly priorMs: number;
}
const PRIOR_ENDS = 4;
const ENDS_KEPT_MAX = 2_000;
const RISE_MIN = 2;

function createAgedHazard(assumed: AssumedHazard): AgedHazard {
  const { edgesMs } = assumed;
  const assumedPerMs = Float64Array.from(edgesMs, (_, span) => assumed.perMs(middleOf(edgesMs, span)));
  const priorMs = assumedPerMs.map((perMs) => (perMs > 0 ? 1 / perMs : assumed.priorMs));
  const ends = new Float64Array(edgesMs.length);
  const watchedMs = new Float64Array(edgesMs.length);
  const hazards = Float64Array.from(assumedPerMs);
  let hasNews = false;

  return {
    note(fromMs, toMs, hasEnded) {
      const last = spanOf(edgesMs, toMs);
      for (let span = spanOf(edgesMs, fromMs); span <= last; span++) {
        const untilMs = Math.min(toMs, edgesMs[span + 1] ?? toMs);
        watchedMs[span] =
          (watchedMs[span] ?? 0) + Math.max(0, untilMs - Math.max(fromMs, edgesMs[span] ?? 0));
      }
      if (hasEnded) ends[last] = (ends[last] ?? 0) + 1;
      hasNews = true;
    },
    perMs(ageMs) {
      if (hasNews) learn();
      return hazards[spanOf(edgesMs, ageMs)] ?? 0;
    },
    nextRiseMs(ageMs) {
      if (hasNews) learn();
      const span = spanOf(edgesMs, ageMs);
      const wanted = Math.max(Number.MIN_VALUE, RISE_MIN * (hazards[span] ?? 0));
      for (let later = span + 1; later < edgesMs.length; later++)
        if ((hazards[later] ?? 0) >= wanted) return edgesMs[later];
      return undefined;
    },
  };

  function learn(): void {
    let endCount = 0;
    let assumedCount = 0;
    for (let span = 0; span < hazards.length; span++) {
      const perMs = assumedPerMs[span] ?? 0;
      if (perMs > 0) endCount += ends[span] ?? 0;
      assumedCount += perMs * (watchedMs[span] ?? 0);
    }
    const scale = (endCount + PRIOR_ENDS) / (assumedCount + PRIOR_ENDS);
    for (let span = 0; span < hazards.length; span++) {
      const prior = priorMs[span] ?? 0;
      const expected = scale * (assumedPerMs[span] ?? 0) * prior;
      hazards[span] = ((ends[span] ?? 0) + expected) / ((watchedMs[span] ?? 0) + prior);
    }
    hasNews = false;
    if (Math.max(endCount, assumedCount) > ENDS_KEPT_MAX) halve();
  }

  function halve(): void {
    for (let span = 0; span < hazards.length; span++) {
      ends[span] = (ends[span] ?? 0) / 2;
      watchedMs[span] = (watchedMs[span] ?? 0) / 2;
    }
  }
}
function middleOf(edgesMs: readonly number[], span: number): number {
  const fromMs = edgesMs[span] ?? 0;
  return (fromMs + (edgesMs[span + 1] ?? 3 * fromMs)) / 2;
}
function spanOf(edgesMs: readonly number[], ageMs: number): number {
  let span = 0;
  while (span + 1 < edgesMs.length && ageMs >= (edgesMs[span + 1] ?? 0)) span += 1;
  return span;
}

interface ExpectedSuspend {
  readonly readAtMs: number;
  readonly suspendAtMs: number | undefined;
  readonly isUnused: boolean;
  readonly learnedToMs: number;
}

interface ExpectedSuspends {
  learn(expected: KnownComputes, shown: readonly Lifetime[], nowMs: number): KnownComputes;
  judge(expected: Iterable<ExpectedSuspend> | undefined): void;
  perMs(expected: ExpectedSuspend, nowMs: number): number | undefined;
  nextRiseMs(expected: ExpectedSuspend, nowMs: number): number | undefined;
  isTrusted(): boolean;
}
type KnownComputes = ReadonlyMap<string, ExpectedSuspend>;

const NO_COMPUTES: KnownComputes = new Map();
const RECENT_MS = 60_000;
const CONTRADICTED_AFTER_MS = 120_000;
const EARLY_MS = 300_000;
const EDGES_S = [-300, -30, -5, 0, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600];
const SUSPEND_MS_ASSUMED = 15_000;
const SUSPENDING_MS = 60_000;
const USE_MS_ASSUMED = 240_000;

const UNUSED = assumedHazard((lateMs) => (lateMs < SUSPENDING_MS ? SUSPEND_MS_ASSUMED : USE_MS_ASSUMED));
const USED = assumedHazard(() => USE_MS_ASSUMED);

function assumedHazard(meanMsAt: (lateMs: number) => number): AssumedHazard {
  return {
    edgesMs: EDGES_S.map((seconds) => seconds * 1_000 + EARLY_MS),
    perMs: (ageMs) => (ageMs < EARLY_MS ? 0 : 1 / meanMsAt(ageMs - EARLY_MS)),
    priorMs: USE_MS_ASSUMED,
  };
}
const KEPT_EARLY_MS = 30_000;
const KEPT_LATE_MS = 60_000;
const PRIOR_KEPT = 4;
const JUDGED_MAX = 40;

function createExpectedSuspends(): ExpectedSuspends {
  const unused = createAgedHazard(UNUSED);
  const used = createAgedHazard(USED);
  const hazardOf = ({ isUnused }: ExpectedSuspend): AgedHazard => (isUnused ? unused : used);
  let keptCount = 0;
  let brokenCount = 0;

  return {
    learn(expected, shown, nowMs) {
      if (expected.size === 0) return expected;
      const ends = endsOf(shown);
      const left = new Map<string, ExpectedSuspend>();
      for (const [id, each] of expected) {
        const endMs = ends.get(id);
        const hasEnded = endMs !== undefined && endMs >= each.readAtMs - RECENT_MS;
        learnOne(each, hasEnded ? endMs : nowMs, hasEnded);
        if (!hasEnded) left.set(id, { ...each, learnedToMs: nowMs });
      }
      return left;
    },
    judge(expected) {
      if (expected === undefined) return count(false);
      for (const { suspendAtMs } of expected) if (suspendAtMs === undefined) count(false);
    },
    perMs(expected, nowMs) {
      const { suspendAtMs } = expected;
      if (suspendAtMs === undefined) return undefined;
      return Number.isFinite(suspendAtMs) ? hazardOf(expected).perMs(ageOf(suspendAtMs, nowMs)) : 0;
    },
    nextRiseMs(expected, nowMs) {
      const { suspendAtMs = Number.POSITIVE_INFINITY } = expected;
      if (!Number.isFinite(suspendAtMs)) return undefined;
      const riseMs = hazardOf(expected).nextRiseMs(ageOf(suspendAtMs, nowMs));
      return riseMs === undefined ? undefined : suspendAtMs + riseMs - EARLY_MS;
    },
    isTrusted: () => keptCount + PRIOR_KEPT >= brokenCount,
  };

  function learnOne(expected: ExpectedSuspend, toMs: number, hasEnded: boolean): void {
    const { suspendAtMs = Number.POSITIVE_INFINITY, learnedToMs } = expected;
    if (!Number.isFinite(suspendAtMs)) return;
    const fromMs = ageOf(suspendAtMs, Math.min(learnedToMs, toMs));
    hazardOf(expected).note(fromMs, ageOf(suspendAtMs, toMs), hasEnded);
    const lateMs = toMs - suspendAtMs;
    if (hasEnded && lateMs <= KEPT_LATE_MS) count(lateMs >= -KEPT_EARLY_MS);
  }

  function count(isKept: boolean): void {
    if (isKept) keptCount += 1;
    else brokenCount += 1;
    if (keptCount + brokenCount < JUDGED_MAX) return;
    keptCount /= 2;
    brokenCount /= 2;
  }
}
function expectedSuspend({ lastActiveMs, suspendAfterMs }: RunningCompute, nowMs: number): ExpectedSuspend {
  const suspendAtMs =
    suspendAfterMs === Number.POSITIVE_INFINITY
      ? suspendAfterMs
      : (lastActiveMs ?? Number.NaN) + suspendAfterMs;
  const isPossible = suspendAtMs >= nowMs - CONTRADICTED_AFTER_MS;
  return {
    readAtMs: nowMs,
    suspendAtMs: isPossible ? suspendAtMs : undefined,
    isUnused: lastActiveMs !== undefined && nowMs - lastActiveMs > RECENT_MS,
    learnedToMs: nowMs,
  };
}
function nothingKnown(nowMs: number): ExpectedSuspend {
  return { readAtMs: nowMs, suspendAtMs: undefined, isUnused: false, learnedToMs: nowMs };
}
const READING_GAP_MS_MIN = 30_000;
const USED_AGAIN_AFTER_MS = 45_000;
const RETRY_AFTER_MS = 600_000;
const NEVER_FOR_MS = 3_600_000;
function staleAtMs({ suspendAtMs, isUnused, readAtMs }: ExpectedSuspend): number {
  if (suspendAtMs === undefined) return readAtMs + RETRY_AFTER_MS;
  if (!Number.isFinite(suspendAtMs)) return readAtMs + NEVER_FOR_MS;
  const usedAgainAtMs = isUnused ? suspendAtMs + USED_AGAIN_AFTER_MS : suspendAtMs;
  return Math.max(usedAgainAtMs, readAtMs + READING_GAP_MS_MIN);
}
function endsOf(shown: readonly Lifetime[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { computeId, endedMs } of shown)
    if (computeId !== undefined && endedMs !== undefined && !ends.has(computeId))
      ends.set(computeId, endedMs);
  return ends;
}
function ageOf(suspendAtMs: number, atMs: number): number {
  return Math.max(0, atMs - suspendAtMs + EARLY_MS);
}

interface LearnedLifetimes {
  learn(shown: readonly Lifetime[], before: PageBefore, nowMs: number): void;
  suspendPerMs(ageMs: number): number;
  nextSuspendRiseMs(ageMs: number): number | undefined;
  endPerMs(action: string | undefined, ageMs: number): number;
}
interface PageBefore {
  readonly learnedAtMs: number | undefined;
  readonly shownEndMs: number;
}

const MINUTE_MS = 60_000;
const SUSPEND_AFTER_MS = 5 * MINUTE_MS;
const USE_MS_ASSUMED_2 = 4 * MINUTE_MS;
const USE_EDGES_MIN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 45, 60, 90, 120, 240, 480];

const COMPUTE_USE: AssumedHazard = {
  edgesMs: USE_EDGES_MIN.map((minutes) => minutes * MINUTE_MS),
  perMs: (ageMs) => (ageMs >= SUSPEND_AFTER_MS ? 1 / USE_MS_ASSUMED_2 : 0),
  priorMs: USE_MS_ASSUMED_2,
};
const OPERATION_EDGES_S = [
  0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1_024, 4_096, 16_384,
];
const OPEN_AGE_OFFSET_MS = 1_500;

const OPERATION: AssumedHazard = {
  edgesMs: OPERATION_EDGES_S.map((seconds) => seconds * 1_000),
  perMs: (ageMs) => 1 / (OPEN_AGE_OFFSET_MS + Math.max(0, ageMs)),
  priorMs: OPEN_AGE_OFFSET_MS,
};
const ACTIONS_MAX = 32;

function createLearnedLifetimes(): LearnedLifetimes {
  const use = createAgedHazard(COMPUTE_USE);
  const operations = new Map<string, AgedHazard>();

  return {
    learn(shown, { learnedAtMs = Number.NEGATIVE_INFINITY, shownEndMs }, nowMs) {
      for (const lifetime of shown) {
        const { action, beganMs, endedMs } = lifetime;
        const isNew = endedMs !== undefined && endedMs > shownEndMs;
        if (action !== undefined) {
          if (isNew) hazardOf(action)?.note(0, endedMs - beganMs, true);
        } else {
          const fromMs = Math.max(0, learnedAtMs - beganMs);
          const toMs = Math.max(0, (endedMs ?? nowMs) - beganMs);
          if (isNew || toMs > fromMs) use.note(Math.min(fromMs, toMs), toMs, isNew);
        }
      }
    },
    suspendPerMs: (ageMs) => use.perMs(ageMs),
    nextSuspendRiseMs: (ageMs) => use.nextRiseMs(ageMs),
    endPerMs: (action, ageMs) =>
      (action === undefined ? undefined : operations.get(action)?.perMs(ageMs)) ?? OPERATION.perMs(ageMs),
  };

  function hazardOf(action: string): AgedHazard | undefined {
    const known = operations.get(action);
    if (known !== undefined || operations.size >= ACTIONS_MAX) return known;
    const created = createAgedHazard(OPERATION);
    operations.set(action, created);
    return created;
  }
}

const TRANSITIONS_PER_ARRIVAL = 3.75;
const TRANSITIONS_PER_SUSPEND = 3;
const ARRIVALS_PER_MS_ASSUMED = 8 / DAY_MS;
const INTENSITY_PER_MS_MIN = TRANSITIONS_PER_ARRIVAL * 1e-3 * ARRIVALS_PER_MS_ASSUMED;
function coldIntensity(history: ArrivalHistory | undefined, arrivalsPerMsMean: number): number {
  const { arrivalCount, observedMs } = history ?? { arrivalCount: 0, observedMs: 0 };
  const arrivalsPerMs = (arrivalCount + 0.5) / (observedMs + 0.5 / arrivalsPerMsMean);
  return Math.max(INTENSITY_PER_MS_MIN, arrivalsPerMs * TRANSITIONS_PER_ARRIVAL);
}
interface SuspendKnowledge {
  readonly computes: KnownComputes;
  readonly suspends: Pick<ExpectedSuspends, 'perMs' | 'nextRiseMs'>;
}
function hotIntensity(
  activity: ProjectActivity | undefined,
  lifetimes: Pick<LearnedLifetimes, 'suspendPerMs' | 'endPerMs'>,
  nowMs: number,
  known: SuspendKnowledge,
): number {
  if (activity === undefined) return 0;
  const { openSinceMs, openAction, activeSinceMs } = activity;
  let suspendsPerMs = 0;
  for (const [place, sinceMs] of activeSinceMs.entries()) {
    const expected = expectedAt(place, activity, known);
    const expectedPerMs = expected && known.suspends.perMs(expected, nowMs);
    suspendsPerMs += expectedPerMs ?? lifetimes.suspendPerMs(nowMs - sinceMs);
  }
  const suspending = suspendsPerMs * TRANSITIONS_PER_SUSPEND;
  if (openSinceMs === undefined) return suspending;
  return suspending + lifetimes.endPerMs(openAction, Math.max(0, nowMs - openSinceMs));
}
function nextRiseMs(
  activity: ProjectActivity | undefined,
  lifetimes: Pick<LearnedLifetimes, 'nextSuspendRiseMs'>,
  nowMs: number,
  known: SuspendKnowledge,
): number | undefined {
  if (activity === undefined) return undefined;
  let next = Number.POSITIVE_INFINITY;
  for (const [place, sinceMs] of activity.activeSinceMs.entries())
    next = Math.min(next, riseMs(expectedAt(place, activity, known), sinceMs) ?? next);
  return Number.isFinite(next) ? next : undefined;

  function riseMs(expected: ExpectedSuspend | undefined, sinceMs: number): number | undefined {
    if (expected?.suspendAtMs !== undefined) return known.suspends.nextRiseMs(expected, nowMs);
    const ageMs = lifetimes.nextSuspendRiseMs(nowMs - sinceMs);
    return ageMs === undefined ? undefined : sinceMs + ageMs;
  }
}
function expectedAt(
  place: number,
  { activeIds }: ProjectActivity,
  { computes }: SuspendKnowledge,
): ExpectedSuspend | undefined {
  return computes.get(activeIds?.[place] ?? '');
}

interface ArrivalRates {
  replace(before: ArrivalHistory | undefined, after: ArrivalHistory | undefined): void;
  perMsMean(): number;
}
const PRIOR_ARRIVALS = 8;

function createArrivalRates(): ArrivalRates {
  let arrivalCount = 0;
  let observedMs = 0;
  return {
    replace(before, after) {
      count(before, -1);
      count(after, 1);
    },
    perMsMean: () =>
      (arrivalCount + PRIOR_ARRIVALS) / (observedMs + PRIOR_ARRIVALS / ARRIVALS_PER_MS_ASSUMED),
  };

  function count(history: ArrivalHistory | undefined, sign: 1 | -1): void {
    if (history === undefined) return;
    const share = Math.min(1, DAY_MS / history.observedMs);
    arrivalCount += sign * share * history.arrivalCount;
    observedMs += sign * share * history.observedMs;
  }
}

interface SlotHeap {
  readonly size: number;
  holds(slot: number): boolean;
  put(slot: number, priority: number): void;
  takeOut(slot: number): void;
  firstSlot(): number;
  firstPriority(): number;
}

const CHILDREN = 4;
const FIRST_LENGTH = 16;

function createSlotHeap(): SlotHeap {
  let slots = new Int32Array(FIRST_LENGTH);
  let priorities = new Float64Array(FIRST_LENGTH);
  let orders = new Float64Array(FIRST_LENGTH);
  let places = new Int32Array(FIRST_LENGTH);
  let size = 0;
  let order = 0;

  return {
    get size() {
      return size;
    },
    holds: (slot) => slot < places.length && places[slot] !== 0,
    put(slot, priority) {
      if (size === slots.length) {
        slots = withRoom(slots, size);
        priorities = withRoom(priorities, size);
        orders = withRoom(orders, size);
      }
      if (slot >= places.length) places = withRoom(places, slot);
      rise(size++, slot, priority, order++);
    },
    takeOut(slot) {
      const place = (places[slot] as number) - 1;
      places[slot] = 0;
      size -= 1;
      if (place === size) return;
      const last = slots[size] as number;
      const priority = priorities[size] as number;
      const lastOrder = orders[size] as number;
      if (place > 0 && isBeforeParent(place, priority, lastOrder)) rise(place, last, priority, lastOrder);
      else sink(place, last, priority, lastOrder);
    },
    firstSlot: () => (size === 0 ? -1 : (slots[0] as number)),
    firstPriority: () => (size === 0 ? Number.POSITIVE_INFINITY : (priorities[0] as number)),
  };

  function rise(from: number, slot: number, priority: number, own: number): void {
    let place = from;
    while (place > 0 && isBeforeParent(place, priority, own)) {
      const parent = parentOf(place);
      move(parent, place);
      place = parent;
    }
    settle(place, slot, priority, own);
  }

  function sink(from: number, slot: number, priority: number, own: number): void {
    let place = from;
    for (let child = firstChild(place); child !== -1; child = firstChild(place)) {
      if (isBefore(priority, own, child)) break;
      move(child, place);
      place = child;
    }
    settle(place, slot, priority, own);
  }
  function firstChild(place: number): number {
    const begin = CHILDREN * place + 1;
    if (begin >= size) return -1;
    let first = begin;
    const end = Math.min(begin + CHILDREN, size);
    for (let child = begin + 1; child < end; child++)
      if (isBefore(priorities[child] as number, orders[child] as number, first)) first = child;
    return first;
  }

  function isBeforeParent(place: number, priority: number, own: number): boolean {
    return isBefore(priority, own, parentOf(place));
  }

  function isBefore(priority: number, own: number, place: number): boolean {
    const other = priorities[place] as number;
    return priority < other || (priority === other && own < (orders[place] as number));
  }

  function move(from: number, to: number): void {
    settle(to, slots[from] as number, priorities[from] as number, orders[from] as number);
  }

  function settle(place: number, slot: number, priority: number, own: number): void {
    slots[place] = slot;
    priorities[place] = priority;
    orders[place] = own;
    places[slot] = place + 1;
  }
}

function parentOf(place: number): number {
  return (place - 1) >> 2;
}
function withRoom<Numbers extends Int32Array | Float64Array>(numbers: Numbers, index: number): Numbers {
  const longer = new (numbers.constructor as new (length: number) => Numbers)(
    Math.max(2 * numbers.length, index + 1),
  );
  longer.set(numbers);
  return longer;
}

interface PriorityQueue<T> {
  readonly size: number;
  has(item: T): boolean;
  set(item: T, priority: number): void;
  delete(item: T): void;
  first(): QueueEntry<T> | undefined;
  firstPriority(): number;
  shift(): QueueEntry<T> | undefined;
  shiftUpTo(priority: number): QueueEntry<T> | undefined;
}

interface QueueEntry<T> {
  readonly item: T;
  readonly priority: number;
}
function createPriorityQueue<T>(slotOf: (item: T) => number): PriorityQueue<T> {
  const heap = createSlotHeap();
  const items: (T | undefined)[] = [];

  return {
    get size() {
      return heap.size;
    },
    has,
    set(item, priority) {
      const slot = slotOf(item);
      if (heap.holds(slot)) heap.takeOut(slot);
      items[slot] = item;
      heap.put(slot, priority);
    },
    delete(item) {
      if (has(item)) takeOut(slotOf(item));
    },
    first,
    firstPriority: () => heap.firstPriority(),
    shift,
    shiftUpTo: (priority) => (heap.firstPriority() <= priority ? shift() : undefined),
  };
  function has(item: T): boolean {
    return items[slotOf(item)] === item;
  }

  function first(): QueueEntry<T> | undefined {
    if (heap.size === 0) return undefined;
    return { item: items[heap.firstSlot()] as T, priority: heap.firstPriority() };
  }

  function shift(): QueueEntry<T> | undefined {
    const entry = first();
    if (entry !== undefined) takeOut(heap.firstSlot());
    return entry;
  }

  function takeOut(slot: number): void {
    heap.takeOut(slot);
    items[slot] = undefined;
  }
}

type Urgency = 'command' | 'hint' | 'wish';
interface Turn {
  readonly slot: number;
  readonly id: string;
  readonly page: number | undefined;
  activity: ProjectActivity | undefined;
  history: ArrivalHistory | undefined;
  computes: KnownComputes;
  computesRestUntilMs: number;
  learnedAtMs: number | undefined;
  shownEndMs: number;
  cold: number;
  stride: number;
  finish: number;
  begunAt: number;
  isUnderWay: boolean;
  beganAtMs: number;
  wanted: Urgency | undefined;
  isPressing: boolean;
  isSpread: boolean;
  hasLeftovers: boolean;
  polledAtMs: number;
  failureCount: number;
}
function newTurn(slot: number, id: string, cold: number, page?: number): Turn {
  return {
    slot,
    id,
    page,
    activity: undefined,
    history: undefined,
    computes: NO_COMPUTES,
    computesRestUntilMs: Number.NEGATIVE_INFINITY,
    learnedAtMs: undefined,
    shownEndMs: Number.NEGATIVE_INFINITY,
    cold,
    stride: 1 / Math.sqrt(cold),
    finish: 0,
    begunAt: 0,
    isUnderWay: false,
    beganAtMs: Number.NEGATIVE_INFINITY,
    wanted: undefined,
    isPressing: false,
    isSpread: false,
    hasLeftovers: false,
    polledAtMs: Number.NEGATIVE_INFINITY,
    failureCount: 0,
  };
}

function slotOfTurn({ slot }: Turn): number {
  return slot;
}

interface TurnSlots {
  take(): number;
  free(slot: number): void;
}

function createTurnSlots(): TurnSlots {
  const freeSlots: number[] = [];
  let count = 0;
  return {
    take: () => freeSlots.pop() ?? count++,
    free: (slot) => void freeSlots.push(slot),
  };
}

interface ProjectStrides {
  welcome(projectIds: readonly string[], histories: ReadonlyMap<string, ArrivalHistory>): readonly Turn[];
  forget(turn: Turn): void;
  learn(turn: Turn, activity: ProjectActivity, nowMs: number): void;
  strideOf(turn: Turn, nowMs: number): number;
  coldPerMs(): number;
  hotIntensityOf(turn: Turn, nowMs: number): number;
  suspendStridesOf(turn: Turn, nowMs: number): { readonly watched: number; readonly unwatched: number };
  learnComputes(turn: Turn, running: readonly RunningCompute[] | undefined, nowMs: number): boolean;
  suspendableAtMs(sinceMs: number, nowMs: number): number;
  areListsTrusted(): boolean;
  quietMs(): number;
  takeRisen(nowMs: number): Turn | undefined;
}
const STRIDE_MULTIPLE_MAX = 1.2;
const QUIET_MS_ASSUMED = 300_000;
const QUIET_SHARE = 0.05;
const [QUIET_MS_MIN, QUIET_MS_MAX] = [60_000, 3_600_000];
const JUST_STARTED_MS = 60_000;

function createProjectStrides(slots: TurnSlots): ProjectStrides {
  const rates = createArrivalRates();
  const lifetimes = createLearnedLifetimes();
  const suspends = createExpectedSuspends();
  let quietMs = QUIET_MS_ASSUMED;
  const rises = createPriorityQueue(slotOfTurn);
  const strides = createColdStrides();

  return {
    welcome(projectIds, histories) {
      for (const id of projectIds) rates.replace(undefined, histories.get(id));
      return projectIds.map((id) => {
        const history = histories.get(id);
        const turn = newTurn(slots.take(), id, coldIntensity(history, rates.perMsMean()));
        turn.history = history;
        strides.add(turn);
        return turn;
      });
    },
    forget(turn) {
      rates.replace(turn.history, undefined);
      rises.delete(turn);
      strides.remove(turn);
      slots.free(turn.slot);
    },
    learn(turn, { lifetimes: shown = [], ...activity }, nowMs) {
      lifetimes.learn(shown, turn, nowMs);
      turn.shownEndMs = lastEndMs(shown, turn.shownEndMs);
      const page = activity;
      const history = longRunHistory(turn.history, page, nowMs - (turn.learnedAtMs ?? nowMs));
      rates.replace(turn.history, history);
      strides.remove(turn);
      turn.history = history;
      turn.activity = activity;
      turn.computes = stillRunning(suspends.learn(turn.computes, shown, nowMs), activity);
      turn.learnedAtMs = nowMs;
      turn.cold = coldIntensity(history, rates.perMsMean());
      strides.add(turn);
      followRise(turn, nowMs);
    },
    strideOf: (turn, nowMs) => strideFor(turn, hotIntensityOf(turn, nowMs)),
    coldPerMs: () => strides.perMs(),
    hotIntensityOf,
    suspendStridesOf(turn, nowMs) {
      const activity = turn.activity && { ...turn.activity, activeSinceMs: [] };
      return {
        watched: strideFor(turn, hotIntensityOf(turn, nowMs)),
        unwatched: strideFor(turn, hotIntensityOf({ activity, computes: turn.computes }, nowMs)),
      };
    },
    learnComputes(turn, running, nowMs) {
      if (running === undefined) {
        suspends.judge(undefined);
        return false;
      }
      const known = new Map(running.map((compute) => [compute.id, expectedSuspend(compute, nowMs)]));
      suspends.judge(known.values());
      for (const { suspendAtMs } of known.values())
        if (suspendAtMs !== undefined) noteQuiet(suspendAtMs - nowMs);
      const stopped = startedBy(turn.activity, nowMs - JUST_STARTED_MS).filter((id) => !known.has(id));
      for (const id of stopped) known.set(id, nothingKnown(nowMs));
      turn.computes = known;
      followRise(turn, nowMs);
      return stopped.length > 0;
    },
    suspendableAtMs(sinceMs, nowMs) {
      const riseMs = lifetimes.nextSuspendRiseMs(0);
      return riseMs === undefined ? nowMs : Math.max(nowMs, sinceMs + riseMs);
    },
    areListsTrusted: () => suspends.isTrusted(),
    quietMs: () => quietMs,
    takeRisen(nowMs) {
      const first = rises.firstPriority() <= nowMs ? rises.first() : undefined;
      if (first !== undefined) followRise(first.item, nowMs);
      return first?.item;
    },
  };

  function strideFor(turn: Turn, hot: number): number {
    return Math.min(strides.max(), 1 / Math.sqrt(turn.cold + hot));
  }

  function hotIntensityOf(
    { activity, computes }: Pick<Turn, 'activity' | 'computes'>,
    nowMs: number,
  ): number {
    return hotIntensity(activity, lifetimes, nowMs, { computes, suspends });
  }

  function noteQuiet(latestMs: number): void {
    const boundedMs = Math.min(QUIET_MS_MAX, Math.max(QUIET_MS_MIN, latestMs));
    quietMs += QUIET_SHARE * (boundedMs - quietMs);
  }
  function followRise(turn: Turn, nowMs: number): void {
    const riseAtMs = nextRiseMs(turn.activity, lifetimes, nowMs, { computes: turn.computes, suspends });
    if (riseAtMs === undefined) rises.delete(turn);
    else rises.set(turn, riseAtMs);
  }
}
function createColdStrides() {
  let sum = 0;
  let count = 0;
  let perMs = 0;
  return {
    add(turn: Turn): void {
      sum += coldStrideOf(turn);
      perMs += turn.cold;
      count += 1;
    },
    remove(turn: Turn): void {
      sum -= coldStrideOf(turn);
      perMs -= turn.cold;
      count -= 1;
    },
    perMs: () => Math.max(0, perMs),
    max: () => (STRIDE_MULTIPLE_MAX * sum) / Math.max(1, count),
  };
}
function stillRunning(computes: KnownComputes, activity: ProjectActivity): KnownComputes {
  if (computes.size === 0) return computes;
  const kept = [...computes].filter(([id, { readAtMs }]) => startedBy(activity, readAtMs).includes(id));
  return new Map(kept);
}
function startedBy(activity: ProjectActivity | undefined, atMs: number): readonly string[] {
  const isBy = (sinceMs = Number.POSITIVE_INFINITY) => sinceMs <= atMs;
  return activity?.activeIds?.filter((_, place) => isBy(activity.activeSinceMs[place])) ?? [];
}
function lastEndMs(shown: readonly Lifetime[], beforeMs: number): number {
  return shown.reduce((lastMs, { endedMs = lastMs }) => Math.max(lastMs, endedMs), beforeMs);
}

function coldStrideOf({ cold }: Turn): number {
  return 1 / Math.sqrt(cold);
}

interface OrderByWeight {
  assign(turn: Turn, virtualDelay: number): void;
  comeAgain(turn: Turn): void;
  spread(turn: Turn): void;
  join(turn: Turn): void;
  scale(turn: Turn, factor: number): void;
  leave(turn: Turn): void;
  begin(turn: Turn): void;
  first(): Turn | undefined;
  isAheadOfReadings(turn: Turn): boolean;
  virtualTime(): number;
  take(): Turn | undefined;
}
const GOLDEN = 0.618_033_988_75;

function createOrderByWeight(): OrderByWeight {
  const byFinish = createPriorityQueue(slotOfTurn);
  const underWay = createPriorityQueue(slotOfTurn);
  let virtualTime = 0;
  let spreadCount = 0;

  return {
    assign,
    comeAgain(turn) {
      turn.finish = turn.begunAt + turn.stride;
    },
    spread(turn) {
      turn.isSpread = true;
      assign(turn, turn.stride * ((spreadCount++ * GOLDEN) % 1));
    },
    join: (turn) => byFinish.set(turn, turn.finish),
    scale(turn, factor) {
      if (!byFinish.has(turn)) return;
      assign(turn, Math.max(0, turn.finish - virtualTime) * factor);
      byFinish.set(turn, turn.finish);
    },
    leave(turn) {
      byFinish.delete(turn);
      underWay.delete(turn);
    },
    begin(turn) {
      turn.begunAt = virtualTime;
      underWay.set(turn, virtualTime + turn.stride);
    },
    first: () => byFinish.first()?.item,
    isAheadOfReadings: ({ finish }) => finish <= underWay.firstPriority(),
    virtualTime: () => virtualTime,
    take() {
      const first = byFinish.shift();
      if (first === undefined) return undefined;
      virtualTime = Math.max(virtualTime, first.priority);
      return first.item;
    },
  };

  function assign(turn: Turn, virtualDelay: number): void {
    turn.finish = virtualTime + virtualDelay;
  }
}

interface ComputeReadings {
  follow(turn: Turn, nowMs: number): void;
  forget(turn: Turn): void;
  take(nowMs: number): Turn | undefined;
  end(turn: Turn, nowMs: number): void;
}

interface ComputeReadingLimits {
  readonly pollIntervalMsMin: number;
  readonly readsComputes?: boolean | undefined;
}
const SHARE_MAX = 0.3;
const SAVED_MAX = 3;
const SPARED_POLLS_MIN = 1.5;
const POLLS_RATIO_MIN = 1.5;
const RECONSIDER_AFTER_MS = 20_000;
const TRIAL_INTERVAL_MS = 600_000;
const PACE_MS = 10_000;
const PACE_SHARE = 0.2;
function createComputeReadings(
  strides: Pick<ProjectStrides, 'suspendStridesOf' | 'suspendableAtMs' | 'areListsTrusted' | 'quietMs'>,
  byWeight: Pick<OrderByWeight, 'virtualTime'>,
  limits: ComputeReadingLimits,
  recall: () => number,
): ComputeReadings {
  const due = createPriorityQueue(slotOfTurn);
  const underWay = new Set<Turn>();
  const pace = createPace(byWeight);
  let saved = 1;
  let trialAtMs = Number.NEGATIVE_INFINITY;

  return {
    follow,
    forget(turn) {
      due.delete(turn);
      underWay.delete(turn);
    },
    take(nowMs) {
      pace.note(nowMs);
      saved = Math.min(SAVED_MAX, saved + SHARE_MAX);
      if (saved < 1) return undefined;
      for (let first = due.shiftUpTo(nowMs); first; first = due.shiftUpTo(nowMs)) {
        if (mayRead(first.item, nowMs)) return begin(first.item, nowMs);
        due.set(first.item, nowMs + RECONSIDER_AFTER_MS);
      }
      return undefined;
    },
    end(turn, nowMs) {
      underWay.delete(turn);
      follow(turn, nowMs);
    },
  };

  function begin(turn: Turn, nowMs: number): Turn {
    saved -= 1;
    trialAtMs = nowMs;
    underWay.add(turn);
    return turn;
  }

  function follow(turn: Turn, nowMs: number): void {
    due.delete(turn);
    if (limits.readsComputes !== true || underWay.has(turn)) return;
    const { activeIds = [], activeSinceMs = [] } = turn.activity ?? {};
    let atMs = Number.POSITIVE_INFINITY;
    for (const [place, id] of activeIds.entries()) {
      const known = turn.computes.get(id);
      const sinceMs = activeSinceMs[place] ?? nowMs;
      atMs = Math.min(atMs, known === undefined ? strides.suspendableAtMs(sinceMs, nowMs) : staleAtMs(known));
    }
    if (Number.isFinite(atMs)) due.set(turn, Math.max(atMs, turn.computesRestUntilMs));
  }

  function mayRead(turn: Turn, nowMs: number): boolean {
    if (!strides.areListsTrusted() && nowMs < trialAtMs + TRIAL_INTERVAL_MS) return false;
    return isWorthIt(turn, nowMs);
  }
  function isWorthIt(turn: Turn, nowMs: number): boolean {
    const { watched, unwatched } = strides.suspendStridesOf(turn, nowMs);
    const pollsPerMs = (stride: number) => 1 / Math.max(limits.pollIntervalMsMin, stride / pace.perMs());
    const [spent, needed] = [pollsPerMs(watched), pollsPerMs(unwatched)];
    if (spent < POLLS_RATIO_MIN * needed) return false;
    const sparedPolls = strides.quietMs() * (spent - needed) * (1 - recall());
    return sparedPolls * Math.min(1, spent / needed - 1) > SPARED_POLLS_MIN;
  }
}
function createPace({ virtualTime }: Pick<OrderByWeight, 'virtualTime'>) {
  let notedAtMs = Number.NaN;
  let noted = 0;
  let perMs = 0;
  return {
    note(nowMs: number): void {
      if (nowMs - notedAtMs < PACE_MS) return;
      const latest = (virtualTime() - noted) / (nowMs - notedAtMs);
      if (!Number.isNaN(notedAtMs)) perMs = perMs === 0 ? latest : perMs + PACE_SHARE * (latest - perMs);
      [notedAtMs, noted] = [nowMs, virtualTime()];
    },
    perMs: () => perMs,
  };
}

interface HintPrecision {
  note(foundTransition: boolean): void;
  share(): number;
}
const READING_COUNT_MAX = 100;

function createHintPrecision(): HintPrecision {
  let foundCount = 1;
  let readingCount = 2;

  return {
    note(foundTransition) {
      const keep = readingCount >= READING_COUNT_MAX ? 1 - 1 / READING_COUNT_MAX : 1;
      foundCount = foundCount * keep + (foundTransition ? 1 : 0);
      readingCount = readingCount * keep + 1;
    },
    share: () => foundCount / readingCount,
  };
}

const UNTRIED: HintRecall = { foundCount: 0, missedCount: 0 };
const EVIDENCE_COUNT_MAX = 400;
const DEVIATIONS_BELOW = 1;
const RECALL_MIN = 1 / (EVIDENCE_COUNT_MAX + 2);
const RECALL_MAX = 0.99;
const ODDS_AFTER_MISS = 1e-6;
const EXPECTED_MAX = 0.999_99;

function noteHint(recall: HintRecall, hasMoved: boolean): HintRecall {
  const total = recall.foundCount + recall.missedCount;
  const keep = total >= EVIDENCE_COUNT_MAX ? 1 - 1 / EVIDENCE_COUNT_MAX : 1;
  return {
    foundCount: recall.foundCount * keep + (hasMoved ? 1 : 0),
    missedCount: recall.missedCount * keep + (hasMoved ? 0 : 1),
  };
}
function cautiousRecall({ foundCount, missedCount }: HintRecall): number {
  const total = foundCount + missedCount + 2;
  const mean = (foundCount + 1) / total;
  const deviation = Math.sqrt((mean * (1 - mean)) / (total + 1));
  return Math.min(RECALL_MAX, Math.max(RECALL_MIN, mean - DEVIATIONS_BELOW * deviation));
}
function expectedRecall(recall: HintRecall): number {
  const oddsOfAll = recall.foundCount * ODDS_AFTER_MISS ** recall.missedCount;
  const share = cautiousRecall(recall);
  return Math.min(EXPECTED_MAX, share + ((1 - share) * oddsOfAll) / (1 + oddsOfAll));
}

const HINT_FIELDS = ['updated_at', 'compute_last_active_at', 'active_time', 'cpu_used_sec'] as const;
type ProjectRow = { readonly id: string } & Partial<Readonly<Record<(typeof HINT_FIELDS)[number], unknown>>>;

interface HintFields {
  takeListing(rows: readonly ProjectRow[], listing: ReadingTimes): readonly string[];
  takeReading(projectId: string, foundTransition: boolean, reading: ReadingTimes): void;
  recall(): number;
  provenRecall(): number;
  precision(): number;
  shownAtMs(): number;
  forget(projectId: string): void;
  evidence(): readonly FieldEvidence[];
  restore(evidence: readonly FieldEvidence[]): void;
}
interface ReadingTimes {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
}
const FALSE_ALARMS_PER_HIT_MAX = 10;

interface Field {
  readonly name: (typeof HINT_FIELDS)[number];
  recall: HintRecall;
  hitCount: number;
  moveCount: number;
}
interface KnownRow {
  values: readonly unknown[];
  moved: readonly boolean[];
  movedAtMs: number;
  movedMeanwhile: readonly boolean[];
  foundAtMs: readonly (number | undefined)[];
}

function createHintFields(): HintFields {
  const fields = HINT_FIELDS.map(untriedField);
  const precision = createHintPrecision();
  const rows = new Map<string, KnownRow>();
  const moving = new Set<string>();
  const hasBelieved = (moved: readonly boolean[]) =>
    moved.some((didMove, index) => didMove && isBelieved(fields[index]));
  const best = (estimate: (recall: HintRecall) => number) =>
    Math.max(RECALL_MIN, ...fields.filter(isBelieved).map(({ recall }) => estimate(recall)));
  let recall = best(expectedRecall);
  let shownAtMs = Number.NEGATIVE_INFINITY;

  return {
    takeListing(listed, listing) {
      const moved = listed.filter((row) => hasBelieved(takeRow(row, listing)));
      recall = best(expectedRecall);
      return moved.map(({ id }) => id);
    },
    takeReading(projectId, foundTransition, { beganAtMs, endedAtMs }) {
      const known = foundTransition || moving.has(projectId) ? rows.get(projectId) : undefined;
      if (known === undefined) return;
      const isExplained = known.movedAtMs <= beganAtMs;
      if (isExplained && hasBelieved(known.moved)) precision.note(foundTransition);
      if (foundTransition && hasBelieved(known.moved)) shownAtMs = endedAtMs;
      if (foundTransition) takeTransition(fields, known, endedAtMs);
      known.movedMeanwhile = foundTransition && !isExplained ? known.moved : NONE_MOVED;
      if (foundTransition || isExplained) known.moved = NONE_MOVED;
      if (known.moved === NONE_MOVED && known.movedMeanwhile === NONE_MOVED) moving.delete(projectId);
      if (foundTransition) recall = best(expectedRecall);
    },
    recall: () => recall,
    provenRecall: () => best(cautiousRecall),
    precision: () => precision.share(),
    shownAtMs: () => shownAtMs,
    forget(projectId) {
      rows.delete(projectId);
      moving.delete(projectId);
    },
    evidence: () => fields.map((field) => ({ ...field })),
    restore(evidence) {
      restoreFields(fields, evidence);
      recall = best(expectedRecall);
    },
  };
  function takeRow(row: ProjectRow, { beganAtMs, endedAtMs }: ReadingTimes): readonly boolean[] {
    const values = fields.map(({ name }) => row[name]);
    const known = rows.get(row.id);
    if (known === undefined) {
      const none = { moved: NONE_MOVED, movedMeanwhile: NONE_MOVED, foundAtMs: NONE_FOUND };
      rows.set(row.id, { values, movedAtMs: endedAtMs, ...none });
      return NONE_MOVED;
    }
    const moved = values.map((value, index) => value !== undefined && value !== known.values[index]);
    known.values = values;
    takeProofs(fields, known, moved, beganAtMs);
    if (moved.includes(true)) {
      takeMoves(fields, known, moved, endedAtMs);
      moving.add(row.id);
    }
    return moved;
  }
}

const NONE_MOVED: readonly boolean[] = [];
const NONE_FOUND: readonly undefined[] = [];

function untriedField(name: Field['name']): Field {
  return { name, recall: UNTRIED, hitCount: 0, moveCount: 0 };
}
function takeMoves(
  fields: readonly Field[],
  known: KnownRow,
  moved: readonly boolean[],
  shownAtMs: number,
): void {
  fields.forEach((field, index) => {
    if (moved[index] === true) field.moveCount += 1;
  });
  known.moved = moved.map((didMove, index) => didMove || known.moved[index] === true);
  known.movedAtMs = shownAtMs;
}
function takeTransition(fields: readonly Field[], known: KnownRow, foundAtMs: number): void {
  known.foundAtMs = fields.map((field, index) => {
    const didMove = known.moved[index] === true;
    if (!didMove && known.movedMeanwhile[index] === true) return known.foundAtMs[index];
    if (!didMove && known.values[index] !== undefined) return known.foundAtMs[index] ?? foundAtMs;
    noteTransition(field, didMove);
    return known.foundAtMs[index];
  });
}
function takeProofs(
  fields: readonly Field[],
  known: KnownRow,
  moved: readonly boolean[],
  beganAtMs: number,
): void {
  if (known.foundAtMs === NONE_FOUND) return;
  const left = fields.map((field, index) => {
    const foundAtMs = known.foundAtMs[index];
    const didMove = moved[index] === true;
    if (foundAtMs === undefined || (!didMove && beganAtMs < foundAtMs)) return foundAtMs;
    noteTransition(field, didMove);
    return undefined;
  });
  known.foundAtMs = left.some((foundAtMs) => foundAtMs !== undefined) ? left : NONE_FOUND;
}

function noteTransition(field: Field, didMove: boolean): void {
  if (didMove) field.hitCount += 1;
  field.recall = noteHint(field.recall, didMove);
}

function restoreFields(fields: readonly Field[], evidence: readonly FieldEvidence[]): void {
  for (const field of fields) {
    const known = evidence.find(({ name }) => name === field.name);
    if (known === undefined) continue;
    field.recall = known.recall;
    field.hitCount = known.hitCount;
    field.moveCount = known.moveCount;
  }
}

function isBelieved(field: Field | undefined): boolean {
  if (field === undefined) return false;
  const { hitCount, moveCount } = field;
  return moveCount <= FALSE_ALARMS_PER_HIT_MAX * Math.max(10, hitCount);
}

interface NeededTurns {
  follow(turn: Turn): void;
  forget(turn: Turn): void;
  haveBeenRead(sinceMs: number): boolean;
  work(nowMs: number): Pick<PollingNeed, 'hasWork' | 'expectedTransitionsPerMs'>;
}
function createNeededTurns(
  turns: ReadonlyMap<string, Turn>,
  hotIntensityOf: (turn: Turn, nowMs: number) => number,
): NeededTurns {
  let countedSinceMs = Number.NaN;
  let unread = new Set<Turn>();
  const active = new Set<Turn>();

  return {
    follow(turn) {
      if (isUnread(turn, countedSinceMs)) unread.add(turn);
      else unread.delete(turn);
      if (isActive(turn)) active.add(turn);
      else active.delete(turn);
    },
    forget(turn) {
      unread.delete(turn);
      active.delete(turn);
    },
    haveBeenRead(sinceMs) {
      if (sinceMs !== countedSinceMs) {
        countedSinceMs = sinceMs;
        unread = new Set([...turns.values()].filter((turn) => isUnread(turn, sinceMs)));
      }
      return unread.size === 0;
    },
    work(nowMs) {
      let hasWork = false;
      let expectedTransitionsPerMs = 0;
      for (const turn of active) {
        hasWork ||= turn.isPressing || turn.hasLeftovers;
        expectedTransitionsPerMs += hotIntensityOf(turn, nowMs);
      }
      return { hasWork, expectedTransitionsPerMs };
    },
  };
}
function isUnread({ polledAtMs, failureCount }: Turn, sinceMs: number): boolean {
  return polledAtMs < sinceMs && failureCount === 0;
}

function isActive({ isPressing, hasLeftovers, activity }: Turn): boolean {
  if (isPressing || hasLeftovers) return true;
  return activity !== undefined && (activity.openSinceMs !== undefined || activity.activeSinceMs.length > 0);
}

const LIST_PAGES_MAX = 250_000;

interface PageCursors {
  readonly count: number;
  cursorOf(page: number): string | undefined;
  take(page: number, end: PageEnd): void;
}
interface PageEnd {
  readonly isEmpty: boolean;
  readonly cursor: string | undefined;
}

function createPageCursors(pagesMax = LIST_PAGES_MAX): PageCursors {
  const cursors: (string | undefined)[] = [undefined];

  return {
    get count() {
      return cursors.length;
    },
    cursorOf: (page) => cursors[page],
    take(page, { isEmpty, cursor }) {
      if (page >= cursors.length) return;
      if (isEmpty || cursor === undefined || leadsBack(page, cursor)) truncate(page + 1);
      else if (page + 1 < pagesMax) cursors[page + 1] = cursor;
    },
  };
  function leadsBack(page: number, cursor: string): boolean {
    const index = cursors.indexOf(cursor);
    return index !== -1 && index <= page;
  }

  function truncate(count: number): void {
    cursors.length = Math.min(cursors.length, count);
  }
}

interface PageTurns {
  readonly turns: readonly Turn[];
  cursorOf(page: number): string | undefined;
  take(page: number, end: PageEnd): ListChange;
  intervalMs(): number;
}

interface ListChange {
  readonly added: readonly Turn[];
  readonly gone: readonly Turn[];
}

interface ListingLimits {
  readonly intervalMsMax: number;
  readonly hintIntervalMsMin: number | undefined;
}
const LISTING_SHARE_MAX = 0.005;
const LISTING_DELAY_MAX = 5;

const NO_CHANGE: ListChange = { added: [], gone: [] };
function createPageTurns(
  listing: ListingLimits | undefined,
  requestsPerMinute: number,
  slots: TurnSlots,
): PageTurns {
  const pages = createPageCursors();
  const turns: Turn[] = [];

  return {
    turns,
    cursorOf: (page) => pages.cursorOf(page),
    take(page, end) {
      pages.take(page, end);
      return listing === undefined ? NO_CHANGE : followPages();
    },
    intervalMs() {
      if (listing === undefined) return Number.POSITIVE_INFINITY;
      const affordableMs = (pages.count * 60_000) / (LISTING_SHARE_MAX * requestsPerMinute);
      const usualMs = listing.intervalMsMax;
      return Math.min(Math.max(usualMs, affordableMs), LISTING_DELAY_MAX * usualMs);
    },
  };
  function followPages(): ListChange {
    const gone = turns.splice(pages.count);
    for (const { slot } of gone) slots.free(slot);
    const addedCount = pages.count - turns.length;
    const added = Array.from({ length: addedCount }, (_, index) =>
      pageTurn(slots.take(), turns.length + index),
    );
    turns.push(...added);
    return { added, gone };
  }
}

function pageTurn(slot: number, page: number): Turn {
  return newTurn(slot, `(page ${page} of the project list)`, 0, page);
}

const SMALL_PROJECTS = 10;
const LARGE_PROJECTS = 50;

interface IntervalsMs {
  readonly small: number;
  readonly large: number;
}
const POLL_INTERVALS_MS: IntervalsMs = { small: 5_000, large: 250 };
const HINT_INTERVALS_MS: IntervalsMs = { small: 1_250, large: 125 };
function pollIntervalMsFor(projectCount: number): number {
  return intervalMsFor(projectCount, POLL_INTERVALS_MS);
}
function listIntervalMsFor(projectCount: number): number {
  return projectCount >= LARGE_PROJECTS ? 0 : intervalMsFor(projectCount, HINT_INTERVALS_MS);
}

function intervalMsFor(projectCount: number, { small, large }: IntervalsMs): number {
  const size = (projectCount - SMALL_PROJECTS) / (LARGE_PROJECTS - SMALL_PROJECTS);
  const share = Math.min(1, Math.max(0, size));
  return 1 / ((1 - share) / small + share / large);
}

interface IntervalLimits {
  readonly pollIntervalMsMin: IntervalMsMin;
  readonly listing:
    | (Omit<ListingLimits, 'hintIntervalMsMin'> & {
        readonly hintIntervalMsMin: IntervalMsMin | undefined;
      })
    | undefined;
}

type PacedLimits<Limits> = Omit<Limits, keyof IntervalLimits> & {
  readonly pollIntervalMsMin: number;
  readonly listing: ListingLimits | undefined;
};
function pacedLimits<Limits extends IntervalLimits>(
  limits: Limits,
  projectCount: () => number,
): PacedLimits<Limits> {
  const { pollIntervalMsMin, listing, ...others } = limits;
  return {
    ...others,
    get pollIntervalMsMin() {
      return pollIntervalMsMin === 'by_size' ? pollIntervalMsFor(projectCount()) : pollIntervalMsMin;
    },
    listing: listing && {
      intervalMsMax: listing.intervalMsMax,
      get hintIntervalMsMin() {
        const { hintIntervalMsMin } = listing;
        return hintIntervalMsMin === 'by_size' ? listIntervalMsFor(projectCount()) : hintIntervalMsMin;
      },
    },
  };
}

interface OrderByUrgency {
  readonly size: number;
  ask(turn: Turn, urgency: Urgency, fromMs: number): void;
  has(turn: Turn): boolean;
  fulfil(turn: Turn): void;
  take(nowMs: number): Turn | undefined;
  takeBeyondShares(nowMs: number): Turn | undefined;
  earnPermit(hintTrust: number): void;
  usedShare(): number;
  firstAtMs(): number;
}

type UrgencyShares = Readonly<Record<Urgency, number>>;
const URGENCY_SHARES: UrgencyShares = { command: 0.3, hint: 0.5, wish: 0.1 };
const SAVED_PERMITS_MAX = 100;
const USED_SHARE_PERMITS = 1_000;
const URGENCIES: readonly Urgency[] = ['command', 'hint', 'wish'];

function strongerOf(a: Urgency | undefined, b: Urgency): Urgency {
  return a !== undefined && URGENCIES.indexOf(a) < URGENCIES.indexOf(b) ? a : b;
}

interface UrgentTurns {
  readonly queue: PriorityQueue<Turn>;
  readonly share: number;
  saved: number;
}

function createOrderByUrgency(shares: UrgencyShares = URGENCY_SHARES): OrderByUrgency {
  const kinds = URGENCIES.map((urgency) => urgentTurnsOf(shares[urgency]));
  const hints = kinds[URGENCIES.indexOf('hint')];
  const shareOfAll = kinds.reduce((sum, { share }) => sum + share, 0);
  let trustedCount = 0;
  let usedShare = 0;

  return {
    get size() {
      return kinds.reduce((sum, { queue }) => sum + queue.size, 0);
    },
    ask(turn, urgency, fromMs) {
      const strength = URGENCIES.indexOf(urgency);
      if (kinds.slice(0, strength + 1).some(({ queue }) => queue.has(turn))) return;
      fulfil(turn);
      kinds[strength]?.queue.set(turn, fromMs);
    },
    has: (turn) => kinds.some(({ queue }) => queue.has(turn)),
    fulfil,
    take(nowMs) {
      const waiting = kinds.filter((each) => each.saved >= 1 && firstAtMs(each) <= nowMs);
      const kind = waiting.find((each) => each.saved >= savedMax(each)) ?? waiting[0];
      if (kind !== undefined) kind.saved -= 1;
      else if (hints === undefined || trustedCount < 1 || firstAtMs(hints) > nowMs) return undefined;
      trustedCount = Math.max(0, trustedCount - 1);
      return use(kind ?? hints);
    },
    takeBeyondShares: (nowMs) => use(kinds.find((kind) => firstAtMs(kind) <= nowMs)),
    usedShare: () => usedShare,
    earnPermit(hintTrust) {
      usedShare -= usedShare / USED_SHARE_PERMITS;
      trustedCount = Math.min(SAVED_PERMITS_MAX, trustedCount + hintTrust * shareOfAll);
      for (const kind of kinds) kind.saved = Math.min(savedMax(kind), kind.saved + kind.share);
    },
    firstAtMs: () => Math.min(...kinds.map(firstAtMs)),
  };

  function use(kind: UrgentTurns | undefined): Turn | undefined {
    const turn = kind?.queue.first()?.item;
    if (turn !== undefined) usedShare += 1 / USED_SHARE_PERMITS;
    return turn;
  }

  function fulfil(turn: Turn): void {
    for (const { queue } of kinds) queue.delete(turn);
  }
}

function urgentTurnsOf(share: number): UrgentTurns {
  const kind = { queue: createPriorityQueue(slotOfTurn), share, saved: 0 };
  return { ...kind, saved: savedMax(kind) };
}

function savedMax({ share }: Pick<UrgentTurns, 'share'>): number {
  return share * SAVED_PERMITS_MAX;
}

function firstAtMs({ queue }: UrgentTurns): number {
  return queue.firstPriority();
}

interface ReadingDeadlines {
  follow(turn: Turn, sinceMs: number): void;
  welcome(turn: Turn, nowMs: number): void;
  leave(turn: Turn): void;
  due(nowMs: number): Turn | undefined;
  isOverdue(nowMs: number): boolean;
  lateAfterMs(): number;
}
interface ListShowing {
  recall(): number;
  shownAtMs(): number;
  expectedPerMs(): number;
  urgentShare(): number;
}

interface DeadlineLimits {
  readonly requestsPerMinute: number;
  readonly pollIntervalMsMin: number;
}
const STALENESS_ROUNDS_MAX = 4;
const LISTED_ROUNDS_MAX = 16;
const LEFT_SHARE_MIN = 0.25;
const MISSED_SHARE_MAX = 0.01;
const STALENESS_MS_MIN = 60_000;
const SILENT_TRANSITIONS = 20;

const SHOWS_NOTHING: ListShowing = {
  recall: () => 0,
  shownAtMs: () => Number.NEGATIVE_INFINITY,
  expectedPerMs: () => Number.POSITIVE_INFINITY,
  urgentShare: () => 0,
};
const PERMITS_PER_DUE_TURN = 2;
function createReadingDeadlines(
  limits: DeadlineLimits,
  turnCount: () => number,
  list: ListShowing = SHOWS_NOTHING,
): ReadingDeadlines {
  const watched = createPriorityQueue(slotOfTurn);
  const listed = createPriorityQueue(slotOfTurn);
  const late = createPriorityQueue(slotOfTurn);
  const watchedCapMs = () => capMs(limits, turnCount(), STALENESS_ROUNDS_MAX);
  const silentAfterMs = () => Math.max(watchedCapMs(), SILENT_TRANSITIONS / list.expectedPerMs());
  const listedCapMs = (nowMs: number) =>
    nowMs - list.shownAtMs() > silentAfterMs()
      ? watchedCapMs()
      : capMs(limits, turnCount(), listedRounds(list.recall(), list.urgentShare()));
  const hasWaited = (turn: Turn, sinceMs: number, nowMs: number) =>
    nowMs - sinceMs >= (isListed(turn) ? listedCapMs(nowMs) : watchedCapMs());
  const lateAfterMs = (cap: number) => cap - lateMsMax(limits, turnCount());

  return {
    follow(turn, sinceMs) {
      leave(turn);
      (isListed(turn) ? listed : watched).set(turn, sinceMs);
    },
    welcome(turn, nowMs) {
      leave(turn);
      late.set(turn, nowMs);
    },
    leave,
    due(nowMs) {
      moveLate(watched, nowMs - lateAfterMs(watchedCapMs()), nowMs);
      moveLate(listed, nowMs - lateAfterMs(listedCapMs(nowMs)), nowMs);
      const first = late.first();
      if (first === undefined) return undefined;
      const leftMs = first.priority + lateMsMax(limits, turnCount()) - nowMs;
      const neededMs = late.size * PERMITS_PER_DUE_TURN * permitMs(limits);
      return leftMs <= neededMs ? first.item : undefined;
    },
    isOverdue(nowMs) {
      const first = late.first();
      if (first !== undefined) return hasWaited(first.item, first.item.polledAtMs, nowMs);
      return [watched.first(), listed.first()].some(
        (entry) => entry !== undefined && hasWaited(entry.item, entry.priority, nowMs),
      );
    },
    lateAfterMs: () => lateAfterMs(watchedCapMs()),
  };

  function leave(turn: Turn): void {
    for (const queue of [watched, listed, late]) queue.delete(turn);
  }

  function moveLate(early: PriorityQueue<Turn>, readBeforeMs: number, nowMs: number): void {
    for (let each = early.shiftUpTo(readBeforeMs); each; each = early.shiftUpTo(readBeforeMs))
      late.set(each.item, nowMs);
  }
}
function isListed({ page, failureCount, activity }: Turn): boolean {
  return page === undefined && failureCount === 0 && activity?.openSinceMs === undefined;
}
function listedRounds(recall: number, urgentShare: number): number {
  const rounds = STALENESS_ROUNDS_MAX * Math.sqrt(MISSED_SHARE_MAX / (1 - recall));
  const furtherRounds =
    Math.min(LISTED_ROUNDS_MAX, Math.max(STALENESS_ROUNDS_MAX, rounds)) - STALENESS_ROUNDS_MAX;
  return STALENESS_ROUNDS_MAX + furtherRounds / Math.max(LEFT_SHARE_MIN, 1 - urgentShare);
}
function permitMs({ requestsPerMinute }: DeadlineLimits): number {
  return 60_000 / requestsPerMinute;
}
function lateMsMax(limits: DeadlineLimits, turnCount: number): number {
  return PERMITS_PER_DUE_TURN * turnCount * permitMs(limits);
}

function capMs(limits: DeadlineLimits, turnCount: number, rounds: number): number {
  const politeMs = limits.pollIntervalMsMin + lateMsMax(limits, turnCount);
  return Math.max(STALENESS_MS_MIN, rounds * turnCount * permitMs(limits), politeMs);
}

interface TurnQueues {
  readonly byWeight: OrderByWeight;
  readonly rests: PriorityQueue<Turn>;
  readonly byUrgency: OrderByUrgency;
  readonly deadlines: ReadingDeadlines;
}
function createTurnQueues(
  limits: DeadlineLimits & { readonly urgencyShares?: UrgencyShares | undefined },
  turnCount: () => number,
  list?: ListShowing,
): TurnQueues {
  return {
    byWeight: createOrderByWeight(),
    rests: createPriorityQueue(slotOfTurn),
    byUrgency: createOrderByUrgency(limits.urgencyShares),
    deadlines: createReadingDeadlines(limits, turnCount, list),
  };
}
function leaveQueues({ byWeight, rests, byUrgency, deadlines }: TurnQueues, turn: Turn): void {
  byWeight.leave(turn);
  rests.delete(turn);
  byUrgency.fulfil(turn);
  deadlines.leave(turn);
}
function joinFirst({ byWeight }: TurnQueues, turn: Turn): void {
  byWeight.assign(turn, 0);
  byWeight.join(turn);
}
function joinByWeight({ byWeight }: TurnQueues, turn: Turn): void {
  if (turn.isSpread) byWeight.assign(turn, turn.stride);
  else byWeight.spread(turn);
  byWeight.join(turn);
}
function wakeRested(queues: TurnQueues, nowMs: number): void {
  const { rests } = queues;
  for (let rested = rests.shiftUpTo(nowMs); rested; rested = rests.shiftUpTo(nowMs))
    wake(queues, rested.item, nowMs);
}

function wake({ byWeight, deadlines }: TurnQueues, turn: Turn, nowMs: number): void {
  if (turn.page !== undefined) turn.finish = Math.min(turn.finish, byWeight.virtualTime());
  byWeight.join(turn);
  if (turn.failureCount > 0)
    deadlines.follow(turn, Math.max(turn.polledAtMs, nowMs - deadlines.lateAfterMs()));
}

interface PolledProjects {
  set(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  add(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  remove(projectIds: readonly string[]): void;
  welcomeNewcomers(nowMs: number): void;
}
interface ProjectTurnParts {
  readonly byId: Map<string, Turn>;
  readonly queues: TurnQueues;
  readonly strides: Pick<ProjectStrides, 'welcome' | 'forget'>;
  readonly hints: Pick<HintFields, 'forget'>;
  readonly computes: Pick<ComputeReadings, 'forget'>;
  readonly needed: Pick<NeededTurns, 'follow' | 'forget'>;
}

function createPolledProjects({
  byId,
  queues,
  strides,
  hints,
  needed,
  computes,
}: ProjectTurnParts): PolledProjects {
  let newcomers: Turn[] = [];

  return {
    set(projectIds, histories) {
      const wanted = new Set(projectIds);
      for (const [id, turn] of byId) if (!wanted.has(id)) removeOne(turn);
      add([...wanted], histories);
    },
    add,
    remove(projectIds) {
      for (const turn of projectIds.flatMap((id) => byId.get(id) ?? [])) removeOne(turn);
    },
    welcomeNewcomers(nowMs) {
      for (const turn of newcomers) if (byId.get(turn.id) === turn) queues.deadlines.welcome(turn, nowMs);
      newcomers = [];
    },
  };

  function add(ids: readonly string[], histories: ReadonlyMap<string, ArrivalHistory> = new Map()): void {
    const added = ids.filter((id) => !byId.has(id));
    for (const turn of strides.welcome(added, histories)) {
      byId.set(turn.id, turn);
      needed.follow(turn);
      newcomers.push(turn);
      if (turn.history === undefined) joinFirst(queues, turn);
      else joinByWeight(queues, turn);
    }
  }

  function removeOne(turn: Turn): void {
    leaveQueues(queues, turn);
    byId.delete(turn.id);
    hints.forget(turn.id);
    strides.forget(turn);
    needed.forget(turn);
    computes.forget(turn);
  }
}

const FAILURE_BACKOFF_MS = 5_000;

interface BackoffLimits {
  readonly pollIntervalMsMin: number;
  readonly failureBackoffMsMax: number;
}

interface ReadingEnd {
  readonly hasFailed: boolean;
  readonly nowMs: number;
}

function endReading({ byWeight, rests }: TurnQueues, turn: Turn, { hasFailed, nowMs }: ReadingEnd): void {
  turn.isUnderWay = false;
  turn.isPressing = false;
  turn.polledAtMs = nowMs;
  turn.failureCount = hasFailed ? turn.failureCount + 1 : 0;
  byWeight.leave(turn);
  rests.delete(turn);
}
function resumeWaiting(queues: TurnQueues, turn: Turn): void {
  turn.isUnderWay = false;
  turn.isPressing = false;
  joinFirst(queues, turn);
  queues.deadlines.follow(turn, turn.polledAtMs);
}
function restAfterFailure(queues: TurnQueues, turn: Turn, untilMs: number): void {
  const { byWeight, rests, byUrgency, deadlines } = queues;
  deadlines.leave(turn);
  byUrgency.fulfil(turn);
  if (turn.page === undefined) byWeight.assign(turn, turn.stride);
  rests.set(turn, untilMs);
}
function backoffMs(limits: BackoffLimits, failureCount: number): number {
  const firstMs = Math.max(FAILURE_BACKOFF_MS, limits.pollIntervalMsMin);
  return Math.min(firstMs * 2 ** (failureCount - 1), limits.failureBackoffMsMax);
}

interface PageReadings {
  readonly movedCount: number;
  readonly watchedMs: number;
  readonly readAtMs: number;
}
const FADING_MS = 30_000;
const PRIOR_MOVES = 12;
const TRANSITIONS_PER_MOVE = 1.5;

function withReading(before: PageReadings | undefined, movedCount: number, nowMs: number): PageReadings {
  const first = { movedCount: 0, watchedMs: 0, readAtMs: nowMs };
  if (before === undefined) return first;
  const elapsedMs = nowMs - before.readAtMs;
  if (elapsedMs > FADING_MS) return first;
  const kept = Math.exp(-elapsedMs / FADING_MS);
  return {
    movedCount: before.movedCount * kept + movedCount,
    watchedMs: before.watchedMs * kept + elapsedMs,
    readAtMs: nowMs,
  };
}
interface KnownPage {
  readonly coldPerMs: number;
  readonly readings: PageReadings;
}
interface LatelyShown {
  readonly ratio: number;
  readonly beyondPerMs: number;
}
const RATIO_MAX = 1.3;

function latelyShown(pages: Iterable<KnownPage>): LatelyShown {
  let movedCount = 0;
  let expectedCount = 0;
  let watchedMs = 0;
  for (const { coldPerMs, readings } of pages) {
    movedCount += readings.movedCount;
    expectedCount += expectedMoves(coldPerMs, readings);
    if (coldPerMs > 0) watchedMs += readings.watchedMs;
  }
  const beyondCount = Math.max(0, movedCount - RATIO_MAX * expectedCount);
  return {
    ratio: (PRIOR_MOVES + movedCount) / (PRIOR_MOVES + expectedCount),
    beyondPerMs: watchedMs === 0 ? 0 : (beyondCount * TRANSITIONS_PER_MOVE) / watchedMs,
  };
}
function pageIntensity({ coldPerMs, readings }: KnownPage, lately: LatelyShown): number {
  if (coldPerMs === 0) return 0;
  const priorPerMs = coldPerMs * Math.min(RATIO_MAX, lately.ratio) + lately.beyondPerMs;
  return (
    (priorPerMs * (PRIOR_MOVES + readings.movedCount)) / (PRIOR_MOVES + expectedMoves(priorPerMs, readings))
  );
}

function expectedMoves(perMs: number, { watchedMs }: PageReadings): number {
  return (perMs / TRANSITIONS_PER_MOVE) * watchedMs;
}
function listedStride(perMs: number, recall: number): number {
  return Math.sqrt((1 - recall) / (recall * perMs));
}

interface PageReports {
  report(page: number, shown: PageReading | undefined, nowMs: number): void;
  haveShownAllSince(sinceMs: number): boolean;
  areShown(): boolean;
  meanPerMs(): number;
}

interface PageReading extends PageEnd {
  readonly cold: number;
  readonly movedCount: number;
}

interface PageLimits extends BackoffLimits {
  readonly listing: ListingLimits | undefined;
}
const RECALL_PROVEN = 0.9;

function createPageReports(
  list: PageTurns,
  queues: TurnQueues,
  hints: Pick<HintFields, 'recall' | 'provenRecall'>,
  limits: PageLimits,
): PageReports {
  const failing = new Set<Turn>();
  const known = new Map<Turn, KnownPage>();
  let meanPerMs = Number.POSITIVE_INFINITY;

  return {
    report(page, shown, nowMs) {
      if (shown !== undefined) followList(page, shown, nowMs);
      const turn = list.turns[page];
      if (turn === undefined) return;
      endReading(queues, turn, { hasFailed: shown === undefined, nowMs });
      if (shown === undefined) {
        failing.add(turn);
        return restAfterFailure(queues, turn, nowMs + backoffMs(limits, turn.failureCount));
      }
      failing.delete(turn);
      learn(turn, shown, nowMs);
      queueAgain(turn, nowMs);
    },
    haveShownAllSince(sinceMs) {
      const { turns } = list;
      const areRead = turns.every((turn) => turn.polledAtMs >= sinceMs && !turn.isUnderWay);
      return turns.length > 0 && areRead && hints.provenRecall() >= RECALL_PROVEN;
    },
    areShown,
    meanPerMs: () => (areShown() ? meanPerMs : Number.POSITIVE_INFINITY),
  };

  function areShown(): boolean {
    return list.turns.length > 0 && failing.size === 0 && limits.listing?.hintIntervalMsMin !== undefined;
  }
  function followList(page: number, end: PageEnd, nowMs: number): void {
    const { added, gone } = list.take(page, end);
    for (const turn of gone) {
      leaveQueues(queues, turn);
      failing.delete(turn);
      known.delete(turn);
    }
    for (const turn of added) {
      queues.deadlines.welcome(turn, nowMs);
      joinFirst(queues, turn);
    }
  }

  function learn(turn: Turn, { cold, movedCount }: PageReading, nowMs: number): void {
    const page = { coldPerMs: cold, readings: withReading(known.get(turn)?.readings, movedCount, nowMs) };
    known.set(turn, page);
    turn.cold = pageIntensity(page, latelyShown(known.values()));
    const filled = list.turns.filter((each) => each.cold > 0);
    const sum = filled.reduce((total, each) => total + each.cold, 0);
    meanPerMs = filled.length === 0 ? Number.POSITIVE_INFINITY : sum / filled.length;
  }
  function queueAgain(turn: Turn, nowMs: number): void {
    const { byWeight, rests, deadlines } = queues;
    const intervalMs = list.intervalMs();
    deadlines.follow(turn, nowMs + Math.max(0, intervalMs - deadlines.lateAfterMs()));
    rests.set(turn, nowMs + intervalMs);
    if (limits.listing?.hintIntervalMsMin === undefined || turn.cold === 0) return;
    turn.stride = listedStride(turn.cold, hints.recall());
    byWeight.comeAgain(turn);
    byWeight.join(turn);
  }
}

interface SparePermits {
  spend(nowMs: number): void;
  savedAtMs(count: number): number;
}
const FILL_SHARE = 0.97;
const SAVED_MAX_2 = 4;

function createSparePermits(requestsPerMinute: number): SparePermits {
  const intervalMs = 60_000 / (FILL_SHARE * requestsPerMinute);
  let emptyAtMs = Number.NEGATIVE_INFINITY;

  return {
    spend(nowMs) {
      const spentAtMs = Math.max(emptyAtMs, nowMs - SAVED_MAX_2 * intervalMs) + intervalMs;
      emptyAtMs = Math.min(nowMs, spentAtMs);
    },
    savedAtMs: (count) => emptyAtMs + count * intervalMs,
  };
}

interface NextTurn {
  take(nowMs: number): Turn | undefined;
  offer<T>(nowMs: number, take: () => T | undefined): T | undefined;
  nextChangeMs(): number;
  keepsPermit(): boolean;
}

interface TurnPacing {
  readonly requestsPerMinute: number;
  intervalMsMin(turn: Turn): number;
  recall(): number;
  hintTrust(): number;
}
const RECALL_WORTH_A_PERMIT = 0.9;

function createNextTurn(queues: TurnQueues, pacing: TurnPacing): NextTurn {
  const { rests, byUrgency, deadlines, byWeight } = queues;
  const spare = createSparePermits(pacing.requestsPerMinute);
  let wasReserved = false;
  let keptUntilMs = Number.POSITIVE_INFINITY;

  return {
    take(nowMs) {
      const turn = choose(nowMs);
      if (turn !== undefined) {
        spare.spend(nowMs);
        beginTurn(queues, turn, nowMs);
      }
      return turn;
    },
    offer(nowMs, take) {
      if (!wasReserved && deadlines.due(nowMs) !== undefined) return undefined;
      const taken = take();
      if (taken === undefined) return undefined;
      wasReserved = false;
      spare.spend(nowMs);
      return taken;
    },
    nextChangeMs: () => Math.min(rests.firstPriority(), byUrgency.firstAtMs(), keptUntilMs),
    keepsPermit: () => Number.isFinite(keptUntilMs),
  };

  function choose(nowMs: number): Turn | undefined {
    const isAfterDeadline = wasReserved;
    const due = isAfterDeadline ? undefined : deadlines.due(nowMs);
    wasReserved = due !== undefined;
    if (due !== undefined) return due;
    byUrgency.earnPermit(pacing.hintTrust());
    const urgent = byUrgency.take(nowMs);
    if (urgent !== undefined) return urgent;
    keptUntilMs = isAfterDeadline ? Number.POSITIVE_INFINITY : keptPermitMs(nowMs);
    const next = Number.isFinite(keptUntilMs) ? undefined : takeByWeight(queues, pacing, nowMs);
    return next ?? byUrgency.takeBeyondShares(nowMs);
  }
  function keptPermitMs(nowMs: number): number {
    if (pacing.recall() < RECALL_WORTH_A_PERMIT) return Number.POSITIVE_INFINITY;
    const first = byWeight.first();
    if (first === undefined) return Number.POSITIVE_INFINITY;
    const keptCount = first.page !== undefined || byWeight.isAheadOfReadings(first) ? 1 : 2;
    const savedAtMs = spare.savedAtMs(1 + keptCount);
    return nowMs < savedAtMs ? savedAtMs : Number.POSITIVE_INFINITY;
  }
}
function takeByWeight(
  { byWeight, rests }: TurnQueues,
  { intervalMsMin }: Pick<TurnPacing, 'intervalMsMin'>,
  nowMs: number,
): Turn | undefined {
  for (let turn = byWeight.take(); turn !== undefined; turn = byWeight.take()) {
    const readyAtMs = turn.polledAtMs + intervalMsMin(turn);
    if (nowMs >= readyAtMs) return turn;
    rests.set(turn, readyAtMs);
  }
  return undefined;
}

function beginTurn(queues: TurnQueues, turn: Turn, nowMs: number): void {
  turn.isPressing = turn.wanted !== undefined || queues.byUrgency.has(turn);
  turn.wanted = undefined;
  turn.isUnderWay = true;
  turn.beganAtMs = nowMs;
  leaveQueues(queues, turn);
  if (turn.page !== undefined) queues.byWeight.begin(turn);
}

interface UrgentReadings {
  ask(projectId: string, urgency: Urgency): void;
  welcome(projectIds: readonly string[]): void;
  askAgain(turn: Turn): void;
}

interface WishLimits {
  readonly pollIntervalMsMin: number;
}
const EARLY_REQUESTS_MAX = 1_000;

function createUrgentReadings(
  byId: ReadonlyMap<string, Turn>,
  byUrgency: OrderByUrgency,
  limits: WishLimits,
): UrgentReadings {
  const early = new Map<string, Urgency>();

  return {
    ask,
    welcome(projectIds) {
      if (early.size === 0) return;
      for (const projectId of projectIds) {
        const urgency = early.get(projectId);
        if (urgency === undefined) continue;
        early.delete(projectId);
        ask(projectId, urgency);
      }
    },
    askAgain(turn) {
      if (turn.wanted !== undefined) askFor(turn, turn.wanted);
    },
  };

  function ask(projectId: string, urgency: Urgency): void {
    const turn = byId.get(projectId);
    if (turn === undefined) askEarly(projectId, urgency);
    else if (turn.isUnderWay || turn.failureCount > 0) turn.wanted = strongerOf(turn.wanted, urgency);
    else askFor(turn, urgency);
  }
  function askEarly(projectId: string, urgency: Urgency): void {
    if (urgency === 'hint') return;
    if (early.has(projectId) || early.size < EARLY_REQUESTS_MAX)
      early.set(projectId, strongerOf(early.get(projectId), urgency));
  }
  function askFor(turn: Turn, urgency: Urgency): void {
    const isWish = urgency === 'wish';
    byUrgency.ask(turn, urgency, isWish ? turn.polledAtMs + limits.pollIntervalMsMin : 0);
    turn.wanted = undefined;
  }
}

const OWN_PER_PAGE_MIN = 8;
const RECALL_MIN_2 = 0.9;

interface WatchedProject {
  readonly ownPerMs: number;
  readonly pagePerMs: number;
  readonly recall: number;
}
function watchedStride({ ownPerMs, pagePerMs, recall }: WatchedProject): number | undefined {
  if (recall < RECALL_MIN_2 || ownPerMs <= OWN_PER_PAGE_MIN * pagePerMs) return undefined;
  return listedStride(ownPerMs, recall);
}

interface PlannerLimits extends IntervalLimits {
  readonly requestsPerMinute: number;
  readonly readsComputes?: boolean | undefined;
  readonly failureBackoffMsMax: number;
  readonly urgencyShares?: UrgencyShares | undefined;
}
const NOT_LOOKED_AT = { hasWork: false, expectedTransitionsPerMs: 0 };

/** Builds that planner with the limits of today's. */
export function createSecondEditionPlanner(plannerLimits: PlannerLimits): PollPlanner {
  const byId = new Map<string, Turn>();
  const limits = pacedLimits(plannerLimits, () => byId.size);
  const hints = createHintFields();
  const slots = createTurnSlots();
  const strides = createProjectStrides(slots);
  const list = createPageTurns(limits.listing, limits.requestsPerMinute, slots);
  const queues = createTurnQueues(limits, () => byId.size + list.turns.length, {
    recall: () => (pages.areShown() ? hints.recall() : 0),
    shownAtMs: () => hints.shownAtMs(),
    expectedPerMs: () => strides.coldPerMs(),
    urgentShare: () => queues.byUrgency.usedShare(),
  });
  const needed = createNeededTurns(byId, (turn, nowMs) => strides.hotIntensityOf(turn, nowMs));
  const pages = createPageReports(list, queues, hints, limits);
  const computes = createComputeReadings(strides, queues.byWeight, limits, () =>
    pages.areShown() ? hints.recall() : 0,
  );
  const projects = createPolledProjects({ byId, queues, strides, hints, needed, computes });
  const requests = createUrgentReadings(byId, queues.byUrgency, limits);
  const choice = createNextTurn(queues, {
    requestsPerMinute: limits.requestsPerMinute,
    intervalMsMin: (turn) => intervalMsMinOf(turn, limits),
    recall: () => hints.recall(),
    hintTrust: () => hints.recall() * hints.precision(),
  });

  return {
    setProjects(projectIds, histories) {
      projects.set(projectIds, histories);
      requests.welcome(projectIds);
    },
    addProjects(projectIds, histories) {
      projects.add(projectIds, histories);
      requests.welcome(projectIds);
    },
    removeProjects: (projectIds) => projects.remove(projectIds),
    next(nowMs) {
      projects.welcomeNewcomers(nowMs);
      wakeRested(queues, nowMs);
      hurryRisen(queues, strides, nowMs);
      const reading = choice.offer(nowMs, () => computes.take(nowMs));
      if (reading !== undefined) return { kind: 'computes', projectId: reading.id };
      const turn = choice.take(nowMs);
      if (turn === undefined)
        return {
          kind: 'wait',
          untilMs: choice.nextChangeMs(),
          ...(choice.keepsPermit() && { keepsPermit: true }),
        };
      if (turn.page === undefined) needed.follow(turn);
      return decisionOf(turn, list);
    },
    report(projectId, result, nowMs) {
      const turn = byId.get(projectId);
      if (turn === undefined) return;
      if (result.wasCutShort) {
        resumeWaiting(queues, turn);
        return requests.askAgain(turn);
      }
      endReading(queues, turn, { hasFailed: result.hasFailed, nowMs });
      const times = { beganAtMs: turn.beganAtMs, endedAtMs: nowMs };
      if (!result.hasFailed) hints.takeReading(projectId, result.foundTransition, times);
      learnTurn(strides, turn, result, nowMs);
      computes.follow(turn, nowMs);
      needed.follow(turn);
      if (result.hasFailed)
        return restAfterFailure(queues, turn, nowMs + restMsOf(limits, turn, result.restMs));
      queueTurnAgain(queues, turn, nowMs, {
        pollIntervalMsMin: limits.pollIntervalMsMin,
        watched: watchedStrideOf(turn, nowMs),
      });
      requests.askAgain(turn);
    },
    reportPage(page, shown, nowMs) {
      const times = { beganAtMs: list.turns[page]?.beganAtMs ?? nowMs, endedAtMs: nowMs };
      const moved = hints.takeListing(shown?.rows ?? [], times);
      for (const id of moved) requests.ask(id, 'hint');
      pages.report(
        page,
        shown && { ...shown, cold: coldOf(byId, shown.rows), movedCount: moved.length },
        nowMs,
      );
    },
    reportComputes(projectId, reading, nowMs) {
      const turn = byId.get(projectId);
      if (turn === undefined) return;
      if (reading === 'cut_short') return computes.end(turn, nowMs);
      const running = reading === 'unreadable' ? undefined : reading;
      if (running === undefined) turn.computesRestUntilMs = nowMs + limits.failureBackoffMsMax;
      const before = turn.stride;
      if (strides.learnComputes(turn, running, nowMs)) requests.ask(projectId, 'hint');
      turn.stride = strides.strideOf(turn, nowMs);
      queues.byWeight.scale(turn, turn.stride / before);
      computes.end(turn, nowMs);
    },
    markHot: (projectId) => requests.ask(projectId, 'command'),
    wish: (projectId) => requests.ask(projectId, 'wish'),
    waitingCount: () => queues.byUrgency.size,
    need(sinceMs, nowMs) {
      const hasReadAll = pages.haveShownAllSince(sinceMs) || needed.haveBeenRead(sinceMs);
      const { hasWork, expectedTransitionsPerMs } = hasReadAll ? needed.work(nowMs) : NOT_LOOKED_AT;
      const isWaitedFor = queues.byUrgency.size > 0 || queues.deadlines.isOverdue(nowMs);
      return { hasReadAll, hasWork: hasWork || isWaitedFor, expectedTransitionsPerMs };
    },
    historyOf: (projectId) => byId.get(projectId)?.history,
    hintEvidence: () => hints.evidence(),
    restoreHints: (evidence) => hints.restore(evidence),
  };

  function watchedStrideOf(turn: Turn, nowMs: number): number | undefined {
    const ownPerMs = strides.hotIntensityOf(turn, nowMs);
    return watchedStride({ ownPerMs, pagePerMs: pages.meanPerMs(), recall: hints.recall() });
  }
}

function decisionOf({ id, page }: Turn, list: PageTurns): PollDecision {
  if (page === undefined) return { kind: 'poll', projectId: id };
  return { kind: 'list', page, cursor: list.cursorOf(page) };
}

function intervalMsMinOf({ page }: Turn, { pollIntervalMsMin, listing }: PacedLimits<PlannerLimits>): number {
  return page === undefined ? pollIntervalMsMin : (listing?.hintIntervalMsMin ?? 0);
}

function learnTurn(
  strides: ProjectStrides,
  turn: Turn,
  { hasLeftovers, activity }: PollResult,
  nowMs: number,
): void {
  turn.hasLeftovers = hasLeftovers;
  if (activity !== undefined) strides.learn(turn, activity, nowMs);
  turn.stride = strides.strideOf(turn, nowMs);
}
function restMsOf(limits: PacedLimits<PlannerLimits>, { failureCount }: Turn, restMsMin = 0): number {
  return Math.max(restMsMin, backoffMs(limits, failureCount));
}
function queueTurnAgain(
  queues: TurnQueues,
  turn: Turn,
  nowMs: number,
  {
    pollIntervalMsMin,
    watched,
  }: { readonly pollIntervalMsMin: number; readonly watched: number | undefined },
): void {
  const { byWeight, rests, deadlines } = queues;
  deadlines.follow(turn, nowMs);
  if (turn.hasLeftovers) {
    byWeight.assign(turn, 0);
    rests.set(turn, nowMs + pollIntervalMsMin);
  } else if (watched !== undefined) {
    byWeight.assign(turn, watched);
    byWeight.join(turn);
  } else joinByWeight(queues, turn);
}
function hurryRisen({ byWeight }: TurnQueues, strides: ProjectStrides, nowMs: number): void {
  for (let turn = strides.takeRisen(nowMs); turn; turn = strides.takeRisen(nowMs)) {
    const before = turn.stride;
    turn.stride = strides.strideOf(turn, nowMs);
    byWeight.scale(turn, Math.min(1, turn.stride / before));
  }
}
function coldOf(byId: ReadonlyMap<string, Turn>, rows: readonly ProjectRow[]): number {
  return rows.reduce((sum, { id }) => sum + (byId.get(id)?.cold ?? 0), 0);
}
