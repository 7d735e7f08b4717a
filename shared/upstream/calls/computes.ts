/** Defines the calls of computes, operations and projects. */

import * as z from 'zod';
import { specified } from './call.ts';
import { branchId, endpointSchema, operationListSchema, pageCursor, projectListSchema } from './schemas.ts';

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
  settings: z
    .looseObject({
      /** The names of Postgres settings are an open set, and none of them names a project. */
      pg_settings: plainSettings.optional(),
      pgbouncer_settings: plainSettings.optional(),
      preload_libraries: z
        .looseObject({
          use_defaults: z.boolean().optional(),
          enabled_libraries: z.array(z.string().max(100)).optional(),
        })
        .optional(),
    })
    .optional(),
};

/** The rows are parsed one by one where they are recorded. */
const endpointWithOperations = z.looseObject({
  endpoint: endpointSchema,
  operations: z.array(z.unknown()).default([]),
});

export const computeCalls = {
  createEndpoint: specified('POST /projects/{project_id}/endpoints | computes:write | Create a compute', {
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
  listEndpoints: specified('GET /projects/{project_id}/endpoints | computes:read | List computes', {
    section: 'Computes',
    answer: z.looseObject({ endpoints: z.array(endpointSchema) }),
  }),
  updateEndpoint: specified(
    'PATCH /projects/{project_id}/endpoints/{endpoint_id} | computes:write | Update a compute',
    {
      section: 'Computes',
      body: z.looseObject({ endpoint: z.looseObject({ ...settable, branch_id: branchId.optional() }) }),
      answer: endpointWithOperations,
    },
  ),
  deleteEndpoint: specified(
    'DELETE /projects/{project_id}/endpoints/{endpoint_id} | computes:delete | Delete a compute',
    { section: 'Computes', answer: endpointWithOperations.optional(), otherStatus: 204 },
  ),
  restartEndpoint: specified(
    'POST /projects/{project_id}/endpoints/{endpoint_id}/restart | computes:restart | Restart a compute',
    { section: 'Computes', answer: endpointWithOperations },
  ),
} as const;

export const operationCalls = {
  listOperations: specified('GET /projects/{project_id}/operations | operations:read | List operations', {
    section: 'Operations',
    query: z.looseObject({
      limit: z.coerce.number().int().min(1).max(1_000).optional(),
      cursor: pageCursor,
    }),
    answer: operationListSchema,
  }),
  getOperation: specified(
    'GET /projects/{project_id}/operations/{operation_id} | operations:read | Get an operation',
    { section: 'Operations', answer: z.looseObject({ operation: z.unknown() }) },
  ),
} as const;

export const projectListCalls = {
  listProjects: specified('GET /projects | projects:read | List projects', {
    reach: 'own_projects',
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
  }),
} as const;
