/**
 * Sends the bridge's own reads to the upstream over HTTP. Answers are typed, and a read is repeated after what passes
 * by itself.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { runningComputesOf } from '../core/records/running-compute.ts';
import { once } from '../runtime/on-demand.ts';
import type { Call } from './calls/call.ts';
import type { AnswerOf } from './calls/calls.ts';
import { computeCalls } from './calls/computes.ts';
import { operationSchema, plainOperation } from './calls/operation-row.ts';
// Only these parts of the table are loaded, because schemas are built when their file is loaded, at every cold start.
import { operationCalls } from './calls/operations.ts';
import { type ProjectRow, plainProject } from './calls/project-row.ts';
import { projectCalls } from './calls/projects.ts';
import * as schemas from './calls/schemas.ts';
import { shareRefresh } from './key-source.ts';
import { type CallDeps, outgoingRequest, type RequestParts } from './outgoing-request.ts';
import { type ParsedAnswer, type ParsedRequest, sendAndParse } from './send-and-parse.ts';
import type { SendDeps } from './send-with-key.ts';
import type { CallOptions, UpstreamClient } from './upstream-client.ts';

export interface UpstreamClientOptions extends SendDeps {
  /** The URL ends with `/api/v2`. */
  readonly baseUrl: string;
}

/** The rows are parsed one by one, so that an unusual one spoils nothing. */
const COMPUTE_LIST = {
  ...computeCalls.listEndpoints,
  answer: z.looseObject({ endpoints: z.array(z.unknown()) }),
};

/** A page that has not changed is read as one without rows. */
const NO_ROWS = { operations: [] };

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const deps = depsOf(options);

  return {
    async listProjects(query, callOptions) {
      const { body, serverDateMs } = await readCall(deps, projectCalls.listProjects, { query }, callOptions);
      const projects = schemas.parseRows<ProjectRow>(body.projects, schemas.projectSchema, plainProject);
      const unavailable = schemas.parseRows(body.unavailable_project_ids ?? [], schemas.projectId);
      return {
        projects: projects.rows,
        // An unavailable project whose id cannot be read is as invisible as a project whose row cannot be read.
        malformedRowCount: projects.malformedRowCount + unavailable.malformedRowCount,
        cursor: body.pagination?.cursor,
        unavailableProjectIds: unavailable.rows,
        serverDateMs,
      };
    },

    async listOperations({ projectId, ...query }, { known, ...callOptions } = {}) {
      const request = { ids: { project_id: projectId }, query };
      let digest: string | undefined;
      const decode = (text: string): unknown => {
        digest = createHash('sha256').update(text).digest('base64');
        return digest === known ? NO_ROWS : JSON.parse(text);
      };
      const { body, serverDateMs } = await readCall(
        deps,
        operationCalls.listOperations,
        { ...request, decode },
        callOptions,
      );
      const { rows, malformedRowCount } = schemas.parseRows(
        body.operations,
        // The schema is built for the first unusual row only: building it costs more than reading a page of usual rows.
        once(() => operationOf(projectId)),
        (row) => plainOperation(row, projectId),
      );
      const isUnchanged = digest !== undefined && digest === known;
      const { cursor } = body.pagination ?? {};
      return { operations: rows, malformedRowCount, cursor, serverDateMs, digest, isUnchanged };
    },

    async listRunningComputes({ projectId }, callOptions) {
      const request = { ids: { project_id: projectId } };
      const { body } = await readCall(deps, COMPUTE_LIST, request, callOptions);
      return runningComputesOf(body.endpoints);
    },

    async getOperation({ projectId, operationId }, callOptions) {
      const operation = operationOf(projectId).refine(({ id }) => id === operationId);
      const call = { ...operationCalls.getOperation, answer: z.looseObject({ operation }) };
      const request = { ids: { project_id: projectId, operation_id: operationId } };
      const { body } = await readCall(deps, call, request, callOptions);
      return body.operation;
    },
  };
}

/** Makes what a call needs of the options of a client. */
export function depsOf({ baseUrl, ...options }: UpstreamClientOptions): CallDeps {
  return { ...options, base: new URL(baseUrl), apiKey: shareRefresh(options.apiKey) };
}

/** Rejects with `UpstreamError`. It is of kind `rejected` without a status when an id or a field has a wrong form. */
async function readCall<C extends Call>(
  deps: CallDeps,
  call: C,
  { decode, ...parts }: RequestParts & Pick<ParsedRequest<unknown>, 'decode'>,
  { signal, permit }: CallOptions = {},
): Promise<ParsedAnswer<AnswerOf<C>>> {
  const outgoing = outgoingRequest(deps.base, call, parts);
  const schema = call.answer as never;
  return sendAndParse<AnswerOf<C>>(deps, { ...outgoing, schema, decode, signal, permit });
}

/**
 * An operation is recorded under the project that its row names. A row that names another project counts as
 * malformed.
 */
function operationOf(projectId: string) {
  return operationSchema(projectId).refine(({ project_id }) => project_id === projectId);
}
