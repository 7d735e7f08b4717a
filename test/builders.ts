/** Values that read aloud: `anOperation({ status: 'failed' })`. */

import type { Operation } from '../shared/core/operation.ts';
import type { OperationRecord, ReadingContext } from '../shared/core/operation-record.ts';
import { recordReading } from '../shared/core/operation-record.ts';

export const NOON_MS = Date.UTC(2026, 0, 15, 12, 0, 0);

export function anOperation(fields: Partial<Operation> = {}): Operation {
  return {
    id: '11111111-1111-4111-8111-111111111111',
    project_id: 'quiet-pond-12345678',
    branch_id: 'br-quiet-pond-a1234567',
    endpoint_id: 'ep-quiet-pond-a1234567',
    action: 'start_compute',
    status: 'running',
    failures_count: 0,
    created_at: '2026-01-15T11:59:50Z',
    updated_at: '2026-01-15T11:59:51Z',
    ...fields,
  };
}

export function aContext(fields: Partial<ReadingContext> = {}): ReadingContext {
  return { account_id: 'main', nowMs: NOON_MS, observed_by: 'poll', ...fields };
}

/** An operation as it stands in the table after these readings, one after the other. */
export function aRecord(...readings: readonly Partial<Operation>[]): OperationRecord {
  let record: OperationRecord | undefined;
  for (const reading of readings.length === 0 ? [{}] : readings) {
    record = recordReading(record, anOperation(reading), aContext()) ?? record;
  }
  if (record === undefined) throw new Error('No reading changed anything');
  return record;
}
