/** The ids that stand in paths. By pattern only: no dot, slash or percent sign reaches a path. */

import * as z from 'zod';
import { operationId, projectId } from './schemas.ts';

/** Specification "Compute endpoint": always starts with `ep-`. */
export const endpointId = z.string().regex(/^ep-[a-z0-9-]{1,60}$/);

/** Specification "Compute endpoint": starts with `br-`. */
export const branchId = z.string().regex(/^br-[a-z0-9-]{1,60}$/);

export const idSchemas = {
  project_id: projectId,
  operation_id: operationId,
  endpoint_id: endpointId,
  /** The id of a user at the auth provider: opaque. */
  auth_user_id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/),
  /** `google`, `github`, `microsoft`, ...: an open set. */
  oauth_provider_id: z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/),
  /** The specification has one value, the public contract several: an open set. */
  auth_provider: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
} as const;

export type IdName = keyof typeof idSchemas;

/** Of calls that only a configuration knows: letters, digits, `_` and `-`, nothing that means anything in a path. */
const opaqueId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/);

/** What an id in a path must look like, by its name there. */
export function idSchemaOf(name: string): z.ZodType<string> {
  return name in idSchemas ? idSchemas[name as IdName] : opaqueId;
}

/** The names of the ids in a path template, in order. */
export function idNamesOf(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
}
