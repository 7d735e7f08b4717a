/** Learns from the pages how many transitions to expect of each project, and derives the strides of their turns. */

import { type ArrivalHistory, longRunHistory, withinAccount } from './activity/arrival-history.ts';
import { createArrivalRates } from './activity/arrival-rates.ts';
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
  /** Returns the transitions per millisecond that the open operation and the running computes of the project add. */
  hotIntensityOf(turn: Turn, nowMs: number): number;
  /** Returns the next turn of which more is expected than when it was read. It returns a turn once for each rise. */
  takeRisen(nowMs: number): Turn | undefined;
}

/**
 * This multiple of the mean cold stride bounds every stride. With 1.2 the mean delay of 500 projects was a twenty-fifth
 * shorter than with 0.9, and a higher bound changes nothing. Without a bound, a project of which too little is known
 * would wait too long.
 */
const STRIDE_MULTIPLE_MAX = 1.2;

export function createProjectStrides(slots: TurnSlots): ProjectStrides {
  const rates = createArrivalRates();
  const lifetimes = createLearnedLifetimes();
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
      turn.learnedAtMs = nowMs;
      turn.cold = coldIntensity(history, rates.perMsMean());
      strides.add(turn);
      followRise(turn, nowMs);
    },
    /**
     * No project is polled much less often than one of the mean cold stride, because that costs nothing and cuts the
     * longest delays.
     */
    strideOf: (turn, nowMs) =>
      Math.min(strides.max(), 1 / Math.sqrt(turn.cold + hotIntensity(turn.activity, lifetimes, nowMs))),
    hotIntensityOf: (turn, nowMs) => hotIntensity(turn.activity, lifetimes, nowMs),
    takeRisen(nowMs) {
      const first = rises.firstPriority() <= nowMs ? rises.first() : undefined;
      if (first !== undefined) followRise(first.item, nowMs);
      return first?.item;
    },
  };

  /** Notes when a running compute can be suspended: no reading shows that moment. */
  function followRise(turn: Turn, nowMs: number): void {
    const riseAtMs = nextRiseMs(turn.activity, lifetimes, nowMs);
    if (riseAtMs === undefined) rises.delete(turn);
    else rises.set(turn, riseAtMs);
  }
}

/**
 * Sums up the strides that all projects would have if nothing were open or running there, so that their mean costs
 * nothing.
 */
function createColdStrides() {
  let sum = 0;
  let count = 0;
  return {
    add(turn: Turn): void {
      sum += coldStrideOf(turn);
      count += 1;
    },
    remove(turn: Turn): void {
      sum -= coldStrideOf(turn);
      count -= 1;
    },
    /** Returns the longest stride that a project may have. */
    max: () => (STRIDE_MULTIPLE_MAX * sum) / Math.max(1, count),
  };
}

/** Returns the last end that the page shows, or `beforeMs` when it shows none that is later. */
function lastEndMs(shown: readonly Lifetime[], beforeMs: number): number {
  return shown.reduce((lastMs, { endedMs = lastMs }) => Math.max(lastMs, endedMs), beforeMs);
}

function coldStrideOf({ cold }: Turn): number {
  return 1 / Math.sqrt(cold);
}
