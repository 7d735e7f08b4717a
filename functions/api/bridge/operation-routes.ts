/**
 * Serves the operations that the bridge watches, and what derives from them: whether a new branch can be used, and
 * the state of a compute. A caller can wait for an operation and for a branch.
 */

import * as z from 'zod';
import type { BranchRecord, ComputeRecord } from '../../../shared/records/journal-record.ts';
import { isOpen, isSettled, type OperationRecord } from '../../../shared/records/operation-record.ts';
import { eventsOf } from '../read-model/event-feed.ts';
import { isAmong } from '../read-model/list-page.ts';
import type { DerivedReader, OperationReader, ReadModel } from '../read-model/read-model.ts';
import { notFound } from '../serving/problem.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { WAIT_SECONDS_MAX } from '../serving/waiting.ts';
import {
  cursor,
  filterList,
  limit,
  type ModelOf,
  paged,
  type ReadRequest,
  readPatiently,
  readRoute,
  type WaitDeps,
  waitQuery,
} from './bridge-route.ts';
import { eventAnswer } from './event-routes.ts';

const listQuery = z.strictObject({
  limit,
  cursor,
  status: filterList,
  action: filterList,
  branch_id: filterList,
  endpoint_id: filterList,
  open: z.enum(['true', 'false']).optional().describe('true: neither ended nor given up.'),
});

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
  return (['status', 'action', 'branch_id', 'endpoint_id'] as const).every((field) =>
    isAmong(query[field], record[field]),
  );
}

async function getOperation(
  deps: WaitDeps,
  request: ReadRequest<typeof waitQuery>,
  model: OperationReader,
): Promise<ApiAnswer> {
  const { project_id = '', operation_id = '' } = request.ids;
  const record = await readPatiently(deps, request, {
    read: () => model.operation(project_id, operation_id),
    isDone: (found) => found !== undefined && isSettled(found),
  });
  if (record === undefined) throw notFound();
  return { status: 200, body: { operation: { ...operationView(record), history: eventsOf(record) } } };
}

const operationAnswer = z.looseObject({
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

function operationView(record: OperationRecord): object {
  const { operation_id, project_id, action, branch_id, endpoint_id, status, failures_count } = record;
  const { created_at, updated_at, status_observed_at, command, sequence } = record;
  return {
    operation_id,
    project_id,
    action,
    branch_id,
    endpoint_id,
    status,
    failures_count,
    created_at,
    updated_at,
    status_observed_at,
    sequence,
    open: isOpen(record),
    settled: isSettled(record),
    command,
  };
}

const branchAnswer = z.looseObject({
  branch_id: z.string(),
  project_id: z.string(),
  readiness: z
    .enum(['pending', 'ready', 'failed'])
    .describe('ready: it can be used. failed: an operation of its creation came to nothing.'),
  began_at: z.string().describe('When its creation began, by the clock of the upstream.'),
  operation_ids: z.array(z.string()).describe('The operations that were started to create it.'),
  history: z.array(eventAnswer),
});

const computeAnswer = z.looseObject({
  endpoint_id: z.string(),
  project_id: z.string(),
  branch_id: z.string().optional(),
  state: z.enum(['active', 'idle']),
  state_since: z.string().optional().describe('By the clock of the upstream.'),
  operation_id: z.string().optional().describe('The operation that brought the state.'),
  history: z.array(eventAnswer),
});

export function derivedRoutes(modelOf: ModelOf, deps: WaitDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'getTrackedBranch',
        path: '/projects/{project_id}/branches/{branch_id}',
        summary: 'Whether a new branch can be used; waits until that is decided',
        description: `With wait=N (up to ${WAIT_SECONDS_MAX}) the answer comes when the branch is ready or has failed, or after N seconds as it is then. A branch that is not known yet is waited for as well. Branches that are older than the first sight of their project are not known.`,
        access: 'operations:read',
        query: waitQuery,
        answer: z.object({ branch: branchAnswer }),
      },
      (request, model) => getBranch(deps, request, model),
    ),
    readRoute(
      modelOf,
      {
        id: 'getTrackedCompute',
        path: '/projects/{project_id}/computes/{endpoint_id}',
        summary: 'The state of a compute, with its history',
        description:
          'As its operations have shown it, without a request to the upstream. A compute is known once one of its operations has changed it. The history holds its last two changes, and more while they are not published.',
        access: 'operations:read',
        answer: z.object({ compute: computeAnswer }),
      },
      async ({ ids }, model) => {
        const record = await model.compute(ids['project_id'] ?? '', ids['endpoint_id'] ?? '');
        if (record === undefined) throw notFound();
        return { status: 200, body: { compute: computeView(record) } };
      },
    ),
  ];
}

async function getBranch(
  deps: WaitDeps,
  request: ReadRequest<typeof waitQuery>,
  model: DerivedReader,
): Promise<ApiAnswer> {
  const { project_id = '', branch_id = '' } = request.ids;
  const record = await readPatiently(deps, request, {
    read: () => model.branch(project_id, branch_id),
    isDone: (found) => found !== undefined && found.readiness !== 'pending',
  });
  if (record === undefined) throw notFound();
  return { status: 200, body: { branch: branchView(record) } };
}

function branchView(record: BranchRecord): z.input<typeof branchAnswer> {
  const { branch_id, project_id, readiness, began_at, operation_ids } = record;
  return {
    branch_id,
    project_id,
    readiness,
    began_at,
    operation_ids: [...operation_ids],
    history: [...eventsOf(record)],
  };
}

function computeView(record: ComputeRecord): z.input<typeof computeAnswer> {
  const { endpoint_id, project_id, branch_id, state, state_since, state_operation } = record;
  return {
    endpoint_id,
    project_id,
    branch_id,
    state,
    state_since,
    operation_id: state_operation?.operation_id,
    history: [...eventsOf(record)],
  };
}
