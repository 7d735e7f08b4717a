/** What the planner keeps of each project and of each page of the project list. */

import type { ArrivalHistory, ProjectActivity } from './project-activity.ts';

/** A project's, or that of a page of the project list. */
export interface Turn {
  readonly id: string;
  readonly page: number | undefined;
  activity: ProjectActivity | undefined;
  history: ArrivalHistory | undefined;
  /** Undefined while only an earlier process has read it. */
  learnedAtMs: number | undefined;
  /** Expected per millisecond, at any time; of all projects on it, for a page. */
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

/** `cold`: expected per millisecond; its stride goes with the square root of that. */
export function newTurn(id: string, cold: number, page?: number): Turn {
  return {
    id,
    page,
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
