/** Which transitions of the workload were told when: by the operation's status, and everything before it with it. */

import { operationIdOf } from './virtual-upstream.ts';
import type { Workload, WorkOperation } from './workload.ts';

export interface Detections {
  note(operationId: string, status: string, nowS: number): void;
  /** From now on it still counts that something is told, but not when. */
  close(): void;
  score(): Score;
}

export interface Score {
  /** Seconds from each transition to its detection, sorted. */
  readonly delaysS: Float64Array;
  /** Transitions told as such; the rest was passed over between two reads. */
  readonly stateCount: number;
  /** Share of the operations that had a transition whose state at the end was told: 1, or something was lost. */
  readonly complete: number;
}

export function createDetections(workload: Workload, measuredFromS: number = workload.startS): Detections {
  const { endS } = workload;
  const states = new Map<string, WorkOperation['states']>();
  const told = new Map<string, number>();
  workload.operations.forEach((own, project) => {
    own.forEach((operation, place) => {
      const moves = operation.states.some(({ atS }) => atS >= measuredFromS && atS < endS);
      if (moves) states.set(operationIdOf(project, place), operation.states);
    });
  });
  const delaysS: number[] = [];
  let stateCount = 0;
  let isClosed = false;

  return {
    note(operationId, status, nowS) {
      const own = states.get(operationId);
      if (own === undefined) return;
      const reached = own.findLastIndex((state) => state.status === status && state.atS <= nowS);
      const before = told.get(operationId) ?? -1;
      told.set(operationId, Math.max(before, reached));
      const fresh = own.slice(before + 1, reached + 1).filter(({ atS }) => atS >= measuredFromS);
      if (isClosed || fresh.length === 0) return;
      stateCount += 1;
      for (const { atS } of fresh) delaysS.push(nowS - atS);
    },
    close() {
      isClosed = true;
    },
    score: () => ({
      delaysS: Float64Array.from(delaysS).toSorted(),
      stateCount,
      complete: [...states].filter(isTold).length / states.size,
    }),
  };

  function isTold([id, own]: readonly [string, WorkOperation['states']]): boolean {
    return (told.get(id) ?? -1) >= own.findLastIndex(({ atS }) => atS < endS);
  }
}
