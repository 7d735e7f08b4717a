/** Serves what derives from operations: whether a new branch can be used, for which a caller can wait, and the state of a compute. */

import * as z from 'zod';
import type { BranchRecord } from '../../../shared/core/records/branch-record.ts';
import type { ComputeRecord } from '../../../shared/core/records/compute-record.ts';
import { eventsOf } from '../read-model/feed-event.ts';
import type { DerivedReader } from '../read-model/read-model.ts';
import { notFound } from '../serving/problem.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { WAIT_SECONDS_MAX, wait, waitFor } from '../serving/wait-for.ts';
import { type ModelOf, type ReadRequest, readRoute } from './bridge-route.ts';
import { eventAnswer } from './event-routes.ts';
import type { WaitDeps } from './operation-routes.ts';

const waitQuery = z.strictObject({ wait });

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
  { clock, patient }: WaitDeps,
  { caller, ids, query, signal }: ReadRequest<typeof waitQuery>,
  model: DerivedReader,
): Promise<ApiAnswer> {
  const waitMs = query.wait * 1_000;
  const record = await waitFor({
    read: () => model.branch(ids['project_id'] ?? '', ids['branch_id'] ?? ''),
    isDone: (found) => found !== undefined && found.readiness !== 'pending',
    waitMs,
    clock,
    signal,
    beginWait: () => patient.wait(caller, waitMs),
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
