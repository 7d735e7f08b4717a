/** Shows a branch as the service does (public contract). */

import { type Branch, branchPhaseAt } from '../../world/state/branch.ts';
import type { WorldProject } from '../../world/state/project-state.ts';
import { lsnAt } from '../../world/state/wal.ts';
import { activeSecondsOf, COMPUTE_UNITS_MIN, wholeSeconds } from '../rows.ts';

export function branchRow(project: WorldProject, branch: Branch, nowMs: number): Record<string, unknown> {
  const { current, pending, atMs: stateSinceMs } = branchPhaseAt(branch, nowMs);
  const spans = project.activeSpans.filter(({ branchId }) => branchId === branch.id);
  const activeSeconds = activeSecondsOf({ activeSpans: spans }, nowMs);
  const isDefault = branch.id === project.defaultBranchId;
  return {
    id: branch.id,
    project_id: project.id,
    ...originFields(project, branch),
    name: branch.name,
    current_state: current,
    ...(pending !== undefined && { pending_state: pending }),
    state_changed_at: wholeSeconds(stateSinceMs),
    creation_source: 'console',
    primary: isDefault,
    default: isDefault,
    protected: branch.isProtected,
    cpu_used_sec: Math.floor(activeSeconds * COMPUTE_UNITS_MIN),
    compute_time_seconds: Math.floor(activeSeconds * COMPUTE_UNITS_MIN),
    active_time_seconds: activeSeconds,
    written_data_bytes: 0,
    data_transfer_bytes: 0,
    created_at: wholeSeconds(branch.createdAtMs),
    updated_at: wholeSeconds(Math.max(branch.updatedAtMs, stateSinceMs)),
    ...expiryFields(branch),
    ...(branch.lastResetAtMs !== undefined && { last_reset_at: wholeSeconds(branch.lastResetAtMs) }),
    init_source: branch.initSource,
  };
}

/** A branch without an annotation shows an empty one. */
export function annotationRow({ id, annotation, createdAtMs, updatedAtMs }: Branch): object {
  return {
    object: { type: 'console/branch', id },
    value: annotation,
    created_at: wholeSeconds(createdAtMs),
    updated_at: wholeSeconds(updatedAtMs),
  };
}

function originFields(project: WorldProject, { origin }: Branch): object {
  if (origin === undefined) return {};
  return {
    parent_id: origin.branchId,
    parent_lsn: lsnAt(project.created_at_ms, origin.atMs),
    ...(origin.isTimeShown && { parent_timestamp: wholeSeconds(origin.atMs) }),
  };
}

function expiryFields({ expiry }: Branch): object {
  if (expiry === undefined) return {};
  return {
    ttl_interval_seconds: Math.round((expiry.atMs - expiry.setAtMs) / 1_000),
    expires_at: wholeSeconds(expiry.atMs),
  };
}
