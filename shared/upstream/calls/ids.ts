/**
 * Defines the patterns of the ids in paths. No slash, percent sign or step upwards fits one, so an id cannot change the path.
 */

import * as z from 'zod';
import { operationId, projectId } from './schemas.ts';

/** The specification says in "Compute endpoint" that the id starts with `ep-`. */
const endpointId = z.string().regex(/^ep-[a-z0-9-]{1,60}$/);

/** The specification says in "Compute endpoint" that the id starts with `br-`. */
export const branchId = z.string().regex(/^br-[a-z0-9-]{1,60}$/);

/**
 * A name that people choose freely may have everything but what has a meaning in a path, before or after a proxy has
 * decoded it. It is percent-encoded when it is sent.
 */
const NAME = String.raw`(?!\.{1,2}(?:/|$))[^/\\%?#\p{Cc}]{1,255}`;
const objectName = z.string().regex(new RegExp(`^${NAME}$`, 'u'));

/** The key of a stored object consists of such names with slashes between them. */
const objectKey = z.string().regex(new RegExp(`^${NAME}(?:/${NAME}){0,30}$`, 'u'));

/** The name of a domain, or of a field of the logs, has parts with single dots between them. */
const dottedName = z.string().regex(/^(?=.{1,253}$)[A-Za-z0-9_][\w-]*(?:\.[\w-]+)*$/);

export const idSchemas = {
  project_id: projectId,
  operation_id: operationId,
  endpoint_id: endpointId,
  /** This is the id of a user at the auth provider. Its form is not documented. */
  auth_user_id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/),
  /** Values like `google`, `github` and `microsoft` are known. The set is open. */
  oauth_provider_id: z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/),
  /** The specification has one value and the public contract several, so the set is open. */
  auth_provider: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
  database_name: objectName,
  role_name: objectName,
  bucket_name: objectName,
  object_key: objectKey,
  domain: dottedName,
  field_name: dottedName,
} as const;

type IdName = keyof typeof idSchemas;

/**
 * This pattern is for ids that only a configuration names. Letters, digits, `_` and `-` have no meaning in a path.
 */
const opaqueId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/);

/** Returns the pattern of an id, by its name in the path. */
export function idSchemaOf(name: string): z.ZodType<string> {
  return name in idSchemas ? idSchemas[name as IdName] : opaqueId;
}

/** The templates are those of the table and of the configuration, so there are a few hundred. */
const namesOfPaths = new Map<string, readonly string[]>();

/** Returns the names of the ids in a path template, in order. */
export function idNamesOf(path: string): readonly string[] {
  const known = namesOfPaths.get(path);
  if (known !== undefined) return known;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  namesOfPaths.set(path, names);
  return names;
}
