/** Records as the API shows them. */

import { isOpen, isSettled, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';

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

export function projectView({ project_id, is_visible, watermark }: ProjectRecord): object {
  return { project_id, visible: is_visible, read_up_to: watermark };
}
