/**
 * Shows a compute as the service does (specification "Compute endpoint"); `started_at` and `name` are as observed.
 */

import { type Compute, phaseAt } from '../../world/state/compute.ts';
import { proxyHostOf } from '../../world/state/project-settings.ts';
import type { WorldProject } from '../../world/state/project-state.ts';
import { hostOf } from '../databases/connection.ts';
import { wholeSeconds } from '../rows.ts';

export function endpointRow(compute: Compute, project: WorldProject, nowMs: number): Record<string, unknown> {
  const { config, endpoint_id, branch_id } = compute;
  const { current, pending } = phaseAt(compute, nowMs);
  const past = compute.phases.filter(({ atMs }) => atMs <= nowMs);
  const started = past.findLast((phase) => phase.current === 'active' && phase.pending === undefined);
  const suspended = past.findLast((phase) => phase.current === 'idle' && phase.pending === undefined);
  const lastSpan = lastSpanOf(compute, project, nowMs);
  const isSuspended = suspended !== undefined && suspended.atMs >= (started?.atMs ?? 0);
  return {
    host: hostOf(project, compute),
    id: endpoint_id,
    ...(config.name !== undefined && { name: config.name }),
    project_id: project.id,
    branch_id,
    autoscaling_limit_min_cu: config.size.minCu,
    autoscaling_limit_max_cu: config.size.maxCu,
    region_id: project.settings.regionId,
    type: config.type,
    current_state: current,
    ...(pending !== undefined && { pending_state: pending }),
    settings: config.settings,
    pooler_enabled: config.poolerEnabled,
    pooler_mode: 'transaction',
    disabled: config.disabled,
    passwordless_access: config.passwordlessAccess,
    ...(lastSpan && { last_active: wholeSeconds(Math.min(nowMs, lastSpan.usedUntilMs)) }),
    creation_source: 'console',
    created_at: wholeSeconds(compute.createdAtMs),
    updated_at: wholeSeconds(Math.max(compute.updatedAtMs, past.at(-1)?.atMs ?? 0)),
    ...(started && { started_at: wholeSeconds(started.atMs) }),
    ...(isSuspended && { suspended_at: wholeSeconds(suspended.atMs) }),
    proxy_host: proxyHostOf(project.settings),
    suspend_timeout_seconds: config.suspendTimeoutSeconds,
    provisioner: config.provisioner,
  };
}

/** Returns the last time that the compute has run, or runs, if it ever did. */
function lastSpanOf({ endpoint_id }: Compute, { activeSpans }: WorldProject, nowMs: number) {
  return activeSpans.findLast(({ endpointId, fromMs }) => endpointId === endpoint_id && fromMs <= nowMs);
}
