/**
 * Handles the calls of computes (specification "Computes"), parses the settings of a compute, and shows a compute as
 * the service does (specification "Compute endpoint"); `started_at` and `name` are as observed.
 */

import * as z from 'zod';
import {
  type Compute,
  type ComputeSettings,
  DEFAULT_SETTINGS,
  PROVISIONERS,
  phaseAt,
} from '../world/compute.ts';
import * as commands from '../world/compute-commands.ts';
import type { Outcome } from '../world/outcome.ts';
import { type ProjectState, proxyHostOf, type WorldProject } from '../world/project-state.ts';
import { hostOf } from './database-routes.ts';
import { type Handlers, inProject, refusal, refuse, type UpstreamContext, withBody } from './requests.ts';
import { startedRows, wholeSeconds } from './rows.ts';

const cu = z.number();
const namedTexts = z.record(z.string(), z.string());

/** The values of settings are texts, whatever they mean to Postgres (public contract). */
const computeSettings = z.object({
  pg_settings: namedTexts.optional(),
  pgbouncer_settings: namedTexts.optional(),
  preload_libraries: z
    .object({ use_defaults: z.boolean().optional(), enabled_libraries: z.array(z.string()).optional() })
    .optional(),
});

export const settable = {
  autoscaling_limit_min_cu: cu.optional(),
  autoscaling_limit_max_cu: cu.optional(),
  suspend_timeout_seconds: z.number().int().min(-1).max(604_800).optional(),
  pooler_enabled: z.boolean().optional(),
  pooler_mode: z.literal('transaction').optional(),
  disabled: z.boolean().optional(),
  passwordless_access: z.boolean().optional(),
  settings: computeSettings.optional(),
  provisioner: z.enum(PROVISIONERS).optional(),
  name: z.string().min(1).max(100).optional(),
};

type SettableFields = z.output<z.ZodObject<typeof settable>>;

/** When only one limit of the size is given, the other one stays as it was. */
function changeOf(fields: SettableFields, before: ComputeSettings): Partial<Omit<ComputeSettings, 'type'>> {
  const { suspend_timeout_seconds, pooler_enabled, disabled, passwordless_access } = fields;
  const { settings, provisioner, name } = fields;
  const change = {
    size: {
      minCu: fields.autoscaling_limit_min_cu ?? before.size.minCu,
      maxCu: fields.autoscaling_limit_max_cu ?? before.size.maxCu,
    },
    suspendTimeoutSeconds: suspend_timeout_seconds,
    poolerEnabled: pooler_enabled,
    disabled,
    passwordlessAccess: passwordless_access,
    settings,
    provisioner,
    name,
  };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

/** What the body does not give comes from the project's default settings. */
export function newComputeSettings(
  { type, ...fields }: SettableFields & Pick<ComputeSettings, 'type'>,
  { settings }: ProjectState,
): ComputeSettings {
  const defaults = {
    ...DEFAULT_SETTINGS,
    provisioner: settings.provisioner,
    size: settings.defaultSize,
    suspendTimeoutSeconds: settings.defaultSuspendTimeoutSeconds,
  };
  return { ...defaults, ...changeOf(fields, defaults), type };
}

const createBody = z.object({
  endpoint: z.object({ ...settable, branch_id: z.string(), type: z.enum(['read_write', 'read_only']) }),
});
const updateBody = z.object({ endpoint: z.object({ ...settable, branch_id: z.string().optional() }) });

/** Create, update, delete, restart, start and suspend each answer with the operations that they started. */
export const computeHandlers: Handlers = {
  listEndpoints: (c) =>
    inProject(c, (project, nowMs) =>
      c.json({ endpoints: project.computes.map((compute) => endpointRow(compute, project, nowMs)) }),
    ),
  getEndpoint: (c) =>
    inProject(c, (project, nowMs) => {
      const compute = commands.findCompute(project, endpointIdOf(c));
      if (compute === undefined) return refusal(c, 404, 'endpoint not found');
      return c.json({ endpoint: endpointRow(compute, project, nowMs) });
    }),
  createEndpoint: withBody(createBody, (c, { endpoint: { branch_id, ...fields } }) =>
    act(
      c,
      (project, nowMs) => {
        const config = newComputeSettings(fields, project);
        return commands.createEndpoint(project, { branch_id, config }, nowMs);
      },
      201,
    ),
  ),
  updateEndpoint: withBody(updateBody, (c, { endpoint: { branch_id, ...fields } }) =>
    act(c, (project, nowMs) => {
      const endpointId = endpointIdOf(c);
      const before = commands.findCompute(project, endpointId)?.config ?? DEFAULT_SETTINGS;
      const change = { branch_id, config: changeOf(fields, before) };
      return commands.updateEndpoint(project, { endpointId, change }, nowMs);
    }),
  ),
  deleteEndpoint: (c) =>
    inProject(c, (project, nowMs) => {
      const outcome = commands.deleteEndpoint(project, endpointIdOf(c), nowMs);
      if (outcome.kind === 'refused') return refuse(c, outcome);
      if (outcome.value === 'already_deleted') return c.body(null, 204);
      return c.json(startedRow(outcome.value, project, nowMs));
    }),
  restartEndpoint: (c) =>
    act(c, (project, nowMs) => commands.restartEndpoint(project, endpointIdOf(c), nowMs)),
  startEndpoint: (c) => act(c, (project, nowMs) => commands.startEndpoint(project, endpointIdOf(c), nowMs)),
  suspendEndpoint: (c) =>
    act(c, (project, nowMs) => commands.suspendEndpoint(project, endpointIdOf(c), nowMs)),
};

function act(
  c: UpstreamContext,
  command: (project: ProjectState, nowMs: number) => Outcome<commands.Started>,
  status: 200 | 201 = 200,
): Response {
  return inProject(c, (project, nowMs) => {
    const outcome = command(project, nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json(startedRow(outcome.value, project, nowMs), status);
  });
}

function startedRow({ compute, operations }: commands.Started, project: ProjectState, nowMs: number) {
  return { endpoint: endpointRow(compute, project, nowMs), operations: startedRows(operations, nowMs) };
}

function endpointIdOf(c: UpstreamContext): string {
  return c.req.param('endpoint_id') ?? '';
}

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
