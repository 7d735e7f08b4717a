/** Parses the bodies that create and update a project (public contract). */

import * as z from 'zod';
import type { ProjectChange } from '../../world/projects/change-project.ts';
import { PROVISIONERS } from '../../world/state/compute.ts';
import type { NewProject } from '../../world/state/new-project.ts';
import { DEFAULT_PROJECT, type ProjectSettings } from '../../world/state/project-settings.ts';
import { postgresName } from '../databases/postgres-name.ts';

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

export const createProjectBody = z.object({
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

export const updateProjectBody = z.object({
  project: z.object({
    name: name.optional(),
    settings: settings.optional(),
    default_endpoint_settings: endpointDefaults.optional(),
    history_retention_seconds: historySeconds.optional(),
  }),
});

export function newProjectOf(
  { project }: z.output<typeof createProjectBody>,
  organizationId: string,
): NewProject {
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
export function projectChangeOf(
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
