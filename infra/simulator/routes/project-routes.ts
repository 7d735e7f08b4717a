/**
 * Handles the calls of projects: list, list shared ones, create, get, update, delete. The bodies are parsed by the
 * public contract.
 */

import * as z from 'zod';
import type { Random } from '../../../shared/runtime/random.ts';
import type { FaultDials } from '../faults.ts';
import { PROVISIONERS } from '../world/compute.ts';
import {
  createProject,
  deleteProject,
  type ProjectChange,
  recoverProject,
  updateProject,
} from '../world/project-commands.ts';
import {
  DEFAULT_PROJECT,
  type NewProject,
  type ProjectSettings,
  type ProjectState,
} from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import { branchRow } from './branch-routes.ts';
import { endpointRow } from './compute-routes.ts';
import { contentRows, postgresName } from './database-routes.ts';
import {
  findOrganizationId,
  findProject,
  type Handlers,
  inProject,
  isOwn,
  isVisible,
  outsideScope,
  refusal,
  refuse,
  type UpstreamContext,
  withBody,
} from './requests.ts';
import { projectDetailRow, projectPage, projectRow, startedRows } from './rows.ts';

export interface ProjectRouteDeps {
  readonly world: World;
  readonly faults: FaultDials;
  /** Draws faults only. */
  readonly random: Random;
}

export function projectHandlers(deps: ProjectRouteDeps): Handlers {
  return {
    listProjects: (c) => list(deps, c),
    listSharedProjects: (c) => listShared(deps, c),
    createProject: withBody(createProjectBody, (c, body) => create(deps, c, body)),
    getProject: (c) =>
      inProject(c, (project, nowMs) => c.json({ project: projectDetailRow(project, nowMs) })),
    updateProject: withBody(updateProjectBody, update),
    deleteProject: (c) => remove(deps, c),
    recoverProject: (c) => recover(deps, c),
  };
}

function list({ world, faults, random }: ProjectRouteDeps, c: UpstreamContext): Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  const organizationId = c.req.query('org_id');
  if (organizationId !== undefined) {
    const found = findOrganizationId(c, organizationId);
    if (found instanceof Response) return found;
  }
  const visible = world
    .projects()
    .filter(
      (project) =>
        isOwn(c, project) &&
        (organizationId === undefined || project.settings.organizationId === organizationId),
    );
  const page = projectPage(visible, c.req.query());
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const { items, cursor } = page;
  // After the service's time-out a list is incomplete and names the projects that it lacks (public contract).
  const isPartial = items.length > 1 && random.next() < faults.partialProjects;
  const shown = isPartial ? items.slice(1) : items;
  return c.json({
    projects: shown.map((project) => projectRow(project, world.nowMs)),
    ...(isPartial && { unavailable_project_ids: items.slice(0, 1).map(({ id }) => id) }),
    ...(cursor !== undefined && { pagination: { cursor } }),
    applications: {},
    integrations: {},
  });
}

/** Lists the projects of other organizations that were shared with the caller. */
function listShared({ world }: ProjectRouteDeps, c: UpstreamContext): Response {
  const { kind, projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  if (kind !== 'personal') return refusal(c, 404, 'not allowed for organization API keys');
  const shared = world.projects().filter((project) => isVisible(c, project) && !isOwn(c, project));
  const page = projectPage(shared, c.req.query());
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const { items, cursor } = page;
  return c.json({
    projects: items.map((project) => projectRow(project, world.nowMs)),
    ...(cursor !== undefined && { pagination: { cursor } }),
  });
}

function create(
  { world }: ProjectRouteDeps,
  c: UpstreamContext,
  body: z.output<typeof createProjectBody>,
): Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  const organizationId = findOrganizationId(c, body.project.org_id);
  if (organizationId instanceof Response) return organizationId;
  const { nowMs } = world;
  const outcome = createProject(newProjectOf(body, organizationId), nowMs, world);
  if (outcome.kind === 'refused') return refuse(c, outcome);
  const { project, operations } = outcome.value;
  return c.json(
    {
      project: projectDetailRow(project, nowMs),
      operations: startedRows(operations, nowMs),
      ...firstBranchRows(project, nowMs),
    },
    201,
  );
}

function firstBranchRows(project: ProjectState, nowMs: number): object {
  const branch = project.branches.get(project.defaultBranchId);
  if (branch === undefined) return {};
  return {
    connection_uris: [],
    ...contentRows(project, branch, nowMs),
    branch: branchRow(project, branch, nowMs),
    endpoints: project.computes.map((compute) => endpointRow(compute, project, nowMs)),
  };
}

