/**
 * No turn waits longer than four rounds, whatever is urgent. A round is the time in which the rate limit lets every turn be
 * read once: n turns (projects, and pages of the project list) at R requests a minute take n / R minutes. A project waits
 * for up to sixteen rounds while the project list is expected to show every change of it, and for up to 52 while most
 * permits go to projects that have moved.
 *
 * The theorem. From the end of one reading of a project to the beginning of its next one passes at most
 * cap = max(one minute, its rounds, poll interval + two rounds), and from the moment at which a project becomes known to
 * this process to the beginning of its first reading at most two rounds, if
 *   - R permits a minute reach the planner, and every second one is served by `due` whenever that names a turn;
 *   - the turn neither rests after a failure nor is under way; n is the largest number of turns during the wait.
 * After a failure a project rests, by its own back-off, and the cap counts on: from the end of its rest at most two rounds
 * pass. Where only a share s of the permits comes (other requests spend the same limit), the two rounds that are served
 * by permits take 1 / s times as long: cap + two rounds x (1 / s - 1), which is never more than its rounds at the pace
 * at which permits really come, or the minimum of a small account as much later.
 * What else is urgent does not appear in it. A reading that was cut short before anything was read counts as none.
 *
 * The proof. A turn becomes *late* at its first sight, and once all but two rounds of its cap have passed since its last
 * reading. A cap that falls makes a turn late at that moment, so the turn waits at most two rounds longer from then. Late turns form a queue: a turn that becomes late joins at the end, and has to be read within two rounds from
 * then. The k-th is safe when 2k permits fit into the time that it has left. It is safe when it joins, because k <= n. While
 * `due` names no turn, the first has more time left than all late turns need together, and the others have more time than
 * the first: all are safe. While it names the first, two permits later every turn has two permits less time and one place
 * less before it: all stay safe. Where turns are removed, `due` only names a turn earlier.
 */

import { createPriorityQueue, type PriorityQueue } from './priority-queue.ts';
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

/** Says how far the project list shows what happens in the projects. */
export interface ListShowing {
  /** Returns the share of the transitions, from 0 to 1, that the list is expected to show. */
  recall(): number;
  /** Returns when the list last showed a transition, in milliseconds since the epoch. */
  shownAtMs(): number;
  /**
   * Returns the transitions per millisecond that are expected of all projects together, without what is open or running. It is
   * 0 where none is expected.
   */
  expectedPerMs(): number;
  /** Returns the share of the permits, from 0 to 1, that go to projects which the list shows to have moved, and to other urgent ones. */
  urgentShare(): number;
}

export interface DeadlineLimits {
  readonly requestsPerMinute: number;
  readonly pollIntervalMsMin: number;
}

/** A turn waits at most this many rounds. By the square root alone, a few projects would wait for a dozen. */
const STALENESS_ROUNDS_MAX = 4;

/**
 * A project waits at most this many rounds where the project list is expected to show every change of it. Its readings
 * for the deadline then take a sixteenth of the permits; still longer waits gain nothing that can be measured.
 */
const LISTED_ROUNDS_MAX = 16;

/**
 * The rounds beyond four are counted in the permits that urgent projects leave, because only these are divided between pages and deadlines.
 * So in an account that needs most of its permits for what moves, deadlines cost the pages no more than elsewhere. At least this share
 * counts as left, which makes 52 rounds at most.
 */
const LEFT_SHARE_MIN = 0.25;

/** Where the list is expected to miss this share of the transitions or more, projects wait no longer than other turns. */
const MISSED_SHARE_MAX = 0.01;

/** In a small account a round takes seconds, and a minute is still soon. */
const STALENESS_MS_MIN = 60_000;

/**
 * The list is silent once it should have shown this many transitions. They come in sessions of about four, so a list that shows everything
 * is silent for that long once in a hundred times. With a wait of four rounds alone, a quiet account of 500 projects spent a fifth of the
 * permits on looking for what the list never missed.
 */
const SILENT_TRANSITIONS = 20;

const SHOWS_NOTHING: ListShowing = {
  recall: () => 0,
  shownAtMs: () => Number.NEGATIVE_INFINITY,
  expectedPerMs: () => Number.POSITIVE_INFINITY,
  urgentShare: () => 0,
};

/** `due` is served with every second permit, so commands and busy projects never wait behind a crowd of quiet ones. */
const PERMITS_PER_DUE_TURN = 2;

