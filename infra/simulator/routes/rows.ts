/**
 * Shows projects and operations as the service does, with the observed fields and with times cut to whole seconds,
 * and cuts the two lists into pages, whose limits, cursors and order are those of the public contract.
 */

import { isLocked } from '../world/outcome.ts';
import {
  monthStartMs,
  proxyHostOf,
  usedSecondsOf,
  type WorldOperation,
  type WorldProject,
} from '../world/project-state.ts';

/** A project's computes have this minimum by default, and its usage is counted with it (observed). */
export const COMPUTE_UNITS_MIN = 0.25;

/** The service is at work in these statuses, so the duration grows from read to read (observed: 0, then 31). */
const AT_WORK: ReadonlySet<string> = new Set(['running', 'cancelling']);

/** Only "compute unavailable" is public; we wrote the other texts in its style. */
const ERROR_TEXTS: Readonly<Record<string, string>> = {
  start_compute: 'compute unavailable',
  check_availability: 'compute unavailable',
  apply_config: 'could not apply the configuration to the compute',
};

export function operationRow(op: WorldOperation, nowMs: number): Record<string, unknown> {
  const createdMs = op.created_us / 1_000;
  const state = op.states.findLast(({ at_ms }) => at_ms <= nowMs) ?? op.states[0];
  const { status = 'scheduling', at_ms: sinceMs = createdMs, failures_count = 0 } = state ?? {};
  const hasFailed = failures_count > 0 || status === 'error';
  const untilMs = AT_WORK.has(status) ? nowMs : sinceMs;
  return {
    id: op.id,
    project_id: op.project_id,
    ...(op.branch_id !== undefined && { branch_id: op.branch_id }),
    ...(op.endpoint_id !== undefined && { endpoint_id: op.endpoint_id }),
    action: op.action,
    status,
    ...(hasFailed && { error: ERROR_TEXTS[op.action] ?? 'storage unavailable' }),
    failures_count,
    created_at: wholeSeconds(createdMs),
    updated_at: wholeSeconds(sinceMs),
    // The duration counts from the creation, as observed on the second operation of a chain.
    total_duration_ms: status === 'scheduling' ? 0 : Math.floor(Math.max(0, untilMs - createdMs)),
  };
}

/** Shows the row of `GET /projects`, with the specification's `locked`, which no payload since 2023 has. */
export function projectRow(project: WorldProject, nowMs: number): Record<string, unknown> {
  const activeSeconds = usedSecondsOf(project, nowMs);
  return {
    ...commonFields(project, nowMs),
    locked: isLocked(project, nowMs),
    active_time: activeSeconds,
    cpu_used_sec: Math.floor(activeSeconds * COMPUTE_UNITS_MIN),
    quota_reset_at: monthStart(nowMs, 1),
  };
}

/** Shows the row of `GET /projects/{id}`. It has what the project used, where the list has other names or nothing. */
export function projectDetailRow(project: WorldProject, nowMs: number): Record<string, unknown> {
  const activeSeconds = usedSecondsOf(project, nowMs);
  const cpuSeconds = Math.floor(activeSeconds * COMPUTE_UNITS_MIN);
  return {
    ...commonFields(project, nowMs),
    data_storage_bytes_hour: 0,
    data_transfer_bytes: 0,
    written_data_bytes: 0,
    compute_time_seconds: cpuSeconds,
    active_time_seconds: activeSeconds,
    cpu_used_sec: cpuSeconds,
    consumption_period_start: monthStart(nowMs, 0),
    consumption_period_end: monthStart(nowMs, 1),
    owner: {
      email: 'owner@example.com',
      name: 'Owner',
      branches_limit: project.plan.branchesMax,
      subscription_type: project.plan.subscriptionType,
    },
  };
}

function commonFields(project: WorldProject, nowMs: number): Record<string, unknown> {
  const lastOperation = project.operations.findLast(({ created_us }) => created_us / 1_000 <= nowMs);
  const updatedMs = Math.max(project.updatedAtMs, (lastOperation?.created_us ?? 0) / 1_000);
  const lastSpan = project.activeSpans.findLast(({ fromMs }) => fromMs <= nowMs);
  const { settings } = project;
  return {
    id: project.id,
    platform_id: 'aws',
    region_id: settings.regionId,
    name: settings.name,
    provisioner: settings.provisioner,
    default_endpoint_settings: {
      autoscaling_limit_min_cu: settings.defaultSize.minCu,
      autoscaling_limit_max_cu: settings.defaultSize.maxCu,
      suspend_timeout_seconds: settings.defaultSuspendTimeoutSeconds,
    },
    settings: settings.settings,
    pg_version: settings.pgVersion,
    proxy_host: proxyHostOf(settings),
    branch_logical_size_limit: project.plan.branchSizeMibMax,
    branch_logical_size_limit_bytes: project.plan.branchSizeMibMax * 1_024 ** 2,
    store_passwords: settings.storesPasswords,
    creation_source: 'console',
    created_at: wholeSeconds(project.created_at_ms),
    updated_at: wholeSeconds(updatedMs),
    synthetic_storage_size: 0,
    owner_id: settings.organizationId,
    org_id: settings.organizationId,
    history_retention_seconds: settings.historyRetentionSeconds,
    // A project whose compute never ran has no such field (public contract).
    ...(lastSpan && { compute_last_active_at: wholeSeconds(Math.min(nowMs, lastSpan.untilMs)) }),
  };
}

