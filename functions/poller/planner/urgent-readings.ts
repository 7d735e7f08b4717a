/** Commands, hints and wishes ask for a reading of a project before its turn by weight. */

import { type OrderByUrgency, strongerOf } from './queues/order-by-urgency.ts';
import type { Turn, Urgency } from './queues/turn.ts';

export interface UrgentReadings {
  /** Asks for a reading of the project. Nothing happens when it has no turn. */
  ask(projectId: string, urgency: Urgency): void;
  /** Asks for the reading that was wanted while the previous one was under way or had failed. */
  askAgain(turn: Turn): void;
}

export interface WishLimits {
  /** A wish for a project is fulfilled at most once in this time. */
  readonly pollIntervalMsMin: number;
}

export function createUrgentReadings(
  byId: ReadonlyMap<string, Turn>,
  byUrgency: OrderByUrgency,
  limits: WishLimits,
): UrgentReadings {
  return {
    ask(projectId, urgency) {
      const turn = byId.get(projectId);
      if (turn === undefined) return;
      if (turn.isUnderWay || turn.failureCount > 0) turn.wanted = strongerOf(turn.wanted, urgency);
      else askFor(turn, urgency);
    },
    askAgain(turn) {
      if (turn.wanted !== undefined) askFor(turn, turn.wanted);
    },
  };

  /** Commands and hints know of something new, so their projects may be read at any time. */
  function askFor(turn: Turn, urgency: Urgency): void {
    const isWish = urgency === 'wish';
    byUrgency.ask(turn, urgency, isWish ? turn.polledAtMs + limits.pollIntervalMsMin : 0);
    turn.wanted = undefined;
  }
}
