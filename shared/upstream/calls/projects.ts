/** Defines the calls of projects. */

import * as z from 'zod';
import { defineCall } from './call.ts';
import { pageCursor } from './page-cursor.ts';
import { projectListSchema } from './schemas.ts';

export const projectCalls = {
  /**
   * Lists the projects that the key can see. A page has `limit` (1 to 400) projects; without a limit it has ten.
   *
   * The specification describes it in "Computes". The upstream refuses it with 404 for a key that is scoped to one
   * project.
   */
  listProjects: defineCall({
    method: 'GET',
    path: '/projects',
    scope: 'projects:read',
    reach: 'own_projects',
    summary: 'List projects',
    section: 'Computes',
    query: z.looseObject({
      limit: z.coerce.number().int().min(1).max(400).optional(),
      cursor: pageCursor,
      search: z.string().max(200).optional(),
      org_id: z
        .string()
        .regex(/^[a-z0-9-]{1,60}$/)
        .optional(),
      recoverable: z.enum(['true', 'false']).optional(),
      timeout: z.coerce.number().int().min(100).max(30_000).optional(),
    }),
    answer: projectListSchema,
    status: 200,
  }),
} as const;
