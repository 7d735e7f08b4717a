/** The upstream over HTTP: typed calls with checked ids and bounded answers. The key appears in one header and nowhere else. */

import assert from 'node:assert/strict';
import type * as z from 'zod';
import { shareRefresh } from './key-source.ts';
import * as schemas from './schemas.ts';
import { type SendDeps, send } from './send.ts';
import type { CallOptions, UpstreamClient } from './upstream-client.ts';
import { failure } from './upstream-failure.ts';

export interface UpstreamClientOptions extends SendDeps {
  /** Ends with `/api/v2`. */
  readonly baseUrl: string;
}

export type { KeySource } from './key-source.ts';
export type { Attempt } from './send.ts';

interface Target {
  readonly path: string;
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<'limit' | 'cursor', string | number | undefined>>;
}

const PROJECTS_PATH = '/projects';
const OPERATIONS_PATH = '/projects/{project_id}/operations';
const OPERATION_PATH = '/projects/{project_id}/operations/{operation_id}';

export function createUpstreamClient({ baseUrl, ...options }: UpstreamClientOptions): UpstreamClient {
  const deps: SendDeps = { ...options, apiKey: shareRefresh(options.apiKey) };
  const base = new URL(baseUrl);
  const get = <Body>(target: Target, schema: z.ZodType<Body>, { signal }: CallOptions) =>
    send(deps, { path: target.path, url: urlOf(base, target), schema, signal });

  return {
    async listProjects({ cursor, limit }, callOptions = {}) {
      const target = { path: PROJECTS_PATH, query: { limit, cursor } };
      const { body, serverDateMs } = await get(target, schemas.projectListSchema, callOptions);
      const { rows, malformedRowCount } = schemas.parseRows(body.projects, schemas.projectSchema);
      return {
        projects: rows,
        malformedRowCount,
        cursor: body.pagination?.cursor,
        unavailableProjectIds: body.unavailable_project_ids ?? [],
        serverDateMs,
      };
    },

    async listOperations({ projectId, cursor, limit }, callOptions = {}) {
      const target = { path: OPERATIONS_PATH, ids: { project_id: projectId }, query: { limit, cursor } };
      const { body } = await get(target, schemas.operationListSchema, callOptions);
      const { rows, malformedRowCount } = schemas.parseRows(body.operations, operationOf(projectId));
      return { operations: rows, malformedRowCount, cursor: body.pagination?.cursor };
    },

    async getOperation({ projectId, operationId }, callOptions = {}) {
      const target = { path: OPERATION_PATH, ids: { project_id: projectId, operation_id: operationId } };
      const operation = operationOf(projectId).refine(({ id }) => id === operationId);
      const schema = schemas.operationAnswerSchema.extend({ operation });
      const { body } = await get(target, schema, callOptions);
      return body.operation;
    },
  };
}

/** What is recorded goes under the project it names: a row that names another one is counted as malformed. */
function operationOf(projectId: string) {
  return schemas.operationSchema(projectId).refine(({ project_id }) => project_id === projectId);
}

function urlOf(base: URL, { path, ids = {}, query }: Target): URL {
  const pathname = `${base.pathname.replace(/\/$/, '')}${fill(path, ids)}`;
  const url = new URL(`${base.origin}${pathname}`);
  // Should a pattern below ever let a dot or a slash through: what is sent is what was built.
  assert(url.origin === base.origin && url.pathname === pathname, `${path} became another path`);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

const idSchemas: Readonly<Record<string, z.ZodType<string>>> = {
  project_id: schemas.projectId,
  operation_id: schemas.operationId,
};

/** Ids go in by pattern only: no dot, slash or percent sign reaches a path. */
function fill(path: string, ids: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_placeholder, name: string) => {
    const id = idSchemas[name]?.safeParse(ids[name]);
    if (id?.success !== true)
      throw failure('rejected', { path, reason: `the ${name} is not of the expected form` });
    return id.data;
  });
}
