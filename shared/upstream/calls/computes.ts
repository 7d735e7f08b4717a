/** Defines the calls of computes, operations and projects. */

import * as z from 'zod';
import { defineCall } from './call.ts';
import { branchId } from './ids.ts';
import { endpointSchema, operationListSchema, pageCursor, projectListSchema } from './schemas.ts';

/** The specification offers these sizes ("Compute sizes"), up to 56. The service decides which of them may scale. */
const computeUnits = z.number().min(0.25).max(56);

/** In the public contract, 0 is the default of five minutes, -1 is never, and a week is the most. */
const suspendTimeoutSeconds = z.number().int().min(-1).max(604_800);

const plainSettings = z.record(z.string().max(100), z.union([z.string(), z.number(), z.boolean()]));

/**
 * The specification says that other settable attributes exist and are not listed. These are the ones of the public
 * contract.
 */
const settable = {
  autoscaling_limit_min_cu: computeUnits.optional(),
  autoscaling_limit_max_cu: computeUnits.optional(),
  suspend_timeout_seconds: suspendTimeoutSeconds.optional(),
  pooler_enabled: z.boolean().optional(),
  pooler_mode: z.enum(['transaction']).optional(),
  disabled: z.boolean().optional(),
  passwordless_access: z.boolean().optional(),
  provisioner: z.string().max(100).optional(),
  name: z.string().min(1).max(100).optional(),
  /**
   * These are maps of plain values. The names of Postgres settings are an open set, and none of them names a project.
   */
  settings: z
    .looseObject({ pg_settings: plainSettings.optional(), pgbouncer_settings: plainSettings.optional() })
    .optional(),
};

/** The rows are parsed one by one where they are recorded. */
const endpointWithOperations = z.looseObject({
  endpoint: endpointSchema,
  operations: z.array(z.unknown()).default([]),
});

export const computeCalls = {
  /**
   * Creates a compute and starts it. A branch has at most one compute of the type `read_write`, and any number of
   * read replicas.
   *
   * The specification describes it in "Computes". The upstream refuses it with 404 for an unknown branch, 409 for a
   * second primary, 423 while conflicting operations run, 400 for a size that is not offered.
   */
  createEndpoint: defineCall({
    method: 'POST',
    path: '/projects/{project_id}/endpoints',
    scope: 'computes:write',
    reach: 'path_project',
    summary: 'Create a compute',
    section: 'Computes',
    body: z.looseObject({
      endpoint: z.looseObject({
        ...settable,
        branch_id: branchId,
        type: z.enum(['read_write', 'read_only']),
        region_id: z.string().max(100).optional(),
      }),
    }),
    answer: endpointWithOperations,
    status: 201,
  }),
  /**
   * Lists all computes of a project.
   *
   * The specification describes it in "Computes". The upstream refuses it with 404 for an unknown project.
   */
  listEndpoints: defineCall({
    method: 'GET',
    path: '/projects/{project_id}/endpoints',
    scope: 'computes:read',
    reach: 'path_project',
    summary: 'List computes',
    section: 'Computes',
    answer: z.looseObject({ endpoints: z.array(endpointSchema) }),
    status: 200,
  }),
  /**
   * Reassigns or resizes a compute. A new size restarts it.
   *
   * The specification describes it in "Computes". The upstream refuses it with 404 for an unknown compute, 409 when
   * the target has a primary, 423 while conflicting operations run, 400 for a size that is not offered.
   */
  updateEndpoint: defineCall({
    method: 'PATCH',
    path: '/projects/{project_id}/endpoints/{endpoint_id}',
    scope: 'computes:write',
    reach: 'path_project',
    summary: 'Update a compute',
    section: 'Computes',
    body: z.looseObject({ endpoint: z.looseObject({ ...settable, branch_id: branchId.optional() }) }),
    answer: endpointWithOperations,
    status: 200,
  }),
  /**
   * Deletes a compute. One that is added later has other connection details.
   *
   * The specification describes it in "Computes". The upstream refuses it with 404 for an unknown compute, 423 while
   * conflicting operations run.
   */
  deleteEndpoint: defineCall({
    method: 'DELETE',
    path: '/projects/{project_id}/endpoints/{endpoint_id}',
    scope: 'computes:delete',
    reach: 'path_project',
    summary: 'Delete a compute',
    section: 'Computes',
    answer: endpointWithOperations.optional(),
    status: 200,
    otherStatus: 204,
  }),
  /**
   * Restarts an active compute; its connections are dropped.
   *
   * The specification describes it in "Computes". The upstream refuses it with 404 for an unknown compute, 400 when
   * it is not active, 423 while conflicting operations run.
   */
  restartEndpoint: defineCall({
    method: 'POST',
    path: '/projects/{project_id}/endpoints/{endpoint_id}/restart',
    scope: 'computes:restart',
    reach: 'path_project',
    summary: 'Restart a compute',
    section: 'Computes',
    answer: endpointWithOperations,
    status: 200,
  }),
} as const;

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
