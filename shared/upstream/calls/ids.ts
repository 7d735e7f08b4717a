/** The patterns of the ids in paths. No dot, slash or percent sign fits one, so an id cannot change the path. */

import * as z from 'zod';
import { operationId, projectId } from './schemas.ts';

/** Specification "Compute endpoint": always starts with `ep-`. */
const endpointId = z.string().regex(/^ep-[a-z0-9-]{1,60}$/);

/** Specification "Compute endpoint": starts with `br-`. */
export const branchId = z.string().regex(/^br-[a-z0-9-]{1,60}$/);

/**
 * A name that people choose freely: everything but what has a meaning in a path, before or after a proxy has decoded it. It is
 * percent-encoded when it is sent.
 */
const NAME = String.raw`(?!\.{1,2}(?:/|$))[^/\\%?#\p{Cc}]{1,255}`;
const objectName = z.string().regex(new RegExp(`^${NAME}$`, 'u'));

/** The key of a stored object: such names with slashes between them. */
const objectKey = z.string().regex(new RegExp(`^${NAME}(?:/${NAME}){0,30}$`, 'u'));

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
  database_name: objectName,
  role_name: objectName,
  bucket_name: objectName,
  object_key: objectKey,
} as const;

type IdName = keyof typeof idSchemas;

/** The pattern of ids that only a configuration names: letters, digits, `_` and `-`, which have no meaning in a path. */
const opaqueId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/);

/** The pattern of an id, by its name in the path. */
export function idSchemaOf(name: string): z.ZodType<string> {
  return name in idSchemas ? idSchemas[name as IdName] : opaqueId;
}

/** The names of the ids in a path template, in order. */
export function idNamesOf(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
}
