/**
 * Notes which transitions of the workload were detected, and when. A detected status counts for all transitions
 * before it.
 */

import type { Workload, WorkOperation } from '../world/workload.ts';
import { operationIdOf } from './virtual-upstream.ts';

export interface Detections {
  note(operationId: string, status: string, nowS: number): void;
  /**
   * Ends the measurement. A transition that is not published by now counts with the time for which it has waited. A
   * later detection still counts as complete.
   */
  close(): void;
  score(): Score;
}

export interface Score {
  /** Holds the seconds from each transition to its detection, in rising order. */
  readonly delaysS: Float64Array;
  /**
   * Counts the transitions that were detected themselves. The other ones happened between two reads and were passed
   * over.
   */
  readonly stateCount: number;
  /** Counts the transitions that were not published when the measurement ended. */
  readonly waitingCount: number;
  /**
   * The last state was detected for this share of the operations that have a transition. Anything below 1 is a loss.
   */
  readonly complete: number;
}

export function createDetections(workload: Workload, measuredFromS: number = workload.startS): Detections {
  const { endS } = workload;
  const isMeasured = (atS: number) => atS >= measuredFromS && atS < endS;
  const states = new Map<string, WorkOperation['states']>();
  const reachedPlaces = new Map<string, number>();
  workload.operations.forEach((own, project) => {
    own.forEach((operation, place) => {
      const moves = operation.states.some(({ atS }) => isMeasured(atS));
      if (moves) states.set(operationIdOf(project, place), operation.states);
    });
  });
  const delaysS: number[] = [];
  let stateCount = 0;
  let isClosed = false;
  let waitingCount = 0;

  return {
    note(operationId, status, nowS) {
      const own = states.get(operationId);
      if (own === undefined) return;
      const reached = own.findLastIndex((state) => state.status === status && state.atS <= nowS);
      const before = reachedPlaces.get(operationId) ?? -1;
      reachedPlaces.set(operationId, Math.max(before, reached));
      const fresh = own.slice(before + 1, reached + 1).filter(({ atS }) => isMeasured(atS));
      if (isClosed || fresh.length === 0) return;
      stateCount += 1;
      for (const { atS } of fresh) delaysS.push(nowS - atS);
    },
    close() {
      isClosed = true;
      for (const [id, own] of states) {
        const waiting = own.slice((reachedPlaces.get(id) ?? -1) + 1).filter(({ atS }) => isMeasured(atS));
        for (const { atS } of waiting) delaysS.push(endS - atS);
        waitingCount += waiting.length;
      }
    },
    score: () => ({
      delaysS: Float64Array.from(delaysS).toSorted(),
      stateCount,
      waitingCount,
      complete: [...states].filter(isTold).length / states.size,
    }),
  };

  function isTold([id, own]: readonly [string, WorkOperation['states']]): boolean {
    return (reachedPlaces.get(id) ?? -1) >= own.findLastIndex(({ atS }) => atS < endS);
  }
}
