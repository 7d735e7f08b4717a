/** A page of a project's operations, with filters. */

import type * as z from 'zod';
import { isOpen, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ApiAnswer } from '../serving/route.ts';
import type { operationQuery } from './parts.ts';
import type { ReadModel } from './read-model.ts';
import { operationView } from './views.ts';

type OperationQuery = z.output<typeof operationQuery>;

/** A filter that fits little reads so many pages before it answers with a cursor to go on from. */
export const FILTERED_PAGES_MAX = 10;

export async function listOperations(
  model: ReadModel,
  projectId: string,
  query: OperationQuery,
): Promise<ApiAnswer> {
  const operations: OperationRecord[] = [];
  let next = query.cursor;
  for (let page = 0; page < FILTERED_PAGES_MAX; page++) {
    const found = await model.operations(projectId, { limit: query.limit, cursor: next });
    operations.push(...found.items.filter((record) => fits(record, query)));
    next = found.next;
    if (next === undefined || operations.length > 0) break;
  }
  return { status: 200, body: { operations: operations.map(operationView), cursor: next } };
}

function fits(record: OperationRecord, query: OperationQuery): boolean {
  if (query.open !== undefined && isOpen(record) !== (query.open === 'true')) return false;
  return (['status', 'action', 'branch_id', 'endpoint_id'] as const).every(
    (field) => query[field] === undefined || query[field] === record[field],
  );
}
