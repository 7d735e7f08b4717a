/** Parses the settings of a compute from the bodies that contain them. */

import * as z from 'zod';
import { type ComputeSettings, DEFAULT_SETTINGS, PROVISIONERS } from '../../world/state/compute.ts';
import type { ProjectState } from '../../world/state/project-state.ts';

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
export function changeOf(
  fields: SettableFields,
  before: ComputeSettings,
): Partial<Omit<ComputeSettings, 'type'>> {
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
