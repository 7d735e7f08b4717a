/** Defines calls of the upstream that the specification does not show, and that a configuration opens one by one. */

import * as z from 'zod';
import { SCOPES } from '../callers/scopes.ts';

/** The specification does not show this call, and the configuration opens it. */
const extraRoute = z
  .strictObject({
    id: z.string().regex(/^[a-z][A-Za-z0-9]{2,60}$/),
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    /** The path is below `/api/v2`, like `/projects/{project_id}/endpoints/{endpoint_id}/start`. */
    path: z.string().regex(/^(\/([a-z][a-z0-9_]*|\{[a-z][a-z0-9_]*\})){1,8}$/),
    summary: z.string().min(3).max(100),
    scope: z.enum(SCOPES),
    /** These query parameters are passed on as they are. */
    query: z
      .array(z.string().regex(/^[a-z][a-z0-9_]{0,40}$/))
      .max(20)
      .default([]),
    /** `json` says that the body is a JSON object, which is passed on as it is. */
    body: z.enum(['none', 'json']).default('none'),
    /**
     * The call declares these fields of the body, like `branch.name`. A caller that is limited to projects may send
     * no others.
     */
    body_fields: z
      .array(z.string().regex(/^[a-z][a-z0-9_]{0,40}(\.[a-z][a-z0-9_]{0,40}){0,3}$/))
      .max(40)
      .default([]),
    /**
     * It is true when the call stays within the project of its path. Otherwise it is closed to callers that are
     * limited to projects.
     */
    stays_within_project: z.boolean().default(false),
    /** The answer may hold a secret, so that it is not kept for a repetition under the same Idempotency-Key. */
    is_secret: z.boolean().default(false),
  })
  .refine(({ path, stays_within_project }) => !stays_within_project || path.includes('{project_id}'), {
    path: ['stays_within_project'],
    error: 'takes a path with {project_id}: a call without it is about the whole account',
  });

export type ExtraRoute = z.output<typeof extraRoute>;

export const extraRoutes = z.array(extraRoute).max(50);
