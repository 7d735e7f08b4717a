/** Checks that all copies of an event have one id and one content, also after the table was restored. */

import type { Violation } from '../../check-history.ts';
import type { Evidence, Told } from './evidence.ts';

export function checkCopies({ stage, told }: Evidence): readonly Violation[] {
  const violations: Violation[] = [];
  const bytesOf = new Map<string, string>();
  const idOf = new Map<string, string>();
  const isRestored = stage.restores.length > 0;
  for (const copy of told) {
    const { event } = copy;
    const before = bytesOf.get(event.id) ?? copy.detail;
    bytesOf.set(event.id, before);
    if (before !== copy.detail)
      violations.push({ rule: 'same-id', operation_id: placeOf(copy), detail: `${before} / ${copy.detail}` });
    const content = contentOf(copy);
    const id = idOf.get(content) ?? event.id;
    idOf.set(content, id);
    // After a restore the same transition is observed again, at another time, and is another event.
    if (id !== event.id && hasOneContent(copy) && !isRestored)
      violations.push({ rule: 'two-ids', operation_id: placeOf(copy), detail: content });
  }
  return violations;
}

/** Events of other types can repeat: an account is degraded and a project discovered more than once. */
function hasOneContent({ detailType }: Told): boolean {
  return detailType === 'Operation State Changed' || detailType === 'Command Settled';
}

function placeOf({ event }: Told): string {
  return event.operation_id ?? event.command?.request_id ?? event.project_id ?? '';
}

function contentOf(copy: Told): string {
  const { event, detailType } = copy;
  const { sequence, previous_status, status, failures_count, operation_updated_at, reason } = event;
  const { branch_id, endpoint_id, state } = event;
  // A restored table decides anew, and what has happened since is part of the new event.
  if (detailType.startsWith('Branch ') || detailType === 'Compute State Changed')
    return JSON.stringify([detailType, event.operation_id, branch_id, endpoint_id, state]);
  const content = [sequence, previous_status, status, failures_count, operation_updated_at, reason];
  if (detailType !== 'Command Settled') return JSON.stringify([detailType, placeOf(copy), ...content]);
  return JSON.stringify([detailType, placeOf(copy), event.outcome, event.operations, event.missing]);
}
