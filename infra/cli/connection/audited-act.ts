/** Does what needs credentials of AWS, and leaves a record of the audit that says who did it. */

import { randomUUID } from 'node:crypto';
import { type AuditIntent, createAuditLog } from '../../../shared/commands/audit-log.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Table } from '../../../shared/store/table.ts';

interface AuditedAct
  extends Pick<AuditIntent, 'account_id' | 'generation' | 'client_id' | 'call' | 'resource'> {
  readonly table: Table;
  readonly clock: Clock;
}

/**
 * Acts once the beginning of the record is written: without a record nothing is done. `act` resolves to whether anything
 * was done. A record whose act rejects stays without an outcome, because nobody knows what was done.
 */
export async function actAudited<Result>(
  { table, clock, ...about }: AuditedAct,
  act: () => Promise<Result>,
  isDone: (result: Result) => boolean = () => true,
): Promise<Result> {
  const audit = createAuditLog(table, clock);
  const startMs = clock.now();
  const received_at = isoTimeOf(startMs);
  const intent = { ...about, request_id: randomUUID(), project_id: undefined, received_at };
  await audit.begin(intent);
  const result = await act();
  const end = isDone(result)
    ? ({ outcome: 'done', status: 200 } as const)
    : ({ outcome: 'refused', status: 404 } as const);
  await audit.end(intent, { ...end, duration_ms: Math.max(0, clock.now() - startMs) });
  return result;
}
