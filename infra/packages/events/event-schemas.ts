/**
 * Gives the zod schema of each event's detail, by the detail type. `npm run generate` writes this file from
 * shared/events/catalog.ts; do not edit it.
 */

import * as z from 'zod';
import type { BridgeEventDetails } from './event-details.ts';

const common = {
  schema: z.literal(1),
  id: z.string(),
  account_id: z.string(),
  observed_at: z.iso.datetime(),
};
const eventCommand = z.object({
  client_id: z.string(),
  request_id: z.string(),
  traceparent: z.string().optional(),
});
const eventOperation = z.object({
  operation_id: z.string(),
  action: z.string(),
  status: z.string(),
  failures_count: z.int().nonnegative(),
});

/** Each schema leaves out fields that it does not know, because events gain fields without notice. Do not make it strict. */
export const eventSchemas: {
  readonly [Type in keyof BridgeEventDetails]: z.ZodType<BridgeEventDetails[Type]>;
} = {
  'Operation State Changed': z.object({
    ...common,
    project_id: z.string(),
    operation_id: z.string(),
    action: z.string(),
    branch_id: z.string().optional(),
    endpoint_id: z.string().optional(),
    sequence: z.int().positive(),
    previous_status: z.string().nullable(),
    status: z.string(),
    terminal: z.boolean(),
    failures_count: z.int().nonnegative(),
    new_failures: z.int().nonnegative(),
    error: z.string().optional(),
    operation_created_at: z.string(),
    operation_updated_at: z.string(),
    total_duration_ms: z.number().optional(),
    observed_by: z.string(),
    late: z.literal(true).optional(),
    irregular: z.literal(true).optional(),
    was_stalled: z.literal(true).optional(),
    command: eventCommand.optional(),
  }),
  'Command Settled': z.object({
    ...common,
    project_id: z.string(),
    command: eventCommand,
    call: z.string(),
    outcome: z.string(),
    operations: z.array(eventOperation),
    missing: z.array(z.string()),
  }),
  'Branch Ready': z.object({
    ...common,
    project_id: z.string(),
    branch_id: z.string(),
    operations: z.array(eventOperation),
    endpoint_ids: z.array(z.string()),
    duration_ms: z.number().nonnegative().optional(),
    command: eventCommand.optional(),
  }),
  'Branch Failed': z.object({
    ...common,
    project_id: z.string(),
    branch_id: z.string(),
    operations: z.array(eventOperation),
    endpoint_ids: z.array(z.string()),
    duration_ms: z.number().nonnegative().optional(),
    command: eventCommand.optional(),
  }),
  'Compute State Changed': z.object({
    ...common,
    project_id: z.string(),
    endpoint_id: z.string(),
    branch_id: z.string().optional(),
    sequence: z.int().positive(),
    state: z.string(),
    previous_state: z.string().nullable(),
    previous_duration_ms: z.number().nonnegative().optional(),
    reason: z.string().optional(),
    operation_id: z.string(),
    action: z.string(),
    operation_updated_at: z.string(),
    command: eventCommand.optional(),
  }),
  'Operation Stalled': z.object({
    ...common,
    project_id: z.string(),
    operation_id: z.string(),
    action: z.string(),
    branch_id: z.string().optional(),
    endpoint_id: z.string().optional(),
    status: z.string(),
    failures_count: z.int().nonnegative(),
    open_ms: z.number().nonnegative(),
    threshold_ms: z.number().positive(),
    usual_duration: z.object({
      basis: z.string(),
      operation_count: z.int().positive(),
      p50_ms: z.number().nonnegative(),
      p95_ms: z.number().nonnegative(),
      p99_ms: z.number().nonnegative(),
    }).optional(),
    operation_created_at: z.string(),
    command: eventCommand.optional(),
  }),
  'Operation Watch Ended': z.object({
    ...common,
    project_id: z.string(),
    operation_id: z.string(),
    action: z.string(),
    branch_id: z.string().optional(),
    endpoint_id: z.string().optional(),
    reason: z.string(),
    status: z.string(),
    failures_count: z.int().nonnegative(),
  }),
  'Project Discovered': z.object({
    ...common,
    project_id: z.string(),
  }),
  'Project Unreachable': z.object({
    ...common,
    project_id: z.string(),
    reason: z.string().optional(),
  }),
  'Project Transferred': z.object({
    ...common,
    project_id: z.string(),
    from_account_id: z.string(),
    to_account_id: z.string(),
  }),
  'Project Usage Crossed': z.object({
    ...common,
    project_id: z.string().optional(),
    scope: z.string(),
    metric: z.string(),
    used: z.number().nonnegative(),
    limit: z.number().positive(),
    limit_from: z.string(),
    percent: z.number().nonnegative(),
    threshold_percent: z.number().positive(),
    resets_at: z.iso.datetime(),
  }),
  'Account Watched': z.object({
    ...common,
    project_count: z.int().nonnegative(),
    failing_count: z.int().nonnegative(),
  }),
  'Account Degraded': z.object({
    ...common,
    reason: z.string(),
  }),
  'Account Recovered': z.object({
    ...common,
    reason: z.string(),
  }),
};
