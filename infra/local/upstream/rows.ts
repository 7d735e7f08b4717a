/** Rows and pages as the service shows them: whole seconds in rows, microseconds in cursors, newest first. */

import type { WorldOperation, WorldProject } from './world.ts';

/** "Connection refused" is what goes wrong most; seen as `error` texts in public payloads. */
const ERROR_TEXT = 'compute unavailable: the compute node did not become ready in time';

export function operationRow(op: WorldOperation, nowMs: number): Record<string, unknown> {
  const state = op.states.findLast(({ at_ms }) => at_ms <= nowMs) ?? op.states[0];
  const createdMs = op.created_us / 1_000;
  const isOver = state === op.states.at(-1);
  const endMs = isOver ? (state?.at_ms ?? nowMs) : nowMs;
  const failuresCount = state?.failures_count ?? 0;
  return {
    id: op.id,
    project_id: op.project_id,
    branch_id: op.branch_id,
    ...(op.endpoint_id !== undefined && { endpoint_id: op.endpoint_id }),
    action: op.action,
    status: state?.status ?? 'scheduling',
    ...(failuresCount > 0 && { error: ERROR_TEXT }),
    failures_count: failuresCount,
    created_at: wholeSeconds(createdMs),
    updated_at: wholeSeconds(state?.at_ms ?? createdMs),
    total_duration_ms: state?.status === 'scheduling' ? 0 : Math.floor(Math.max(0, endMs - createdMs)),
  };
}

export function projectRow(project: WorldProject, nowMs: number): Record<string, unknown> {
  const seen = project.operations.filter((op) => op.created_us / 1_000 <= nowMs);
  const starts = seen.filter(({ action }) => action === 'start_compute');
  const lastActiveMs = starts.at(-1)?.created_us;
  const updatedMs = (seen.at(-1)?.created_us ?? project.created_at_ms * 1_000) / 1_000;
  return {
    id: project.id,
    platform_id: 'aws',
    region_id: 'aws-us-east-2',
    name: project.id,
    provisioner: 'k8s-neonvm',
    pg_version: 17,
    proxy_host: 'us-east-2.aws.example.tech',
    branch_logical_size_limit: 512,
    branch_logical_size_limit_bytes: 536_870_912,
    store_passwords: true,
    active_time: starts.length * 60,
    cpu_used_sec: starts.length * 15,
    creation_source: 'console',
    created_at: wholeSeconds(project.created_at_ms),
    updated_at: wholeSeconds(updatedMs),
    synthetic_storage_size: 0,
    ...(lastActiveMs !== undefined && { compute_last_active_at: wholeSeconds(lastActiveMs / 1_000) }),
  };
}

/** Observed: microseconds, trailing zeros dropped (`2022-12-09T08:47:52.20417Z`). */
export function cursorOf(createdUs: number): string {
  const fraction = String(createdUs % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const seconds = wholeSeconds(createdUs / 1_000).slice(0, 19);
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}

const CURSOR_PATTERN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/;

/** Microseconds since the epoch; undefined when the text is no cursor of this list. */
export function microsecondsOf(cursor: string): number | undefined {
  const match = CURSOR_PATTERN.exec(cursor);
  if (match === null) return undefined;
  return Date.parse(`${match[1]}Z`) * 1_000 + Number((match[2] ?? '').padEnd(6, '0'));
}

function wholeSeconds(epochMs: number): string {
  return `${new Date(Math.floor(epochMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}
