/** Makes rows of operations, each with an id and a place of its own. */

import type { Row } from './service.ts';

export const PROJECT_ID = 'quiet-pond-12345678';

/** Returns the time as the service writes it, in whole seconds (specification, "Operations"). */
export function timeOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

export function idOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** Returns an operation that was created and changed last at this time. `number` makes its id. */
export function anOperationRow(number: number, createdMs: number, fields: Partial<Row> = {}): Row {
  return {
    id: idOf(number),
    project_id: PROJECT_ID,
    branch_id: 'br-quiet-pond-a1234567',
    endpoint_id: 'ep-quiet-pond-a1234567',
    action: 'start_compute',
    status: 'running',
    failures_count: 0,
    created_at: timeOf(createdMs),
    updated_at: timeOf(createdMs),
    total_duration_ms: 0,
    ...fields,
  };
}
