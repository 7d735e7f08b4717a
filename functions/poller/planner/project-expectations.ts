/** What is expected of the projects: learned from the pages that are read anyway, and turned into the strides of their turns. */

import { createArrivalRates } from './arrival-rates.ts';
import { coldIntensity, hotIntensity, nextRiseMs } from './poll-intensity.ts';
import { createPriorityQueue } from './priority-queue.ts';
import { type ArrivalHistory, longRunHistory, type ProjectActivity } from './project-activity.ts';
import { newTurn, type Turn } from './turn.ts';

export interface ProjectExpectations {
  /** Turns for projects that become known together: each tells something about the others. */
  welcome(projectIds: readonly string[], histories: ReadonlyMap<string, ArrivalHistory>): readonly Turn[];
  forget(turn: Turn): void;
  /** What a reading showed. */
  learn(turn: Turn, activity: ProjectActivity, nowMs: number): void;
  /** The stride of the turn at this moment. */
  strideOf(turn: Turn, nowMs: number): number;
  /** A turn of which more has to be expected than when it was read; each is given out once. */
  takeRisen(nowMs: number): Turn | undefined;
}

/** Of the mean cold stride. Tried from 0.8 to 1.2 on three seeds: the mean delay is the same, the tail is not. */
const STRIDE_SHARE_MAX = 0.9;

export function createProjectExpectations(): ProjectExpectations {
  const rates = createArrivalRates();
  const rises = createPriorityQueue<Turn>();
  let coldStrideSum = 0;
  let count = 0;

  return {
    welcome(projectIds, histories) {
      for (const id of projectIds) rates.note(undefined, histories.get(id));
      return projectIds.map((id) => welcomeOne(id, histories.get(id)));
    },
    forget(turn) {
      rates.note(turn.history, undefined);
      rises.delete(turn);
      coldStrideSum -= coldStrideOf(turn);
      count -= 1;
    },
    learn(turn, activity, nowMs) {
      const history = longRunHistory(turn.history, activity, nowMs - (turn.learnedAtMs ?? nowMs));
      rates.note(turn.history, history);
      coldStrideSum -= coldStrideOf(turn);
      turn.history = history;
      turn.learnedAtMs = nowMs;
      turn.activity = activity;
      turn.cold = coldIntensity(history, rates.perMsMean());
      coldStrideSum += coldStrideOf(turn);
      noteRise(turn, nowMs);
    },
    /** No project is polled much less often than one of the mean cold stride: it costs nothing and cuts the longest delays. */
    strideOf(turn, nowMs) {
      const strideMax = (STRIDE_SHARE_MAX * coldStrideSum) / Math.max(1, count);
      return Math.min(strideMax, 1 / Math.sqrt(turn.cold + hotIntensity(turn.activity, nowMs)));
    },
    takeRisen(nowMs) {
      const first = rises.first();
      return first !== undefined && first.priority <= nowMs ? rises.shift()?.item : undefined;
    },
  };

  function welcomeOne(id: string, history: ArrivalHistory | undefined): Turn {
    const turn = newTurn(id, coldIntensity(history, rates.perMsMean()));
    turn.history = history;
    coldStrideSum += turn.stride;
    count += 1;
    return turn;
  }

  /** A compute becomes suspendable without a reading that would show it. */
  function noteRise(turn: Turn, nowMs: number): void {
    const riseAtMs = nextRiseMs(turn.activity, nowMs);
    if (riseAtMs === undefined) rises.delete(turn);
    else rises.set(turn, riseAtMs);
  }
}

function coldStrideOf({ cold }: Turn): number {
  return 1 / Math.sqrt(cold);
}