/** `turnCount` returns the number of all turns, including those that are under way or rest. */
export function createReadingDeadlines(
  limits: DeadlineLimits,
  turnCount: () => number,
  list: ListShowing = SHOWS_NOTHING,
): ReadingDeadlines {
  /** The list shows what happens in the projects of the second queue, so they may wait for more rounds. */
  const watched = createPriorityQueue(slotOfTurn);
  const listed = createPriorityQueue(slotOfTurn);
  const late = createPriorityQueue(slotOfTurn);
  const watchedCapMs = () => capMs(limits, turnCount(), STALENESS_ROUNDS_MAX);
  /** A list that shows nothing at all any more is noticed by its silence, which lasts at least four rounds. */
  const silentAfterMs = () => Math.max(watchedCapMs(), SILENT_TRANSITIONS / list.expectedPerMs());
  const listedCapMs = (nowMs: number) =>
    nowMs - list.shownAtMs() > silentAfterMs()
      ? watchedCapMs()
      : capMs(limits, turnCount(), listedRounds(list.recall(), list.urgentShare()));
  const hasWaited = (turn: Turn, sinceMs: number, nowMs: number) =>
    nowMs - sinceMs >= (isListed(turn) ? listedCapMs(nowMs) : watchedCapMs());
  const lateAfterMs = (cap: number) => cap - lateMsMax(limits, turnCount());

  return {
    follow(turn, sinceMs) {
      leave(turn);
      (isListed(turn) ? listed : watched).set(turn, sinceMs);
    },
    welcome(turn, nowMs) {
      leave(turn);
      late.set(turn, nowMs);
    },
    leave,
    due(nowMs) {
      moveLate(watched, nowMs - lateAfterMs(watchedCapMs()), nowMs);
      moveLate(listed, nowMs - lateAfterMs(listedCapMs(nowMs)), nowMs);
      const first = late.first();
      if (first === undefined) return undefined;
      const leftMs = first.priority + lateMsMax(limits, turnCount()) - nowMs;
      const neededMs = late.size * PERMITS_PER_DUE_TURN * permitMs(limits);
      return leftMs <= neededMs ? first.item : undefined;
    },
    isOverdue(nowMs) {
      const first = late.first();
      if (first !== undefined) return hasWaited(first.item, first.item.polledAtMs, nowMs);
      return [watched.first(), listed.first()].some(
        (entry) => entry !== undefined && hasWaited(entry.item, entry.priority, nowMs),
      );
    },
    lateAfterMs: () => lateAfterMs(watchedCapMs()),
  };

  function leave(turn: Turn): void {
    for (const queue of [watched, listed, late]) queue.delete(turn);
  }

  function moveLate(early: PriorityQueue<Turn>, readBeforeMs: number, nowMs: number): void {
    for (let each = early.shiftUpTo(readBeforeMs); each; each = early.shiftUpTo(readBeforeMs))
      late.set(each.item, nowMs);
  }
}

/** The list shows no failure of a reading, no change of a page of its own, and not that an open operation takes too long. */
function isListed({ page, failureCount, activity }: Turn): boolean {
  return page === undefined && failureCount === 0 && activity?.openSinceMs === undefined;
}

/** The rounds grow with one over the square root of what the list is expected to miss, as intervals by weight do. */
function listedRounds(recall: number, urgentShare: number): number {
  const rounds = STALENESS_ROUNDS_MAX * Math.sqrt(MISSED_SHARE_MAX / (1 - recall));
  const furtherRounds =
    Math.min(LISTED_ROUNDS_MAX, Math.max(STALENESS_ROUNDS_MAX, rounds)) - STALENESS_ROUNDS_MAX;
  return STALENESS_ROUNDS_MAX + furtherRounds / Math.max(LEFT_SHARE_MIN, 1 - urgentShare);
}

/** Returns the time between two permits, when only the rate limit says when they come. */
function permitMs({ requestsPerMinute }: DeadlineLimits): number {
  return 60_000 / requestsPerMinute;
}

/** Returns two rounds: enough time to read every turn with the permits that `due` is served with. */
function lateMsMax(limits: DeadlineLimits, turnCount: number): number {
  return PERMITS_PER_DUE_TURN * turnCount * permitMs(limits);
}

function capMs(limits: DeadlineLimits, turnCount: number, rounds: number): number {
  const politeMs = limits.pollIntervalMsMin + lateMsMax(limits, turnCount);
  return Math.max(STALENESS_MS_MIN, rounds * turnCount * permitMs(limits), politeMs);
}
