/** Commands, hints and wishes ask for a reading of a project before its turn by weight. */

import { type OrderByUrgency, strongerOf } from './queues/order-by-urgency.ts';
import type { Turn, Urgency } from './queues/turn.ts';

export interface UrgentReadings {
  /** Asks for a reading of the project. If it has no turn yet, a command or a wish waits until it has one. */
  ask(projectId: string, urgency: Urgency): void;
  /** Asks for what was wanted of these projects before they had their turns. */
  welcome(projectIds: readonly string[]): void;
  /** Asks for the reading that was wanted while the previous one was under way or had failed. */
  askAgain(turn: Turn): void;
}

export interface WishLimits {
  /** A wish for a project is fulfilled at most once in this time. */
  readonly pollIntervalMsMin: number;
}

/**
 * At most this many projects without a turn keep their requests. Any other one is read within two rounds from its first
 * sight, like every newcomer.
 */
const EARLY_REQUESTS_MAX = 1_000;

export function createUrgentReadings(
  byId: ReadonlyMap<string, Turn>,
  byUrgency: OrderByUrgency,
  limits: WishLimits,
): UrgentReadings {
  /** A process that has just started takes commands and wishes before it has read the list. */
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

  /** A hint comes again with the list, also when the project has its turn by then. */
  function askEarly(projectId: string, urgency: Urgency): void {
    if (urgency === 'hint') return;
    if (early.has(projectId) || early.size < EARLY_REQUESTS_MAX)
      early.set(projectId, strongerOf(early.get(projectId), urgency));
  }

  /** Commands and hints know of something new, so their projects may be read at any time. */
  function askFor(turn: Turn, urgency: Urgency): void {
    const isWish = urgency === 'wish';
    byUrgency.ask(turn, urgency, isWish ? turn.polledAtMs + limits.pollIntervalMsMin : 0);
    turn.wanted = undefined;
  }
}
