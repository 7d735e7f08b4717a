/**
 * Keeps the turns for which an invocation goes on, so that its need is derived several times a second without a look at
 * every project: those that it has not read yet, and those where something is open, runs or waits to be published.
 */

import type { PollingNeed } from './polling-need.ts';
import type { Turn } from './queues/turn.ts';

export interface NeededTurns {
  /** Follows a turn that was added, given out, or whose reading has ended. It costs the same however many turns there are. */
  follow(turn: Turn): void;
  forget(turn: Turn): void;
  /** Says whether all were read since `sinceMs`. Only the first call for an invocation looks at all turns. */
  haveBeenRead(sinceMs: number): boolean;
  /** Returns what there is to do in single projects. It looks at those where something is open or runs. */
  work(nowMs: number): Pick<PollingNeed, 'hasWork' | 'expectedTransitionsPerMs'>;
}

/** `hotIntensityOf` returns the transitions per millisecond that the open operation and running computes of a turn add. */
export function createNeededTurns(
  turns: ReadonlyMap<string, Turn>,
  hotIntensityOf: (turn: Turn, nowMs: number) => number,
): NeededTurns {
  /** The invocation for which `unread` was determined began at this time. */
  let countedSinceMs = Number.NaN;
  let unread = new Set<Turn>();
  const active = new Set<Turn>();

  return {
    follow(turn) {
      if (isUnread(turn, countedSinceMs)) unread.add(turn);
      else unread.delete(turn);
      if (isActive(turn)) active.add(turn);
      else active.delete(turn);
    },
    forget(turn) {
      unread.delete(turn);
      active.delete(turn);
    },
    haveBeenRead(sinceMs) {
      if (sinceMs !== countedSinceMs) {
        countedSinceMs = sinceMs;
        unread = new Set([...turns.values()].filter((turn) => isUnread(turn, sinceMs)));
      }
      return unread.size === 0;
    },
    work(nowMs) {
      let hasWork = false;
      let expectedTransitionsPerMs = 0;
      for (const turn of active) {
        hasWork ||= turn.isPressing || turn.hasLeftovers;
        expectedTransitionsPerMs += hotIntensityOf(turn, nowMs);
      }
      return { hasWork, expectedTransitionsPerMs };
    },
  };
}

/** A project that fails has been tried; it must not keep the others' poller alive. */
function isUnread({ polledAtMs, failureCount }: Turn, sinceMs: number): boolean {
  return polledAtMs < sinceMs && failureCount === 0;
}

function isActive({ isPressing, hasLeftovers, activity }: Turn): boolean {
  if (isPressing || hasLeftovers) return true;
  return activity !== undefined && (activity.openSinceMs !== undefined || activity.activeSinceMs.length > 0);
}
