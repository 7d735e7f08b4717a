/** Numbers the turns of one planner, so that its queues find a turn by a small number. */

export interface TurnSlots {
  /** Returns the smallest number that was never taken, or one that is free again. */
  take(): number;
  /** Gives back the number of a turn that is in no queue any more. */
  free(slot: number): void;
}

export function createTurnSlots(): TurnSlots {
  const freeSlots: number[] = [];
  let count = 0;
  return {
    take: () => freeSlots.pop() ?? count++,
    free: (slot) => void freeSlots.push(slot),
  };
}
