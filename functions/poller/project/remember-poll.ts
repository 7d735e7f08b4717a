/** Remembers what one poll has seen, for the next poll of the project. */

import { isOpen, isSettled, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { WalkState } from '../walk-plan/walk-state.ts';
import type { ProjectMemory } from './memory/project-memory.ts';
import { joinSettledRows, settledRowsOf } from './memory/settled-rows.ts';
import type { Sightings } from './recording/sightings.ts';

/**
 * `records` are the operations as they are stored after the relay. Rows of this walk are remembered as settled, and
 * those of earlier polls while one walk takes several of them.
 */
export function rememberPoll(
  memory: Pick<ProjectMemory, 'settled' | 'readAtMs' | 'missing'>,
  records: ReadonlyMap<string, OperationRecord>,
  sightings: Sightings,
  walk: WalkState,
): void {
  for (const [id, record] of records) {
    if (sightings.hasRead(id) && isSettled(record)) sightings.takeSettled(id, record);
  }
  const settled = settledRowsOf(sightings.settled);
  const isWhole = walk.outcome === 'complete' && !walk.isUnordered;
  memory.settled = isWhole ? settled : joinSettledRows(settled, memory.settled);
  for (const known of [memory.readAtMs, memory.missing]) {
    for (const id of known.keys()) if (!isStillOpen(records.get(id))) known.delete(id);
  }
}

function isStillOpen(record: OperationRecord | undefined): boolean {
  return record !== undefined && isOpen(record);
}
