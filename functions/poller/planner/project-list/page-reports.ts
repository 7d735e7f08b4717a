/**
 * Decides what the reading of a page of the project list means: the turns of the pages follow the list as it grows
 * and shrinks, and come again by the hints that they give.
 */

import type { HintFields } from '../hints/hint-fields.ts';
import { type BackoffLimits, backoffMs, endReading, restAfterFailure } from '../queues/end-reading.ts';
import type { Turn } from '../queues/turn.ts';
import { joinFirst, leaveQueues, type TurnQueues } from '../queues/turn-queues.ts';
import type { PageEnd } from './page-cursors.ts';
import { type KnownPage, latelyShown, listedStride, pageIntensity, withReading } from './page-intensity.ts';
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
  /** Returns the transitions per millisecond that are expected of a mean page with projects, and infinity while the list is not shown. */
  meanPerMs(): number;
}

interface PageReading extends PageEnd {
  /** The transitions per millisecond that are expected of all projects on the page together, by their history. */
  readonly cold: number;
  /** This many projects have moved since the page was read before. */
  readonly movedCount: number;
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
  const known = new Map<Turn, KnownPage>();
  /** It is kept because every report of a project asks for it, and a list may have hundreds of pages. */
  let meanPerMs = Number.POSITIVE_INFINITY;

  return {
    report(page, shown, nowMs) {
      if (shown !== undefined) followList(page, shown, nowMs);
      const turn = list.turns[page];
      if (turn === undefined) return;
      endReading(queues, turn, { hasFailed: shown === undefined, nowMs });
      if (shown === undefined) {
        failing.add(turn);
        return restAfterFailure(queues, turn, nowMs + backoffMs(limits, turn.failureCount));
      }
      failing.delete(turn);
      learn(turn, shown, nowMs);
      queueAgain(turn, nowMs);
    },
    haveShownAllSince(sinceMs) {
      const { turns } = list;
      const areRead = turns.every((turn) => turn.polledAtMs >= sinceMs && !turn.isUnderWay);
      return turns.length > 0 && areRead && hints.provenRecall() >= RECALL_PROVEN;
    },
    areShown,
    meanPerMs: () => (areShown() ? meanPerMs : Number.POSITIVE_INFINITY),
  };

  function areShown(): boolean {
    return list.turns.length > 0 && failing.size === 0 && limits.listing?.hintIntervalMsMin !== undefined;
  }

  /** A page that has shown itself is read at once. */
  function followList(page: number, end: PageEnd, nowMs: number): void {
    const { added, gone } = list.take(page, end);
    for (const turn of gone) {
      leaveQueues(queues, turn);
      failing.delete(turn);
      known.delete(turn);
    }
    for (const turn of added) {
      queues.deadlines.welcome(turn, nowMs);
      joinFirst(queues, turn);
    }
  }

  function learn(turn: Turn, { cold, movedCount }: PageReading, nowMs: number): void {
    const page = { coldPerMs: cold, readings: withReading(known.get(turn)?.readings, movedCount, nowMs) };
    known.set(turn, page);
    turn.cold = pageIntensity(page, latelyShown(known.values()));
    // The last page is empty: the next project will stand on it.
    const filled = list.turns.filter((each) => each.cold > 0);
    const sum = filled.reduce((total, each) => total + each.cold, 0);
    meanPerMs = filled.length === 0 ? Number.POSITIVE_INFINITY : sum / filled.length;
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
    turn.stride = listedStride(turn.cold, hints.recall());
    byWeight.comeAgain(turn);
    byWeight.join(turn);
  }
}
