/** What the planner keeps of each project and of each page of the project list. */

import type { ArrivalHistory, ProjectActivity } from '../activity/project-activity.ts';

/** Why a project is to be read before its turn: a command through the bridge, a hint of the list, or a caller's wish. */
export type Urgency = 'command' | 'hint' | 'wish';

/** The turn of a project, or of a page of the project list. */
export interface Turn {
  readonly id: string;
  /** Which page of the project list, from 0; undefined: a project. */
  readonly page: number | undefined;
  activity: ProjectActivity | undefined;
  history: ArrivalHistory | undefined;
  /** When this process last learned of its activity, milliseconds since the epoch; undefined: never. */
  learnedAtMs: number | undefined;
  /** Expected transitions per millisecond, at any time; for a page, those of all projects on it. */
  cold: number;
  /** Virtual time between two readings: the smaller it is, the more often they come. */
  stride: number;
  /** Virtual time of the next reading. */
  finish: number;
  isUnderWay: boolean;
  /** What asks for a reading that cannot begin yet: one is under way, or the last one has failed. */
  wanted: Urgency | undefined;
  /** Under way because of a command, a hint or a wish. */
  isPressing: boolean;
  /** It has begun somewhere within its stride; turns that start together without that would stay together for ever. */
  isSpread: boolean;
  /** The last poll left events that did not reach the bus. */
  hasLeftovers: boolean;
  /** When the last reading ended, milliseconds since the epoch. */
  polledAtMs: number;
  /** Consecutive failures; 0 after a reading that succeeded. */
  failureCount: number;
}

/** `cold`: expected transitions per millisecond; the stride goes with its square root. */
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
    isUnderWay: false,
    wanted: undefined,
    isPressing: false,
    isSpread: false,
    hasLeftovers: false,
    polledAtMs: Number.NEGATIVE_INFINITY,
    failureCount: 0,
  };
}
