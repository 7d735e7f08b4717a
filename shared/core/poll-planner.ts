/**
 * Which request to send next. Stride scheduling: each project has a stride, one over the square root of its expected
 * transitions per second; the one whose virtual finish is smallest goes first. So polls are evenly spaced, at rates
 * that minimise the mean delay, and nothing starves: there is no priority, only weight (ADR 0006).
 */

import { createArrivalRates } from './arrival-rates.ts';
import type { PollingNeed } from './duty-cycle.ts';
import { createHintFields, type FieldEvidence, type ProjectRow } from './hint-fields.ts';
import { coldIntensity, hotIntensity, nextRiseMs } from './poll-intensity.ts';
import { createPriorityQueue } from './priority-queue.ts';
import { type ArrivalHistory, longRunHistory, type ProjectActivity } from './project-activity.ts';

export interface PollPlanner {
  /**
   * The projects to poll from now on; what is known of the others is forgotten. `histories`: how often something happened
   * in those that an earlier process has read.
   */
  setProjects(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** For a request that may leave now. What is handed out counts as under way until it is reported. */
  next(nowMs: number): PollDecision;
  report(projectId: string, result: PollResult, nowMs: number): void;
  /** `rows`: what the list showed, however partial. */
  reportListing(rows: readonly ProjectRow[], requestCount: number, nowMs: number): void;
  /** Something is known to happen there: poll it as soon as possible. */
  markHot(projectId: string): void;
  /** Whether there is a reason to go on polling. `sinceMs`: when this invocation began. O(projects). */
  need(sinceMs: number, nowMs: number): PollingNeed;
  /** How often something happens there, as far as it is known. */
  historyOf(projectId: string): ArrivalHistory | undefined;
  /** What was learned of the list's fields, to be kept across restarts. */
  hintEvidence(): readonly FieldEvidence[];
  restoreHints(evidence: readonly FieldEvidence[]): void;
}

export type PollDecision =
  | { readonly kind: 'poll'; readonly projectId: string }
  /** Read the project list for hints. */
  | { readonly kind: 'list' }
  /** Nothing may leave before; `untilMs` is infinite when every project is under way or there is none. */
  | { readonly kind: 'wait'; readonly untilMs: number };

export interface PollResult {
  readonly hasFailed: boolean;
  readonly foundTransition: boolean;
  /** What a poll left to do at once: events that did not reach the bus. */
  readonly hasLeftovers: boolean;
  /** Undefined when the poll read no page: what was known stays. */
  readonly activity: ProjectActivity | undefined;
}

export interface PlannerLimits {
  /** No project is polled more often, unless a hint or a command asks for it. */
  readonly pollIntervalMsMin: number;
  /** The poller's share of the rate limit: it says how long a round of all projects takes. */
  readonly requestsPerMinute: number;
  /** A project that fails is left alone for twice as long each time, up to this. */
  readonly failureBackoffMsMax: number;
  /** The list is read no more often; undefined: it is no source of hints. */
  readonly listIntervalMsMin: number | undefined;
}

interface Turn {
  readonly id: string;
  activity: ProjectActivity | undefined;
  history: ArrivalHistory | undefined;
  /** Undefined while only an earlier process has read it. */
  learnedAtMs: number | undefined;
  cold: number;
  stride: number;
  finish: number;
  /** Entries of the queues with another version are out of date. */
  version: number;
  isUnderWay: boolean;
  isWanted: boolean;
  /** Under way because of a hint, a command or a person. */
  isPressing: boolean;
  /** Has a place of its own among the others; all at once, they would stay a crowd for ever. */
  isSpread: boolean;
  /** The last poll left events that did not reach the bus. */
  hasLeftovers: boolean;
  polledAtMs: number;
  riseAtMs: number | undefined;
  failureCount: number;
}

const LISTING = '(the project list)';

/** The first failure of a row: most are over by then. */
const FAILURE_BACKOFF_MS = 5_000;

/** A round polls every project once; the square root alone would leave a few projects alone for a dozen of them. */
const STALENESS_ROUNDS_MAX = 4;

/** In a small account a round takes seconds, and a minute is still soon. */
const STALENESS_MS_MIN = 60_000;

/** Of the mean cold stride. Tried from 0.8 to 1.2 on three seeds: the mean delay is the same, the tail is not. */
const STRIDE_SHARE_MAX = 0.9;

/** Of the transitions of a project nine tenths moved a field of the list. */
const RECALL_PROVEN = 0.9;

/** Even spacing of the first turns: the golden ratio never repeats. */
const GOLDEN = 0.618_033_988_75;

export function createPollPlanner(limits: PlannerLimits): PollPlanner {
  const turns = new Map<string, Turn>();
  const byFinish = createPriorityQueue();
  const byTime = createPriorityQueue();
  const rises = createPriorityQueue();
  const urgent = new Set<string>();
  const hints = createHintFields();
  let virtualTime = 0;
  const rates = createArrivalRates();
  let coldSum = 0;
  let strideSum = 0;
  let listRequestCount = 1;
  let spreadCount = 0;
  const listing = newTurn(LISTING, 1);

  return {
    setProjects(projectIds, histories = new Map()) {
      const wanted = new Set(projectIds);
      for (const [id, turn] of turns) if (!wanted.has(id)) remove(turn);
      const added = [...wanted].filter((id) => !turns.has(id));
      for (const id of added) rates.note(undefined, histories.get(id));
      for (const id of added) add(id, histories.get(id));
      if (limits.listIntervalMsMin !== undefined && listing.version === 0 && turns.size > 0)
        queue(listing, 1);
    },

    next(nowMs) {
      applyRises(nowMs);
      const turn = takeUrgent() ?? takeDelayed(nowMs) ?? takeByFinish(nowMs);
      if (turn === undefined)
        return { kind: 'wait', untilMs: byTime.first()?.priority ?? Number.POSITIVE_INFINITY };
      turn.isUnderWay = true;
      turn.version += 1;
      return turn === listing ? { kind: 'list' } : { kind: 'poll', projectId: turn.id };
    },

    report(projectId, result, nowMs) {
      const turn = turns.get(projectId);
      if (turn === undefined) return;
      turn.isUnderWay = false;
      turn.isPressing = false;
      turn.polledAtMs = nowMs;
      turn.hasLeftovers = result.hasLeftovers;
      turn.failureCount = result.hasFailed ? turn.failureCount + 1 : 0;
      if (result.foundTransition) hints.noteTransition(projectId);
      if (result.activity !== undefined) learn(turn, result.activity, nowMs);
      turn.stride = strideOf(turn, nowMs);
      if (turn.failureCount > 0) return delay(turn, nowMs + backoffMs(turn.failureCount));
      if (result.hasLeftovers) return delay(turn, nowMs + limits.pollIntervalMsMin);
      if (turn.isSpread) queue(turn, turn.stride);
      else spread(turn);
      byTime.push(projectId, nowMs + stalenessMs(), turn.version);
      if (turn.isWanted) urgent.add(projectId);
    },

    reportListing(rows, requestCount, nowMs) {
      listRequestCount = Math.max(1, requestCount);
      for (const id of hints.takeListing(rows)) want(id);
      listing.isUnderWay = false;
      listing.polledAtMs = nowMs;
      if (limits.listIntervalMsMin === undefined || turns.size === 0) return;
      const recall = hints.recall();
      listing.stride = Math.sqrt(
        (listRequestCount * (1 - recall)) / (recall * Math.max(coldSum, Number.MIN_VALUE)),
      );
      queue(listing, listing.stride);
    },

    markHot: want,
    need(sinceMs, nowMs) {
      let [unreadCount, pressingCount, expectedTransitionsPerMs] = [0, 0, 0];
      for (const turn of turns.values()) {
        // One that fails has been tried; it must not keep the others' poller alive.
        if (turn.polledAtMs < sinceMs && turn.failureCount === 0) unreadCount += 1;
        if (turn.isPressing || turn.hasLeftovers) pressingCount += 1;
        expectedTransitionsPerMs += hotIntensity(turn.activity, nowMs);
      }
      const hasWork = urgent.size + pressingCount > 0 || isOverdue(nowMs);
      return { hasReadAll: unreadCount === 0 || isListedSince(sinceMs), hasWork, expectedTransitionsPerMs };
    },
    historyOf: (projectId) => turns.get(projectId)?.history,
    hintEvidence: () => hints.evidence(),
    restoreHints: (evidence) => hints.restore(evidence),
  };

  function want(projectId: string): void {
    const turn = turns.get(projectId);
    if (turn === undefined) return;
    turn.isWanted = true;
    if (!turn.isUnderWay && turn.failureCount === 0) urgent.add(projectId);
  }

  function takeUrgent(): Turn | undefined {
    for (const id of urgent) {
      urgent.delete(id);
      const turn = turns.get(id);
      if (turn === undefined || turn.isUnderWay) continue;
      turn.isWanted = false;
      turn.isPressing = true;
      return turn;
    }
    return undefined;
  }

  function takeDelayed(nowMs: number): Turn | undefined {
    for (let entry = byTime.first(); entry !== undefined; entry = byTime.first()) {
      const turn = currentTurn(entry.id, entry.version);
      if (turn !== undefined && entry.priority > nowMs) return undefined;
      byTime.shift();
      if (turn !== undefined) return turn;
    }
    return undefined;
  }

  function takeByFinish(nowMs: number): Turn | undefined {
    for (let entry = byFinish.shift(); entry !== undefined; entry = byFinish.shift()) {
      const turn = currentTurn(entry.id, entry.version);
      if (turn === undefined) continue;
      virtualTime = Math.max(virtualTime, entry.priority);
      const intervalMs = turn === listing ? (limits.listIntervalMsMin ?? 0) : limits.pollIntervalMsMin;
      const readyAtMs = turn.polledAtMs + intervalMs;
      if (nowMs >= readyAtMs) return turn;
      delay(turn, readyAtMs);
    }
    return undefined;
  }

  /** A compute that has become suspendable moves its project forward, in proportion to the turn that is left. */
  function applyRises(nowMs: number): void {
    for (let entry = rises.first(); entry !== undefined && entry.priority <= nowMs; entry = rises.first()) {
      rises.shift();
      const turn = turns.get(entry.id);
      if (turn === undefined) continue;
      const before = turn.stride;
      turn.stride = strideOf(turn, nowMs);
      const isQueued = !turn.isUnderWay && turn.failureCount === 0;
      if (isQueued) queue(turn, Math.max(0, turn.finish - virtualTime) * Math.min(1, turn.stride / before));
    }
  }

  function learn(turn: Turn, activity: ProjectActivity, nowMs: number): void {
    const history = longRunHistory(turn.history, activity, nowMs - (turn.learnedAtMs ?? nowMs));
    rates.note(turn.history, history);
    turn.history = history;
    turn.learnedAtMs = nowMs;
    turn.activity = activity;
    const coldBefore = turn.cold;
    turn.cold = coldIntensity(history, rates.perMsMean());
    coldSum += turn.cold - coldBefore;
    strideSum += 1 / Math.sqrt(turn.cold) - 1 / Math.sqrt(coldBefore);
    const riseAtMs = nextRiseMs(activity, nowMs);
    if (riseAtMs !== undefined && riseAtMs !== turn.riseAtMs) rises.push(turn.id, riseAtMs, 0);
    turn.riseAtMs = riseAtMs;
  }

  function isOverdue(nowMs: number): boolean {
    return (byTime.first()?.priority ?? Number.POSITIVE_INFINITY) <= nowMs;
  }

  /** A list that has proved itself stands for a reading of everything; what it misses is read at the latest by its age. */
  function isListedSince(sinceMs: number): boolean {
    return listing.polledAtMs >= sinceMs && !listing.isUnderWay && hints.recall() >= RECALL_PROVEN;
  }

  /** No project is polled much less often than one of the mean cold stride: it costs nothing and cuts the longest delays. */
  function strideOf(turn: Turn, nowMs: number): number {
    const strideMax = (STRIDE_SHARE_MAX * strideSum) / Math.max(1, turns.size);
    return Math.min(strideMax, 1 / Math.sqrt(turn.cold + hotIntensity(turn.activity, nowMs)));
  }

  function add(id: string, history: ArrivalHistory | undefined): void {
    const turn = newTurn(id, coldIntensity(history, rates.perMsMean()));
    turn.history = history;
    turns.set(id, turn);
    coldSum += turn.cold;
    strideSum += turn.stride;
    // What was never read is read first, before its rate is known: the others have been seen.
    if (history === undefined) queue(turn, 0);
    else spread(turn);
  }

  function spread(turn: Turn): void {
    turn.isSpread = true;
    queue(turn, turn.stride * ((spreadCount++ * GOLDEN) % 1));
  }

  function remove(turn: Turn): void {
    turns.delete(turn.id);
    urgent.delete(turn.id);
    hints.forget(turn.id);
    coldSum -= turn.cold;
    strideSum -= 1 / Math.sqrt(turn.cold);
    rates.note(turn.history, undefined);
  }

  function queue(turn: Turn, virtualDelay: number): void {
    turn.finish = virtualTime + virtualDelay;
    turn.version += 1;
    byFinish.push(turn.id, turn.finish, turn.version);
  }

  function delay(turn: Turn, untilMs: number): void {
    turn.version += 1;
    byTime.push(turn.id, untilMs, turn.version);
  }

  function currentTurn(id: string, version: number): Turn | undefined {
    const turn = id === LISTING ? listing : turns.get(id);
    return turn?.version === version && !turn.isUnderWay ? turn : undefined;
  }

  /** However little is to be expected of a project, it is polled once in so many rounds of all of them. */
  function stalenessMs(): number {
    return Math.max(
      STALENESS_MS_MIN,
      (STALENESS_ROUNDS_MAX * turns.size * 60_000) / limits.requestsPerMinute,
    );
  }

  function backoffMs(failureCount: number): number {
    const firstMs = Math.max(FAILURE_BACKOFF_MS, limits.pollIntervalMsMin);
    return Math.min(firstMs * 2 ** (failureCount - 1), limits.failureBackoffMsMax);
  }
}

function newTurn(id: string, cold: number): Turn {
  return {
    id,
    activity: undefined,
    history: undefined,
    learnedAtMs: undefined,
    cold,
    stride: 1 / Math.sqrt(cold),
    finish: 0,
    version: 0,
    isUnderWay: false,
    isWanted: false,
    isPressing: false,
    isSpread: false,
    hasLeftovers: false,
    polledAtMs: Number.NEGATIVE_INFINITY,
    riseAtMs: undefined,
    failureCount: 0,
  };
}
