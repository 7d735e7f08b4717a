/** Lists the operations that one poll has met and that are recorded and not open. */

import { isOpen, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import type { RecordedOperation } from '../../../../shared/core/records/recorded-above.ts';
import { normaliseTimestamp } from '../../../../shared/core/time/timestamp.ts';
import type { Sightings } from './sightings.ts';

export function endedOperations(
  records: ReadonlyMap<string, OperationRecord>,
  { settled, createdAtOf }: Pick<Sightings, 'settled' | 'createdAtOf'>,
): readonly RecordedOperation[] {
  const met = [...settled.keys()].map((id) => ({ id, createdAt: createdAtOf(id) }));
  const recorded = [...records.values()]
    .filter((record) => !isOpen(record))
    .map(({ operation_id, created_at }) => ({ id: operation_id, createdAt: normaliseTimestamp(created_at) }));
  return [...met, ...recorded].flatMap(({ id, createdAt }) =>
    createdAt === undefined ? [] : { id, createdAt },
  );
}