function update(c: UpstreamContext, body: z.output<typeof updateProjectBody>): Response {
  return inProject(c, (project, nowMs) => {
    const outcome = updateProject(project, projectChangeOf(body, project.settings), nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json({
      project: projectDetailRow(project, nowMs),
      operations: startedRows(outcome.value, nowMs),
    });
  });
}

/** A project that was deleted before answers 200 again (observed). */
function remove({ world }: ProjectRouteDeps, c: UpstreamContext): Response {
  const projectId = c.req.param('project_id') ?? '';
  const { projectId: scope } = c.get('principal');
  if (scope === projectId) return refusal(c, 403, 'project-scoped API keys cannot delete the project');
  const project = findProject(c, projectId, world.projectEvenDeleted);
  if (project instanceof Response) return project;
  const outcome = deleteProject(project, world.nowMs);
  if (outcome.kind === 'refused') return refuse(c, outcome);
  return c.json({ project: projectDetailRow(project, world.nowMs) });
}

function recover({ world }: ProjectRouteDeps, c: UpstreamContext): Response {
  const project = findProject(c, c.req.param('project_id') ?? '', world.projectEvenDeleted);
  if (project instanceof Response) return project;
  const outcome = recoverProject(project, world.nowMs);
  if (outcome.kind === 'refused') return refuse(c, outcome);
  const branches = [...project.branches.values()].map((branch) => branchRow(project, branch, world.nowMs));
  return c.json({ project: projectDetailRow(project, world.nowMs), branches });
}

const name = z.string().min(1).max(256);
const historySeconds = z.number().int().min(0).max(2_592_000);
const atLeastZero = z.number().int().min(0);
const textOrNumber = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

const settings = z.object({
  quota: z
    .object({
      active_time_seconds: atLeastZero.optional(),
      compute_time_seconds: atLeastZero.optional(),
      written_data_bytes: atLeastZero.optional(),
      data_transfer_bytes: atLeastZero.optional(),
      logical_size_bytes: atLeastZero.optional(),
    })
    .optional(),
  allowed_ips: z
    .object({ ips: z.array(z.string()).optional(), protected_branches_only: z.boolean().optional() })
    .optional(),
  enable_logical_replication: z.boolean().optional(),
  maintenance_window: z
    .object({
      weekdays: z.array(z.number().int().min(1).max(7)),
      start_time: z.string(),
      end_time: z.string(),
    })
    .optional(),
  block_public_connections: z.boolean().optional(),
  block_vpc_connections: z.boolean().optional(),
  audit_log_level: z.enum(['base', 'extended', 'full']).optional(),
  hipaa: z.boolean().optional(),
  preload_libraries: z
    .object({ use_defaults: z.boolean().optional(), enabled_libraries: z.array(z.string()).optional() })
    .optional(),
});

const endpointDefaults = z.object({
  pg_settings: textOrNumber.optional(),
  pgbouncer_settings: textOrNumber.optional(),
  autoscaling_limit_min_cu: z.number().optional(),
  autoscaling_limit_max_cu: z.number().optional(),
  suspend_timeout_seconds: z.number().int().min(-1).max(604_800).optional(),
});

const createProjectBody = z.object({
  project: z.object({
    name: name.optional(),
    settings: settings.optional(),
    branch: z
      .object({
        name: name.optional(),
        role_name: postgresName.optional(),
        database_name: postgresName.optional(),
      })
      .optional(),
    autoscaling_limit_min_cu: z.number().optional(),
    autoscaling_limit_max_cu: z.number().optional(),
    provisioner: z.enum(PROVISIONERS).optional(),
    region_id: z.string().optional(),
    default_endpoint_settings: endpointDefaults.optional(),
    pg_version: z.number().int().min(14).max(18).optional(),
    store_passwords: z.boolean().optional(),
    history_retention_seconds: historySeconds.optional(),
    org_id: z.string().optional(),
  }),
});

const updateProjectBody = z.object({
  project: z.object({
    name: name.optional(),
    settings: settings.optional(),
    default_endpoint_settings: endpointDefaults.optional(),
    history_retention_seconds: historySeconds.optional(),
  }),
});

function newProjectOf({ project }: z.output<typeof createProjectBody>, organizationId: string): NewProject {
  const { branch, default_endpoint_settings: defaults = {}, ...given } = project;
  const limits = {
    autoscaling_limit_min_cu: given.autoscaling_limit_min_cu ?? defaults.autoscaling_limit_min_cu,
    autoscaling_limit_max_cu: given.autoscaling_limit_max_cu ?? defaults.autoscaling_limit_max_cu,
  };
  return {
    name: given.name,
    settings: {
      regionId: given.region_id ?? DEFAULT_PROJECT.regionId,
      pgVersion: given.pg_version ?? DEFAULT_PROJECT.pgVersion,
      provisioner: given.provisioner ?? DEFAULT_PROJECT.provisioner,
      organizationId,
      storesPasswords: given.store_passwords ?? DEFAULT_PROJECT.storesPasswords,
      historyRetentionSeconds: given.history_retention_seconds ?? DEFAULT_PROJECT.historyRetentionSeconds,
      ...defaultsOf({ ...defaults, ...limits }, DEFAULT_PROJECT),
      settings: { ...DEFAULT_PROJECT.settings, ...given.settings },
    },
    branchName: branch?.name,
    roleName: branch?.role_name,
    databaseName: branch?.database_name,
  };
}

/** Members of the settings that the body does not give stay as they were. */
function projectChangeOf(
  { project }: z.output<typeof updateProjectBody>,
  before: ProjectSettings,
): ProjectChange {
  return {
    name: project.name ?? before.name,
    historyRetentionSeconds: project.history_retention_seconds ?? before.historyRetentionSeconds,
    ...defaultsOf(project.default_endpoint_settings ?? {}, before),
    settings: { ...before.settings, ...project.settings },
  };
}

/** One limit of the size that is given alone also bounds the other, as a fixed size does. */
function defaultsOf(
  given: z.output<typeof endpointDefaults>,
  before: Pick<ProjectSettings, 'defaultSize' | 'defaultSuspendTimeoutSeconds'>,
): Pick<ProjectSettings, 'defaultSize' | 'defaultSuspendTimeoutSeconds'> {
  const { autoscaling_limit_min_cu: minCu, autoscaling_limit_max_cu: maxCu } = given;
  const { defaultSize } = before;
  return {
    defaultSize: {
      minCu: minCu ?? Math.min(defaultSize.minCu, maxCu ?? defaultSize.minCu),
      maxCu: maxCu ?? Math.max(defaultSize.maxCu, minCu ?? defaultSize.maxCu),
    },
    defaultSuspendTimeoutSeconds: given.suspend_timeout_seconds ?? before.defaultSuspendTimeoutSeconds,
  };
}
