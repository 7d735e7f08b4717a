/** Builds turns for tests of the queues. */

import { newTurn, type Turn } from '../../../../functions/poller/planner/queues/turn.ts';

export function aTurn(id: string, fields: Partial<Turn> = {}): Turn {
  return Object.assign(newTurn(id, 1), fields);
}