function monthStart(nowMs: number, monthsLater: number): string {
  return wholeSeconds(monthStartMs(nowMs, monthsLater));
}

/** The service cuts times and does not round them (observed); only cursors show the fraction. */
export function wholeSeconds(epochMs: number): string {
  return `${new Date(Math.floor(epochMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}

/**
 * Shows the operations that a call has started, as its answer does: the first one runs and the others wait for it.
 */
export function startedRows(operations: readonly WorldOperation[], nowMs: number): readonly object[] {
  return operations.map((operation) => operationRow(operation, nowMs));
}

export interface PageQuery {
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
}

export type Page<Item> =
  | {
      readonly kind: 'page';
      readonly items: readonly Item[];
      /**
       * The cursor names the last item. It is present even when nothing follows, and absent on an empty page
       * (observed).
       */
      readonly cursor: string | undefined;
    }
  | { readonly kind: 'invalid'; readonly message: string };

/** A page has 1 to 400 projects, ten by default, or 1 to 1000 operations, all of them by default. */
const PROJECT_ROWS = { max: 400, byDefault: 10 };
const OPERATION_ROWS = { max: 1_000, byDefault: Number.POSITIVE_INFINITY };

/**
 * The newest operation comes first. A page is strictly older than its cursor, which is a time and not a place in the
 * list.
 */
export function operationPage(
  operations: readonly WorldOperation[],
  query: PageQuery,
  isListed: (operation: WorldOperation) => boolean,
): Page<WorldOperation> {
  const limit = parseLimit(query.limit, OPERATION_ROWS);
  if (limit === undefined) return badLimit(OPERATION_ROWS.max);
  const belowUs = query.cursor ? microsecondsOf(query.cursor) : Number.POSITIVE_INFINITY;
  if (belowUs === undefined) return { kind: 'invalid', message: 'invalid request: invalid cursor' };
  const items: WorldOperation[] = [];
  for (let place = operations.length - 1; place >= 0 && items.length < limit; place--) {
    const operation = operations[place];
    if (operation !== undefined && operation.created_us < belowUs && isListed(operation))
      items.push(operation);
  }
  const last = items.at(-1);
  return { kind: 'page', items, cursor: last && cursorOf(last.created_us) };
}

/**
 * Projects come in the order of their ids; the cursor is the last project's id. `search` looks into ids and names.
 */
export function projectPage(
  projects: readonly WorldProject[],
  query: PageQuery & { readonly search?: string | undefined },
): Page<WorldProject> {
  const limit = parseLimit(query.limit, PROJECT_ROWS);
  if (limit === undefined) return badLimit(PROJECT_ROWS.max);
  const { cursor = '', search = '' } = query;
  const items = projects
    .filter(({ id, settings }) => id > cursor && (id.includes(search) || settings.name.includes(search)))
    .slice(0, limit);
  return { kind: 'page', items, cursor: items.at(-1)?.id };
}

/** Gives microseconds without trailing zeros (observed: `2022-12-09T08:47:52.20417Z`). */
export function cursorOf(createdUs: number): string {
  const fraction = String(createdUs % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const seconds = wholeSeconds(createdUs / 1_000).slice(0, 19);
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}

const CURSOR_PATTERN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/;

/** Returns microseconds since the epoch, or undefined when the text is no cursor of this list. */
export function microsecondsOf(cursor: string): number | undefined {
  const match = CURSOR_PATTERN.exec(cursor);
  const secondsMs = Date.parse(`${match?.[1]}Z`);
  if (match === null || Number.isNaN(secondsMs)) return undefined;
  return secondsMs * 1_000 + Number((match[2] ?? '').padEnd(6, '0'));
}

function parseLimit(
  text: string | undefined,
  { max, byDefault }: { readonly max: number; readonly byDefault: number },
): number | undefined {
  if (text === undefined) return byDefault;
  const limit = Number(text);
  return /^\d+$/.test(text) && limit >= 1 && limit <= max ? limit : undefined;
}

function badLimit(max: number): Page<never> {
  return { kind: 'invalid', message: `invalid request: limit must be between 1 and ${max}` };
}
