/** The upstream over HTTP as the poller sees it. */

import * as z from 'zod';
import { type CallDeps, callUpstream } from './call-upstream.ts';
// Of the whole table only these: its schemas are built when they are loaded, at every cold start.
import { operationCalls } from './calls/operations.ts';
import { projectCalls } from './calls/projects.ts';
import * as schemas from './calls/schemas.ts';
import { shareRefresh } from './key-source.ts';
import { plainOperation } from './plain-operation.ts';
import type { SendDeps } from './send.ts';
import type { UpstreamClient } from './upstream-client.ts';

export interface UpstreamClientOptions extends SendDeps {
  /** Ends with `/api/v2`. */
  readonly baseUrl: string;
}

export type { KeySource } from './key-source.ts';
export type { Attempt } from './send.ts';

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const deps = depsOf(options);

  return {
    async listProjects(query, callOptions) {
      const { body, serverDateMs } = await callUpstream(
        deps,
        projectCalls.listProjects,
        { query },
        callOptions,
      );
      const projects = schemas.parseRows(body.projects, schemas.projectSchema);
      const unavailable = schemas.parseRows(body.unavailable_project_ids ?? [], schemas.projectId);
      return {
        projects: projects.rows,
        // An id that cannot be read hides a project, as a row does.
        malformedRowCount: projects.malformedRowCount + unavailable.malformedRowCount,
        cursor: body.pagination?.cursor,
        unavailableProjectIds: unavailable.rows,
        serverDateMs,
      };
    },

    async listOperations({ projectId, ...query }, callOptions) {
      const request = { ids: { project_id: projectId }, query };
      const { body, serverDateMs } = await callUpstream(
        deps,
        operationCalls.listOperations,
        request,
        callOptions,
      );
      const { rows, malformedRowCount } = schemas.parseRows(
        body.operations,
        // Building a schema costs more than reading a page of usual rows, which need none.
        once(() => operationOf(projectId)),
        (row) => plainOperation(row, projectId),
      );
      return { operations: rows, malformedRowCount, cursor: body.pagination?.cursor, serverDateMs };
    },

    async getOperation({ projectId, operationId }, callOptions) {
      const operation = operationOf(projectId).refine(({ id }) => id === operationId);
      const call = { ...operationCalls.getOperation, answer: z.looseObject({ operation }) };
      const request = { ids: { project_id: projectId, operation_id: operationId } };
      const { body } = await callUpstream(deps, call, request, callOptions);
      return body.operation;
    },
  };
}

/** What every call needs, of the options that a client is made with. */
export function depsOf({ baseUrl, ...options }: UpstreamClientOptions): CallDeps {
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
