/** Turns a record of an operation into what the API shows of it. */

import * as z from 'zod';
import { isOpen, isSettled, type OperationRecord } from '../../../shared/core/records/operation-record.ts';

export const operationAnswer = z.looseObject({
  operation_id: z.string(),
  project_id: z.string(),
  action: z.string(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  status: z.string(),
  failures_count: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  status_observed_at: z.string().describe('When the bridge first saw this status.'),
  open: z.boolean(),
  settled: z.boolean().describe('Not open, and all its events are on the bus.'),
  command: z.object({ client_id: z.string(), request_id: z.string() }).optional(),
});

export function operationView(record: OperationRecord): object {
  const { operation_id, project_id, action, branch_id, endpoint_id, status, failures_count } = record;
  const { created_at, updated_at, status_observed_at, command, sequence } = record;
  return {
    operation_id,
    project_id,
    action,
    branch_id,
    endpoint_id,
    status,
    failures_count,
    created_at,
    updated_at,
    status_observed_at,
    sequence,
    open: isOpen(record),
    settled: isSettled(record),
    command,
  };
}
