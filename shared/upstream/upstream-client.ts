/** Defines the bridge's own reads of the upstream as a port, and the client that makes them over HTTP. The simulation has a client of its own. */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type RunningCompute, runningComputesOf } from '../records/compute-state.ts';
import type { Operation } from '../records/operation-record.ts';
import { once } from '../runtime/on-demand.ts';
import type { Call } from './calls/call.ts';
import type { AnswerOf } from './calls/calls.ts';
import { computeCalls, operationCalls, projectListCalls } from './calls/computes.ts';
import {
  operationSchema,
  type ProjectRow,
  parseRows,
  plainOperation,
  plainProject,
  projectIdSchema,
  projectSchema,
} from './calls/schemas.ts';
import { type CallDeps, outgoingRequest, type RequestParts } from './forward.ts';
import type { Permit } from './request-budget.ts';
import {
  type ParsedAnswer,
  type ParsedRequest,
  type SendDeps,
  sendAndParse,
  shareRefresh,
} from './send-with-key.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** This permit was already taken for the first request. Repetitions take permits of their own. */
  readonly permit?: Permit | undefined;
}

export interface PageOptions extends CallOptions {
  /** A page whose bytes have this digest is not parsed: it comes back unchanged. */
  readonly known?: string | undefined;
}

export interface OperationPage {
  /** The newest operation comes first. */
  readonly operations: readonly Operation[];
  /** This number of rows could not be parsed. They are left out. */
  readonly malformedRowCount: number;
  /** It must be sent back unchanged. It is there even when nothing follows, and absent on an empty list. */
  readonly cursor: string | undefined;
  /**
   * This is the upstream's clock, from the `Date` header, in milliseconds since the epoch. It is undefined when the
   * answer has no such header.
   */
  readonly serverDateMs?: number | undefined;
  /** It is the digest of the answer's bytes. It is undefined where the answer is not read from bytes. */
  readonly digest?: string | undefined;
  /** It is true when the digest is the known one. Then the page shows none of its rows and no cursor. */
  readonly isUnchanged?: boolean;
}

interface ProjectPage {
  readonly projects: readonly ProjectRow[];
  readonly malformedRowCount: number;
  readonly cursor: string | undefined;
  /** These projects exist and could not be listed in time, so the page is partial. */
  readonly unavailableProjectIds: readonly string[];
  /** This is the upstream's clock, from the `Date` header, in milliseconds since the epoch. */
  readonly serverDateMs: number | undefined;
}

/**
 * Every call rejects with `UpstreamError` when the upstream fails. It rejects with another error only when the
 * account's API key could not be read from its secret.
 */
export interface UpstreamClient {
  listProjects: (query: { cursor?: string; limit?: number }, options?: CallOptions) => Promise<ProjectPage>;
  listOperations: (
    query: { projectId: string; limit?: number; cursor?: string },
    options?: PageOptions,
  ) => Promise<OperationPage>;
  /** Lists the computes of the project that run. Rows of an unusual form are left out. */
  listRunningComputes: (
    query: { projectId: string },
    options?: CallOptions,
  ) => Promise<readonly RunningCompute[]>;
  /**
   * After a time-out the request is not repeated. The next poll asks again, and until then an operation that never answers
   * must not hold up its project.
   */
  getOperation: (
    query: { projectId: string; operationId: string },
    options?: CallOptions,
  ) => Promise<Operation>;
}

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
      const { body, serverDateMs } = await readCall(
        deps,
        projectListCalls.listProjects,
        { query },
        callOptions,
      );
      const projects = parseRows<ProjectRow>(body.projects, projectSchema, plainProject);
      const unavailable = parseRows(body.unavailable_project_ids ?? [], projectIdSchema);
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
      const { rows, malformedRowCount } = parseRows(
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
      const request = { ids: { project_id: projectId, operation_id: operationId }, endsAtTimeout: true };
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
  {
    decode,
    endsAtTimeout,
    ...parts
  }: RequestParts & Pick<ParsedRequest<unknown>, 'decode' | 'endsAtTimeout'>,
  { signal, permit }: CallOptions = {},
): Promise<ParsedAnswer<AnswerOf<C>>> {
  const outgoing = outgoingRequest(deps.base, call, parts);
  const schema = call.answer as never;
  return sendAndParse<AnswerOf<C>>(deps, { ...outgoing, schema, decode, endsAtTimeout, signal, permit });
}

/**
 * An operation is recorded under the project that its row names. A row that names another project counts as
 * malformed.
 */
function operationOf(projectId: string) {
  return operationSchema(projectId).refine(({ project_id }) => project_id === projectId);
}
