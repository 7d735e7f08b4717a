/** What the bridge's own routes take and answer, for the server and for the document. */

import * as z from 'zod';

/** Pages of people are shorter, programs may ask for a hundred at once: a page is one read of the table. */
export const PAGE_MAX = 100;

/** Below the 30 s after which API Gateway gives up. */
export const WAIT_SECONDS_MAX = 25;

export const limit = z.coerce.number().int().min(1).max(PAGE_MAX).default(50);
export const cursor = z.string().min(1).max(6_000).optional();
export const wait = z.coerce.number().int().min(0).max(WAIT_SECONDS_MAX).default(0);
const name = z.string().min(1).max(100).optional();

export const operationFilters = {
  status: name.describe('Only operations in this status.'),
  action: name.describe('Only operations of this action.'),
  branch_id: name,
  endpoint_id: name,
  open: z.enum(['true', 'false']).optional().describe('true: neither ended nor given up.'),
};

export const eventFilters = { detail_type: name, project_id: name, status: name, action: name };

export const operationAnswer = z.looseObject({
  operation_id: z.string(),
  project_id: z.string(),
  action: z.string(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  status: z.string(),
  failures_count: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  status_observed_at: z.string().describe('When the bridge first saw this status.'),
  open: z.boolean(),
  settled: z.boolean().describe('Not open, and all its events are on the bus.'),
  command: z.object({ client_id: z.string(), request_id: z.string() }).optional(),
});

export const eventAnswer = z.object({
  id: z.string(),
  detail_type: z.string(),
  source: z.string(),
  time: z.string(),
  detail: z.record(z.string(), z.unknown()),
  published: z.boolean().describe('The bus has it.'),
});

export const paged = (item: z.ZodType, of: string) =>
  z.object({
    [of]: z.array(item),
    cursor: z.string().optional().describe('For the next page; absent at the end.'),
  });

export const operationQuery = z.strictObject({ limit, cursor, ...operationFilters });
export const feedQuery = z.strictObject({
  limit,
  cursor,
  from: z.enum(['beginning', 'now']).default('beginning'),
  wait,
  ...eventFilters,
});
export const recentQuery = z.strictObject({ limit, cursor, ...eventFilters });
