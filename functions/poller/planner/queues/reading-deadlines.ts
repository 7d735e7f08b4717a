/**
 * No turn waits longer than four rounds, whatever is urgent. A round is the time in which the rate limit lets every turn be
 * read once: n turns (projects, and pages of the project list) at R requests a minute take n / R minutes.
 *
 * The theorem. From the end of one reading of a project to the beginning of its next one passes at most
 * cap = max(one minute, four rounds, poll interval + two rounds), and from the moment at which a project becomes known to
 * this process to the beginning of its first reading at most two rounds, if
 *   - R permits a minute reach the planner, and every second one is served by `due` whenever that names a turn;
 *   - the turn neither rests after a failure nor is under way; n is the largest number of turns during the wait.
 * After a failure a project rests, by its own back-off, and the cap counts on: from the end of its rest at most two rounds
 * pass. Where only a share s of the permits comes (other requests spend the same limit), the two rounds that are served
 * by permits take 1 / s times as long: cap + two rounds x (1 / s - 1), which is never more than four rounds at the pace
 * at which permits really come, or the minimum of a small account as much later.
 * What else is urgent does not appear in it.
 *
 * The proof. A turn becomes *late* at its first sight, and once all but two rounds of the cap have passed since its last
 * reading. Late turns form a queue: a turn that becomes late joins at the end, and has to be read within two rounds from
 * then. The k-th is safe when 2k permits fit into the time that it has left. It is safe when it joins, because k <= n. While
 * `due` names no turn, the first has more time left than all late turns need together, and the others have more time than
 * the first: all are safe. While it names the first, two permits later every turn has two permits less time and one place
 * less before it: all stay safe. Where turns are removed, `due` only names a turn earlier.
 */

import { createPriorityQueue } from './priority-queue.ts';
import { slotOfTurn, type Turn } from './turn.ts';

export interface ReadingDeadlines {
  /** Gives a deadline to a turn that was read at `sinceMs` and may be read again. */
  follow(turn: Turn, sinceMs: number): void;
  /** Gives a deadline to a turn that this process has never read: it is late at once. */
  welcome(turn: Turn, nowMs: number): void;
  /** Removes the deadline of a turn that is being read, rests or is gone. */
  leave(turn: Turn): void;
  /** Returns the turn that has to be read with one of the next two permits, so that all late turns are read in time. */
  due(nowMs: number): Turn | undefined;
  /** Says whether the first turn has waited for the whole cap, or was never read. */
  isOverdue(nowMs: number): boolean;
  /** Returns how long after its last reading a turn becomes late, in milliseconds. */
  lateAfterMs(): number;
}

export interface DeadlineLimits {
  readonly requestsPerMinute: number;
  readonly pollIntervalMsMin: number;
}

/** A turn waits at most this many rounds. By the square root alone, a few projects would wait for a dozen. */
const STALENESS_ROUNDS_MAX = 4;

/** In a small account a round takes seconds, and a minute is still soon. */
const STALENESS_MS_MIN = 60_000;

/** `due` is served with every second permit, so commands and busy projects never wait behind a crowd of quiet ones. */
const PERMITS_PER_DUE_TURN = 2;

/** `turnCount` returns the number of all turns, including those that are under way or rest. */
export function createReadingDeadlines(limits: DeadlineLimits, turnCount: () => number): ReadingDeadlines {
  const early = createPriorityQueue(slotOfTurn);
  const late = createPriorityQueue(slotOfTurn);
  const lateAfterMs = () => capMs(limits, turnCount()) - lateMsMax(limits, turnCount());

  return {
    follow(turn, sinceMs) {
      late.delete(turn);
      early.set(turn, sinceMs);
    },
    welcome(turn, nowMs) {
      early.delete(turn);
      late.set(turn, nowMs);
    },
    leave(turn) {
      early.delete(turn);
      late.delete(turn);
    },
    due(nowMs) {
      moveLate(nowMs);
      const first = late.first();
      if (first === undefined) return undefined;
      const leftMs = first.priority + lateMsMax(limits, turnCount()) - nowMs;
      const neededMs = late.size * PERMITS_PER_DUE_TURN * permitMs(limits);
      return leftMs <= neededMs ? first.item : undefined;
    },
    isOverdue(nowMs) {
      const sinceMs = late.first()?.item.polledAtMs ?? early.first()?.priority ?? nowMs;
      return nowMs - sinceMs >= capMs(limits, turnCount());
    },
    lateAfterMs,
  };

  function moveLate(nowMs: number): void {
    const readBeforeMs = nowMs - lateAfterMs();
    for (let first = early.first(); first !== undefined; first = early.first()) {
      if (first.priority > readBeforeMs) return;
      early.delete(first.item);
      late.set(first.item, nowMs);
    }
  }
}

/** Returns the time between two permits, when only the rate limit says when they come. */
function permitMs({ requestsPerMinute }: DeadlineLimits): number {
  return 60_000 / requestsPerMinute;
}

/** Returns two rounds: enough time to read every turn with the permits that `due` is served with. */
function lateMsMax(limits: DeadlineLimits, turnCount: number): number {
  return PERMITS_PER_DUE_TURN * turnCount * permitMs(limits);
}

function capMs(limits: DeadlineLimits, turnCount: number): number {
  const politeMs = limits.pollIntervalMsMin + lateMsMax(limits, turnCount);
  return Math.max(STALENESS_MS_MIN, STALENESS_ROUNDS_MAX * turnCount * permitMs(limits), politeMs);
}
