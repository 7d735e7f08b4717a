/** Orders the turns by weight: the turn with the smallest virtual finish comes next, and comes again one stride later. */

import { createPriorityQueue } from './priority-queue.ts';
import { slotOfTurn, type Turn } from './turn.ts';

export interface OrderByWeight {
  /** Fixes when the turn comes, in virtual time from now. At 0 it comes before all turns whose time is still to come. */
  assign(turn: Turn, virtualDelay: number): void;
  /**
   * Fixes the time of the turn one stride after its last reading began, so that turns come evenly also when their readings overlap. Counted
   * from the ends of their readings, two turns that overlap would come together from then on. A turn that is late comes before all that
   * come now, however many they are.
   */
  comeAgain(turn: Turn): void;
  /** Fixes the time of the turn somewhere within its stride, so that turns that begin together do not stay together. */
  spread(turn: Turn): void;
  /** Lets the turn wait here until it is taken. */
  join(turn: Turn): void;
  /** Lets a waiting turn wait for this multiple of the wait that it has left. */
  scale(turn: Turn, factor: number): void;
  /** Takes the turn out, because it is gone or rests, or because its reading begins or has ended. */
  leave(turn: Turn): void;
  /** Notes that the turn is being read from now on, and will come again one stride from now. */
  begin(turn: Turn): void;
  /** Returns the turn that comes next, or undefined when no turn waits here. */
  first(): Turn | undefined;
  /** Says whether this waiting turn comes before every turn that is being read, were their readings over. */
  isAheadOfReadings(turn: Turn): boolean;
  /** Returns the virtual time, which passes by one stride of a turn between two of its readings. */
  virtualTime(): number;
  /** Takes out the next turn, or returns undefined when no turn waits here. */
  take(): Turn | undefined;
}

/** The fractional parts of multiples of the golden ratio are spaced evenly, whatever their number. */
const GOLDEN = 0.618_033_988_75;

export function createOrderByWeight(): OrderByWeight {
  const byFinish = createPriorityQueue(slotOfTurn);
  const underWay = createPriorityQueue(slotOfTurn);
  let virtualTime = 0;
  let spreadCount = 0;

  return {
    assign,
    comeAgain(turn) {
      turn.finish = turn.begunAt + turn.stride;
    },
    spread(turn) {
      turn.isSpread = true;
      assign(turn, turn.stride * ((spreadCount++ * GOLDEN) % 1));
    },
    join: (turn) => byFinish.set(turn, turn.finish),
    scale(turn, factor) {
      if (!byFinish.has(turn)) return;
      assign(turn, Math.max(0, turn.finish - virtualTime) * factor);
      byFinish.set(turn, turn.finish);
    },
    leave(turn) {
      byFinish.delete(turn);
      underWay.delete(turn);
    },
    begin(turn) {
      turn.begunAt = virtualTime;
      underWay.set(turn, virtualTime + turn.stride);
    },
    first: () => byFinish.first()?.item,
    isAheadOfReadings: ({ finish }) => finish <= underWay.firstPriority(),
    virtualTime: () => virtualTime,
    take() {
      const first = byFinish.shift();
      if (first === undefined) return undefined;
      virtualTime = Math.max(virtualTime, first.priority);
      return first.item;
    },
  };

  function assign(turn: Turn, virtualDelay: number): void {
    turn.finish = virtualTime + virtualDelay;
  }
}
