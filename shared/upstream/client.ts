/** The upstream over HTTP: one typed function per call of the table, and the poller's view of three of them. */

import * as z from 'zod';
import { type CallDeps, callUpstream, type LooseRequest } from './call-upstream.ts';
import { type AnswerOf, type CallId, calls, type RequestOf } from './calls/calls.ts';
import { shareRefresh } from './key-source.ts';
import { plainOperation } from './plain-operation.ts';
import * as schemas from './schemas.ts';
import type { SendDeps } from './send.ts';
import type { CallOptions, UpstreamClient } from './upstream-client.ts';

export interface UpstreamClientOptions extends SendDeps {
  /** Ends with `/api/v2`. */
  readonly baseUrl: string;
}

export type { KeySource } from './key-source.ts';
export type { Attempt } from './send.ts';

/**
 * One function per call. Secrets of a body may be given as `Secret`, and those of an answer come as `Secret`. Times are
 * ISO 8601, sizes compute units, time-outs seconds. Every function rejects with `UpstreamError`, whose `kind` says what
 * can be done about it; beside the refusals of its own a call meets 401, 429 and 5xx. What has no kind is a bug.
 */
export type UpstreamCalls = {
  readonly [Id in keyof typeof calls]: (
    request: RequestOf<(typeof calls)[Id]>,
    options?: CallOptions,
  ) => Promise<AnswerOf<(typeof calls)[Id]>>;
};

export function createUpstreamCalls(options: UpstreamClientOptions): UpstreamCalls {
  const deps = depsOf(options);
  const functions = (Object.keys(calls) as CallId[]).map((id) => {
    const call = async (request: LooseRequest, callOptions?: CallOptions) =>
      (await callUpstream(deps, calls[id], request, callOptions)).body;
    return [id, call];
  });
  return Object.fromEntries(functions) as UpstreamCalls;
}

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const deps = depsOf(options);

  return {
    async listProjects(query, callOptions) {
      const { body, serverDateMs } = await callUpstream(deps, calls.listProjects, { query }, callOptions);
      const { rows, malformedRowCount } = schemas.parseRows(body.projects, schemas.projectSchema);
      return {
        projects: rows,
        malformedRowCount,
        cursor: body.pagination?.cursor,
        unavailableProjectIds: body.unavailable_project_ids ?? [],
        serverDateMs,
      };
    },

    async listOperations({ projectId, ...query }, callOptions) {
      const request = { ids: { project_id: projectId }, query };
      const { body } = await callUpstream(deps, calls.listOperations, request, callOptions);
      const { rows, malformedRowCount } = schemas.parseRows(
        body.operations,
        // Building a schema costs more than reading a page of usual rows, which need none.
        once(() => operationOf(projectId)),
        (row) => plainOperation(row, projectId),
      );
      return { operations: rows, malformedRowCount, cursor: body.pagination?.cursor };
    },

    async getOperation({ projectId, operationId }, callOptions) {
      const operation = operationOf(projectId).refine(({ id }) => id === operationId);
      const call = { ...calls.getOperation, answer: z.looseObject({ operation }) };
      const request = { ids: { project_id: projectId, operation_id: operationId } };
      const { body } = await callUpstream(deps, call, request, callOptions);
      return body.operation;
    },
  };
}

function depsOf({ baseUrl, ...options }: UpstreamClientOptions): CallDeps {
  return { ...options, base: new URL(baseUrl), apiKey: shareRefresh(options.apiKey) };
}

function once<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => (created ??= create());
}

/** What is recorded goes under the project it names: a row that names another one is counted as malformed. */
function operationOf(projectId: string) {
  return schemas.operationSchema(projectId).refine(({ project_id }) => project_id === projectId);
}
