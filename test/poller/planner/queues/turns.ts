/** Builds turns for tests of the queues. */

import { newTurn, type Turn } from '../../../../functions/poller/planner/queues/turn.ts';
import { createTurnSlots } from '../../../../functions/poller/planner/queues/turn-slots.ts';

/** The turns of a test are in queues of their own, so they only must not share a number with each other. */
const slots = createTurnSlots();

export function aTurn(id: string, fields: Partial<Turn> = {}): Turn {
  return Object.assign(newTurn(slots.take(), id, 1), fields);
}
