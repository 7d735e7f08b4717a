/** Who asked for what: the audit for whoever may read it, with filters. */

import * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { AuditPage, AuditRecord } from './audit-reader.ts';
import { cursor, limit } from './parts.ts';
import type { ReadModel } from './read-model.ts';

export const AUDIT_OUTCOMES = ['done', 'refused', 'unknown', 'open'] as const;

const name = z.string().min(1).max(100).optional();
const time = z.iso.datetime().optional();

export const auditQuery = z.strictObject({
  limit,
  cursor,
  client_id: name.describe('Only what this caller asked for.'),
  call: name.describe('Only this call, by its operationId.'),
  project_id: name,
  outcome: z
    .enum(AUDIT_OUTCOMES)
    .optional()
    .describe('open: without an outcome, because it is under way or the process ended before it did.'),
  from: time.describe('Only what was received then or later.'),
  until: time.describe('Only what was received before.'),
});

export const auditAnswer = z.object({
  request_id: z.string(),
  client_id: z.string(),
  call: z.string(),
  project_id: z.string().optional(),
  resource: z.record(z.string(), z.string()),
  received_at: z.string(),
  outcome: z.enum(['done', 'refused', 'unknown']).optional(),
  status: z.number().optional(),
  problem: z.string().optional(),
  duration_ms: z.number().optional(),
  operation_ids: z.array(z.string()).optional(),
});

export type AuditFilter = Omit<z.output<typeof auditQuery>, 'limit' | 'cursor'>;

/** Whoever is limited to projects sees what was asked of these, and nothing that is about no project. */
export function readAudit(
  model: ReadModel,
  caller: Caller,
  query: z.output<typeof auditQuery>,
): Promise<AuditPage> {
  const isVisible = ({ project_id }: AuditRecord) =>
    caller.projectIds === undefined || (project_id !== undefined && maySee(caller, project_id));
  const { limit: most, cursor: from, ...filter } = query;
  return model.audit({
    limit: most,
    cursor: from,
    from: isoOf(filter.from),
    until: isoOf(filter.until),
    fits: (record) => isVisible(record) && fits(record, filter),
  });
}

function fits(record: AuditRecord, filter: AuditFilter): boolean {
  if (filter.outcome !== undefined && filter.outcome !== (record.outcome ?? 'open')) return false;
  return (['client_id', 'call', 'project_id'] as const).every(
    (field) => filter[field] === undefined || filter[field] === record[field],
  );
}

/** As records have it: they are compared as text. */
function isoOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : new Date(text).toISOString();
}
