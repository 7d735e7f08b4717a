/**
 * Decides what the reading of a page of the project list means: the turns of the pages follow the list as it grows
 * and shrinks, and come again by the hints that they give.
 */

import type { HintFields } from '../hints/hint-fields.ts';
import { type BackoffLimits, backoffMs, endReading, restAfterFailure } from '../queues/end-reading.ts';
import type { Turn } from '../queues/turn.ts';
import { joinFirst, leaveQueues, type TurnQueues } from '../queues/turn-queues.ts';
import type { PageEnd } from './page-cursors.ts';
import type { ListingLimits, PageTurns } from './page-turns.ts';

export interface PageReports {
  /** Takes the end of a reading of the page. `shown` is undefined when the reading failed. */
  report(page: number, shown: PageReading | undefined, nowMs: number): void;
  /**
   * Says whether the list has proved that its fields show almost every transition, and each of its pages was read
   * since then.
   */
  haveShownAllSince(sinceMs: number): boolean;
  /** Says whether the list is read for its hints and the last reading of each page has succeeded. */
  areShown(): boolean;
}

interface PageReading extends PageEnd {
  /** This is the number of transitions per millisecond that is expected of all projects on the page together. */
  readonly cold: number;
}

export interface PageLimits extends BackoffLimits {
  /** The project list is never read when this is undefined. */
  readonly listing: ListingLimits | undefined;
}

/** The list has proved itself once nine tenths of the transitions of a project moved a field of its row. */
const RECALL_PROVEN = 0.9;

export function createPageReports(
  list: PageTurns,
  queues: TurnQueues,
  hints: Pick<HintFields, 'recall' | 'provenRecall'>,
  limits: PageLimits,
): PageReports {
  const failing = new Set<Turn>();

  return {
    report(page, shown, nowMs) {
      if (shown !== undefined) followList(page, shown, nowMs);
      const turn = list.turns[page];
      if (turn === undefined) return;
      endReading(queues, turn, { hasFailed: shown === undefined, nowMs });
      if (shown === undefined) failing.add(turn);
      else failing.delete(turn);
      if (shown === undefined)
        return restAfterFailure(queues, turn, nowMs + backoffMs(limits, turn.failureCount));
      turn.cold = shown.cold;
      queueAgain(turn, nowMs);
    },
    haveShownAllSince(sinceMs) {
      const { turns } = list;
      const areRead = turns.every((turn) => turn.polledAtMs >= sinceMs && !turn.isUnderWay);
      return turns.length > 0 && areRead && hints.provenRecall() >= RECALL_PROVEN;
    },
    areShown: () =>
      list.turns.length > 0 && failing.size === 0 && limits.listing?.hintIntervalMsMin !== undefined,
  };

  /** A page that has shown itself is read at once. */
  function followList(page: number, end: PageEnd, nowMs: number): void {
    const { added, gone } = list.take(page, end);
    for (const turn of gone) {
      leaveQueues(queues, turn);
      failing.delete(turn);
    }
    for (const turn of added) {
      queues.deadlines.welcome(turn, nowMs);
      joinFirst(queues, turn);
    }
  }

  /** The page is read again by its weight as a source of hints, and after the usual interval at the latest. */
  function queueAgain(turn: Turn, nowMs: number): void {
    const { byWeight, rests, deadlines } = queues;
    const intervalMs = list.intervalMs();
    // Before its usual interval is over, there is no reason to hurry.
    deadlines.follow(turn, nowMs + Math.max(0, intervalMs - deadlines.lateAfterMs()));
    rests.set(turn, nowMs + intervalMs);
    // A page without projects, the last one, gives no hints: it is read for its age alone.
    if (limits.listing?.hintIntervalMsMin === undefined || turn.cold === 0) return;
    const recall = hints.recall();
    turn.stride = Math.sqrt((1 - recall) / (recall * turn.cold));
    byWeight.assign(turn, turn.stride);
    byWeight.join(turn);
  }
}
