/** Describes what the planner keeps of each project and of each page of the project list. */

import type { ArrivalHistory } from '../activity/arrival-history.ts';
import { type KnownComputes, NO_COMPUTES } from '../activity/expected-suspends.ts';
import type { ProjectActivity } from '../activity/project-activity.ts';

/**
 * Says why a project is to be read before its turn: a command through the bridge, a hint of the list, or a caller's
 * wish.
 */
export type Urgency = 'command' | 'hint' | 'wish';

/** The turn of a project, or of a page of the project list, says when it is read next. */
export interface Turn {
  /** No other turn of the planner has this number (`turn-slots.ts`). */
  readonly slot: number;
  readonly id: string;
  /** The pages of the project list are numbered from 0. It is undefined for the turn of a project. */
  readonly page: number | undefined;
  activity: ProjectActivity | undefined;
  history: ArrivalHistory | undefined;
  /** A list of the project's computes has said when each of these is expected to be suspended. */
  computes: KnownComputes;
  /** The list of computes could not be read, and is not read again before this time. */
  computesRestUntilMs: number;
  /**
   * This process last learned of the activity at this time, in milliseconds since the epoch. It is undefined when it
   * never has.
   */
  learnedAtMs: number | undefined;
  /** The pages of the project have shown ends up to this time, by the upstream's clock. It is -Infinity before any. */
  shownEndMs: number;
  /**
   * The planner expects this many transitions per millisecond at any time. For a page it is the sum of all projects
   * on it.
   */
  cold: number;
  /** Virtual time passes by this much between two readings: the smaller it is, the more often they come. */
  stride: number;
  /** The next reading comes at this virtual time. */
  finish: number;
  /** The last reading of a page began at this virtual time. */
  begunAt: number;
  isUnderWay: boolean;
  /** The last reading began at this time, in milliseconds since the epoch. It is -Infinity before the first one. */
  beganAtMs: number;
  /** This asks for a reading that cannot begin yet, because one is under way or the last one has failed. */
  wanted: Urgency | undefined;
  /** It is true while a reading is under way because of a command, a hint or a wish. */
  isPressing: boolean;
  /**
   * The turn has begun somewhere within its stride. Turns that start together without that would stay together for
   * ever.
   */
  isSpread: boolean;
  /** The last poll left events that did not reach the bus. */
  hasLeftovers: boolean;
  /** The last reading ended at this time, in milliseconds since the epoch. */
  polledAtMs: number;
  /** Counts consecutive failures. It is 0 after a reading that succeeded. */
  failureCount: number;
}

/** `cold` is the number of expected transitions per millisecond. The stride is one over its square root. */
export function newTurn(slot: number, id: string, cold: number, page?: number): Turn {
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

export function slotOfTurn({ slot }: Turn): number {
  return slot;
}
