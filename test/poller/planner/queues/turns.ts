/** Builds turns for tests of the queues. */

import { newTurn, type Turn } from '../../../../functions/poller/planner/queues/turn.ts';
import { createTurnSlots } from '../../../../functions/poller/planner/queues/turn-slots.ts';

/** All turns of tests are numbered together, so that no two of them share a number. */
export const turnSlots = createTurnSlots();

export function aTurn(id: string, fields: Partial<Turn> = {}): Turn {
  return Object.assign(newTurn(turnSlots.take(), id, 1), fields);
}
