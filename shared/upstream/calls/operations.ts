/** Defines the calls of operations. */

import * as z from 'zod';
import { defineCall } from './call.ts';
import { pageCursor } from './page-cursor.ts';
import { operationListSchema } from './schemas.ts';

export const operationCalls = {
  /**
   * Lists operations, newest first. A page has `limit` (1 to 1000) operations; without a limit it has all of them.
   *
   * The specification describes it in "Operations". The upstream refuses it with 404 for an unknown project, 400 for
   * a limit or cursor that is none.
   */
  listOperations: defineCall({
    method: 'GET',
    path: '/projects/{project_id}/operations',
    scope: 'operations:read',
    reach: 'path_project',
    summary: 'List operations',
    section: 'Operations',
    query: z.looseObject({
      limit: z.coerce.number().int().min(1).max(1_000).optional(),
      cursor: pageCursor,
    }),
    answer: operationListSchema,
    status: 200,
  }),
  /**
   * Shows one operation.
   *
   * The specification describes it in "Operations". The upstream refuses it with 404 for an unknown operation.
   */
  getOperation: defineCall({
    method: 'GET',
    path: '/projects/{project_id}/operations/{operation_id}',
    scope: 'operations:read',
    reach: 'path_project',
    summary: 'Get an operation',
    section: 'Operations',
    answer: z.looseObject({ operation: z.unknown() }),
    status: 200,
  }),
} as const;
