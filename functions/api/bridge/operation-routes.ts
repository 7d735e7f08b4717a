/**
 * Serves the operations that the bridge watches: a page of them with filters, and one of them, for which a caller can
 * wait.
 */

import * as z from 'zod';
import { isOpen, isSettled, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { eventsOf } from '../read-model/feed-event.ts';
import type { OperationReader, ReadModel } from '../read-model/read-model.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import { notFound } from '../serving/problem.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { WAIT_SECONDS_MAX, wait, waitFor } from '../serving/wait-for.ts';
import { type ModelOf, type ReadRequest, readRoute } from './bridge-route.ts';
import { eventAnswer } from './event-routes.ts';
import { operationAnswer, operationView } from './operation-view.ts';
import { cursor, filterText, limit, paged } from './page-query.ts';

export interface WaitDeps {
  readonly clock: Clock;
  readonly patient: PatientCallers;
}

const listQuery = z.strictObject({
  limit,
  cursor,
  status: filterText.describe('Only operations in this status.'),
  action: filterText.describe('Only operations of this action.'),
  branch_id: filterText,
  endpoint_id: filterText,
  open: z.enum(['true', 'false']).optional().describe('true: neither ended nor given up.'),
});

const waitQuery = z.strictObject({ wait });

/**
 * At most this many pages are read for one answer when the filter matches little. The answer then has a cursor for
 * the rest.
 */
export const FILTERED_PAGES_MAX = 10;

export function operationRoutes(modelOf: ModelOf, deps: WaitDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'listTrackedOperations',
        path: '/projects/{project_id}/operations',
        summary: 'Operations of a project, newest first',
        description:
          'As the bridge last saw them. A page with filters may be short and still have a cursor. What had ended before `watched_since` is history, of which the bridge keeps no record.',
        access: 'operations:read',
        query: listQuery,
        answer: paged(operationAnswer, 'operations').extend({ watched_since: z.string().optional() }),
      },
      async ({ ids, query }, model) => listOperations(model, ids['project_id'] ?? '', query),
    ),
    readRoute(
      modelOf,
      {
        id: 'getTrackedOperation',
        path: '/projects/{project_id}/operations/{operation_id}',
        summary: 'One operation with its history; waits until it settles',
        description: `With wait=N (up to ${WAIT_SECONDS_MAX}) the answer comes when the operation has ended and its events are on the bus, or after N seconds as it is then. An operation that is not known yet is waited for as well.`,
        access: 'operations:read',
        query: waitQuery,
        answer: z.object({ operation: operationAnswer.extend({ history: z.array(eventAnswer) }) }),
      },
      async (request, model) => getOperation(deps, request, model),
    ),
  ];
}

async function listOperations(
  model: ReadModel,
  projectId: string,
  query: z.output<typeof listQuery>,
): Promise<ApiAnswer> {
  const operations: OperationRecord[] = [];
  let next = query.cursor;
  for (let page = 0; page < FILTERED_PAGES_MAX; page++) {
    const found = await model.operations(projectId, { limit: query.limit, cursor: next });
    operations.push(...found.items.filter((record) => fits(record, query)));
    next = found.next;
    if (next === undefined || operations.length > 0) break;
  }
  const watched_since = await model.watchedSince(projectId);
  return { status: 200, body: { operations: operations.map(operationView), cursor: next, watched_since } };
}

function fits(record: OperationRecord, query: z.output<typeof listQuery>): boolean {
  if (query.open !== undefined && isOpen(record) !== (query.open === 'true')) return false;
  return (['status', 'action', 'branch_id', 'endpoint_id'] as const).every(
    (field) => query[field] === undefined || query[field] === record[field],
  );
}

async function getOperation(
  { clock, patient }: WaitDeps,
  { caller, ids, query, signal }: ReadRequest<typeof waitQuery>,
  model: OperationReader,
): Promise<ApiAnswer> {
  const waitMs = query.wait * 1_000;
  const record = await waitFor({
    read: () => model.operation(ids['project_id'] ?? '', ids['operation_id'] ?? ''),
    isDone: (found) => found !== undefined && isSettled(found),
    waitMs,
    clock,
    signal,
    beginWait: () => patient.wait(caller, waitMs),
  });
  if (record === undefined) throw notFound();
  return { status: 200, body: { operation: { ...operationView(record), history: eventsOf(record) } } };
}
