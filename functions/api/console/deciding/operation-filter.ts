/** Decides which operations of a project a list shows. */

import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';

export interface OperationFilter {
  /** A part of the action, the status, an id or the latest error, in any case. */
  readonly text: string | undefined;
  /** Only operations that were created then (ISO 8601) or later. */
  readonly from: string | undefined;
  /** Only operations that were created before (ISO 8601). */
  readonly until: string | undefined;
}

export function isChosenOperation(record: OperationRecord, { text, from, until }: OperationFilter): boolean {
  const createdMs = Date.parse(record.created_at);
  if (from !== undefined && createdMs < Date.parse(from)) return false;
  if (until !== undefined && createdMs >= Date.parse(until)) return false;
  if (text === undefined) return true;
  const { action, status, operation_id, branch_id = '', endpoint_id = '', entries } = record;
  const errors = entries.map((entry) => (entry.type === 'state_changed' ? (entry.error ?? '') : ''));
  const wanted = text.toLowerCase();
  return [action, status, operation_id, branch_id, endpoint_id, ...errors].some((value) =>
    value.toLowerCase().includes(wanted),
  );
}
