/** Learns from the pages how many transitions to expect of each project, and derives the strides of their turns. */

import type { RunningCompute } from '../../../shared/core/records/running-compute.ts';
import { type ArrivalHistory, longRunHistory, withinAccount } from './activity/arrival-history.ts';
import { createArrivalRates } from './activity/arrival-rates.ts';
import {
  createExpectedSuspends,
  expectedSuspend,
  type KnownComputes,
  nothingKnown,
} from './activity/expected-suspends.ts';
import { coldIntensity, hotIntensity, nextRiseMs } from './activity/expected-transitions.ts';
import { createLearnedLifetimes } from './activity/learned-lifetimes.ts';
import type { Lifetime } from './activity/lifetimes.ts';
import type { ProjectActivity } from './activity/project-activity.ts';
import { createPriorityQueue } from './queues/priority-queue.ts';
import { newTurn, slotOfTurn, type Turn } from './queues/turn.ts';
import type { TurnSlots } from './queues/turn-slots.ts';

export interface ProjectStrides {
  /** Creates turns for projects that become known together: the history of each says something about the others. */
  welcome(projectIds: readonly string[], histories: ReadonlyMap<string, ArrivalHistory>): readonly Turn[];
  /** Forgets a turn that is in no other queue any more. */
  forget(turn: Turn): void;
  learn(turn: Turn, activity: ProjectActivity, nowMs: number): void;
  strideOf(turn: Turn, nowMs: number): number;
  /** Returns the transitions per millisecond that are expected of all projects together while nothing is open or running. */
  coldPerMs(): number;
  /** Returns the transitions per millisecond that the open operation and the running computes of the project add. */
  hotIntensityOf(turn: Turn, nowMs: number): number;
  /** Returns the strides that the project has with what its suspends add, and without it. */
  suspendStridesOf(turn: Turn, nowMs: number): { readonly watched: number; readonly unwatched: number };
  /**
   * Takes the running computes that a list of the project's computes showed, or undefined when it could not be read.
   * Returns true when a compute has stopped that ran when the project was polled.
   */
  learnComputes(turn: Turn, running: readonly RunningCompute[] | undefined, nowMs: number): boolean;
  /** Returns when a compute that was started at `sinceMs` can be suspended, as the computes of the account usually are. */
  suspendableAtMs(sinceMs: number, nowMs: number): number;
  /** Says whether most of what lists of computes have said was true. */
  areListsTrusted(): boolean;
  /** Returns for how long after a list was read no suspend is expected, in milliseconds, as the last lists have shown it. */
  quietMs(): number;
  /** Returns the next turn of which more is expected than when it was read. It returns a turn once for each rise. */
  takeRisen(nowMs: number): Turn | undefined;
}

/**
 * This multiple of the mean cold stride bounds every stride. With 1.2 the mean delay of 500 projects was a twenty-fifth
 * shorter than with 0.9, and a higher bound changes nothing. Without a bound, a project of which too little is known
 * would wait too long.
 */
const STRIDE_MULTIPLE_MAX = 1.2;

/** A compute is suspended five minutes after its last activity unless it was set otherwise (public contract). */
const QUIET_MS_ASSUMED = 300_000;

/** Each compute that a list shows counts for this share of the time that is expected of the next ones. */
const QUIET_SHARE = 0.05;

/** However soon the suspends of the last lists came, and however far off they were, the next ones are expected between these. */
const [QUIET_MS_MIN, QUIET_MS_MAX] = [60_000, 3_600_000];

/** A compute that was started so recently may be missing in a list that was read at the same time. */
const JUST_STARTED_MS = 60_000;

export function createProjectStrides(slots: TurnSlots): ProjectStrides {
  const rates = createArrivalRates();
  const lifetimes = createLearnedLifetimes();
  const suspends = createExpectedSuspends();
  /** No suspend is expected for this long after a list was read, as the last lists have shown it. */
  let quietMs = QUIET_MS_ASSUMED;
  const rises = createPriorityQueue(slotOfTurn);
  const strides = createColdStrides();
  /** No page has shown an operation that was created before this time. */
  let accountOldestMs = Number.POSITIVE_INFINITY;

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
    learn(turn, { lifetimes: shown = [], oldestMs = Number.POSITIVE_INFINITY, ...activity }, nowMs) {
      accountOldestMs = Math.min(accountOldestMs, oldestMs);
      lifetimes.learn(shown, turn, nowMs);
      turn.shownEndMs = lastEndMs(shown, turn.shownEndMs);
      const page = withinAccount(activity, accountOldestMs, nowMs);
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
    /**
     * No project is polled much less often than one of the mean cold stride, because that costs nothing and cuts the
     * longest delays.
     */
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

  /** Notes when a running compute can be suspended: no reading shows that moment. */
  function followRise(turn: Turn, nowMs: number): void {
    const riseAtMs = nextRiseMs(turn.activity, lifetimes, nowMs, { computes: turn.computes, suspends });
    if (riseAtMs === undefined) rises.delete(turn);
    else rises.set(turn, riseAtMs);
  }
}

/**
 * Sums up the strides and the transitions per millisecond that all projects would have if nothing were open or running there, so that
 * their mean and their sum cost nothing.
 */
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
    /** Rounding leaves a sum that is hardly below 0 once every project is gone. */
    perMs: () => Math.max(0, perMs),
    /** Returns the longest stride that a project may have. */
    max: () => (STRIDE_MULTIPLE_MAX * sum) / Math.max(1, count),
  };
}

/** Keeps what is known of the computes that run since before it was read. */
function stillRunning(computes: KnownComputes, activity: ProjectActivity): KnownComputes {
  // Of most projects nothing is known, and they share one empty map.
  if (computes.size === 0) return computes;
  const kept = [...computes].filter(([id, { readAtMs }]) => startedBy(activity, readAtMs).includes(id));
  return new Map(kept);
}

/** Returns the ids of the running computes that the page shows to have been started at this time at the latest. */
function startedBy(activity: ProjectActivity | undefined, atMs: number): readonly string[] {
  const isBy = (sinceMs = Number.POSITIVE_INFINITY) => sinceMs <= atMs;
  return activity?.activeIds?.filter((_, place) => isBy(activity.activeSinceMs[place])) ?? [];
}

/** Returns the last end that the page shows, or `beforeMs` when it shows none that is later. */
function lastEndMs(shown: readonly Lifetime[], beforeMs: number): number {
  return shown.reduce((lastMs, { endedMs = lastMs }) => Math.max(lastMs, endedMs), beforeMs);
}

function coldStrideOf({ cold }: Turn): number {
  return 1 / Math.sqrt(cold);
}
