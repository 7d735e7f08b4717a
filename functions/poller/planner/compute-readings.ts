/**
 * Decides when the list of a project's computes is read. It says when each running compute can be suspended next, so that
 * until then fewer polls are spent on its suspend, and more of them right after. A reading costs a request, so it pays
 * where it spares more polls than that.
 */

import { staleAtMs } from './activity/expected-suspends.ts';
import type { ProjectStrides } from './project-strides.ts';
import type { OrderByWeight } from './queues/order-by-weight.ts';
import { createPriorityQueue } from './queues/priority-queue.ts';
import { slotOfTurn, type Turn } from './queues/turn.ts';

export interface ComputeReadings {
  /** Decides anew when the computes of the project are read, because something was learned of it. */
  follow(turn: Turn, nowMs: number): void;
  forget(turn: Turn): void;
  /** Returns the project whose computes are read with the permit of this moment, or undefined when none is worth it. */
  take(nowMs: number): Turn | undefined;
  /** The reading has ended. */
  end(turn: Turn, nowMs: number): void;
}

export interface ComputeReadingLimits {
  readonly pollIntervalMsMin: number;
  /** Computes are never read when this is false. */
  readonly readsComputes?: boolean | undefined;
}

/** Readings of computes get at most this share of the permits, so that they cannot crowd out the polls. */
const SHARE_MAX = 0.3;

/** The share of this many permits can be saved up. */
const SAVED_MAX = 3;

/**
 * A reading has to spare more polls than this. Some of what it spares is spent around the instant that it names. Where without
 * the reading the project would be polled less than twice as often as with it, more has to be spared: one and a half times as often needs
 * twice of this. In an account of 5,000 busy projects the mean delay was a twentieth longer without that, and with 50 projects a reading
 * spares dozens of polls.
 */
const SPARED_POLLS_MIN = 1.5;

/**
 * Without the reading the project would have to be polled at least this many times as often as with it. A smaller
 * difference is chance, as in an account in which every project is polled as often as it may be anyway.
 */
const POLLS_RATIO_MIN = 1.5;

/** A project of which a reading does not pay is considered again after this time. */
const RECONSIDER_AFTER_MS = 20_000;

/** While lists of computes are not believed, one of the account is read at most once in this time, to try again. */
const TRIAL_INTERVAL_MS = 600_000;

/** The pace of the turns is measured over this time, and each measurement counts for a fifth. */
const PACE_MS = 10_000;
const PACE_SHARE = 0.2;

/** `recall` returns the share of transitions, from 0 to 1, that the project list shows anyway. */
export function createComputeReadings(
  strides: Pick<ProjectStrides, 'suspendStridesOf' | 'suspendableAtMs' | 'areListsTrusted' | 'quietMs'>,
  byWeight: Pick<OrderByWeight, 'virtualTime'>,
  limits: ComputeReadingLimits,
  recall: () => number,
): ComputeReadings {
  const due = createPriorityQueue(slotOfTurn);
  const underWay = new Set<Turn>();
  const pace = createPace(byWeight);
  let saved = 1;
  let trialAtMs = Number.NEGATIVE_INFINITY;

  return {
    follow,
    forget(turn) {
      due.delete(turn);
      underWay.delete(turn);
    },
    take(nowMs) {
      pace.note(nowMs);
      saved = Math.min(SAVED_MAX, saved + SHARE_MAX);
      if (saved < 1) return undefined;
      for (let first = due.shiftUpTo(nowMs); first; first = due.shiftUpTo(nowMs)) {
        if (mayRead(first.item, nowMs)) return begin(first.item, nowMs);
        due.set(first.item, nowMs + RECONSIDER_AFTER_MS);
      }
      return undefined;
    },
    end(turn, nowMs) {
      underWay.delete(turn);
      follow(turn, nowMs);
    },
  };

  function begin(turn: Turn, nowMs: number): Turn {
    saved -= 1;
    trialAtMs = nowMs;
    underWay.add(turn);
    return turn;
  }

  function follow(turn: Turn, nowMs: number): void {
    due.delete(turn);
    if (limits.readsComputes !== true || underWay.has(turn)) return;
    const { activeIds = [], activeSinceMs = [] } = turn.activity ?? {};
    let atMs = Number.POSITIVE_INFINITY;
    for (const [place, id] of activeIds.entries()) {
      const known = turn.computes.get(id);
      const sinceMs = activeSinceMs[place] ?? nowMs;
      atMs = Math.min(atMs, known === undefined ? strides.suspendableAtMs(sinceMs, nowMs) : staleAtMs(known));
    }
    if (Number.isFinite(atMs)) due.set(turn, Math.max(atMs, turn.computesRestUntilMs));
  }

  function mayRead(turn: Turn, nowMs: number): boolean {
    if (!strides.areListsTrusted() && nowMs < trialAtMs + TRIAL_INTERVAL_MS) return false;
    return isWorthIt(turn, nowMs);
  }

  /** Compares the polls that the project gets for its suspends with those that it gets while none is expected. */
  function isWorthIt(turn: Turn, nowMs: number): boolean {
    const { watched, unwatched } = strides.suspendStridesOf(turn, nowMs);
    const pollsPerMs = (stride: number) => 1 / Math.max(limits.pollIntervalMsMin, stride / pace.perMs());
    const [spent, needed] = [pollsPerMs(watched), pollsPerMs(unwatched)];
    if (spent < POLLS_RATIO_MIN * needed) return false;
    const sparedPolls = strides.quietMs() * (spent - needed) * (1 - recall());
    return sparedPolls * Math.min(1, spent / needed - 1) > SPARED_POLLS_MIN;
  }
}

/** Measures how much virtual time passes in a millisecond: a turn of this stride would be read once in it. */
function createPace({ virtualTime }: Pick<OrderByWeight, 'virtualTime'>) {
  let notedAtMs = Number.NaN;
  let noted = 0;
  let perMs = 0;
  return {
    note(nowMs: number): void {
      if (nowMs - notedAtMs < PACE_MS) return;
      const latest = (virtualTime() - noted) / (nowMs - notedAtMs);
      if (!Number.isNaN(notedAtMs)) perMs = perMs === 0 ? latest : perMs + PACE_SHARE * (latest - perMs);
      [notedAtMs, noted] = [nowMs, virtualTime()];
    },
    perMs: () => perMs,
  };
}
