/** Reads one project from both sides through the bridge: the upstream's list, the tracked operations, and their events. */

import * as z from 'zod';
import type { BridgeClient } from '../connection/bridge-client.ts';
import type { ProjectView, SeenEvent, SeenOperation, TrackedOperation } from './compare-operations.ts';

export interface Reading {
  readonly client: BridgeClient;
  /** Is awaited before each request that goes on to the upstream. */
  readonly pace: () => Promise<void>;
  /** Operations that were created before this time (ISO 8601) are left out. */
  readonly since: string;
}

const projects = z.looseObject({
  projects: z.array(z.looseObject({ project_id: z.string() })),
  cursor: z.string().optional(),
});

const upstreamPage = z.looseObject({
  operations: z.array(
    z.looseObject({
      id: z.string(),
      status: z.string(),
      failures_count: z.number(),
      created_at: z.string(),
      updated_at: z.string().optional(),
    }),
  ),
  pagination: z.looseObject({ cursor: z.string().optional() }).optional(),
});

const trackedPage = z.looseObject({
  operations: z.array(
    z.looseObject({
      operation_id: z.string(),
      status: z.string(),
      failures_count: z.number(),
      created_at: z.string(),
      sequence: z.number(),
    }),
  ),
  watched_since: z.string().optional(),
  cursor: z.string().optional(),
});

const history = z.looseObject({
  operation: z.looseObject({
    history: z.array(z.looseObject({ detail_type: z.string(), detail: z.record(z.string(), z.unknown()) })),
  }),
});

const stateChanged = z.looseObject({
  operation_id: z.string(),
  sequence: z.number(),
  previous_status: z.string().nullable(),
  status: z.string(),
});

/** No project has more pages within days; a list that never ends must not hold the run. */
const PAGES_MAX = 500;

export async function listProjects(client: BridgeClient): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await client.read(get('/bridge/v1/projects', { limit: 100, cursor }), projects);
    ids.push(...page.projects.map(({ project_id }) => project_id));
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return ids;
}

/** The upstream is read first, so that the bridge has had as much time as possible to see the same. */
export async function readProject(reading: Reading, projectId: string): Promise<ProjectView> {
  const upstream = await upstreamOperations(reading, projectId);
  const { tracked, watchedSince } = await trackedOperations(reading, projectId);
  const changed = tracked.filter(({ sequence }) => sequence > 0);
  const events: SeenEvent[] = [];
  for (const { id } of changed) events.push(...(await eventsOf(reading, projectId, id)));
  return { watchedSince, upstream, tracked, events };
}

async function upstreamOperations({ client, pace, since }: Reading, projectId: string) {
  const found: SeenOperation[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    await pace();
    const path = `/api/v2/projects/${encodeURIComponent(projectId)}/operations`;
    const page = await client.read(get(path, { limit: 100, cursor }), upstreamPage);
    found.push(...page.operations.filter(({ created_at }) => created_at >= since));
    const next = page.pagination?.cursor;
    const isOver = page.operations.some(({ created_at }) => created_at < since);
    if (isOver || next === undefined || next === cursor || page.operations.length === 0) break;
    cursor = next;
  }
  return found;
}

async function trackedOperations({ client, since }: Reading, projectId: string) {
  const tracked: TrackedOperation[] = [];
  let watchedSince: string | undefined;
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/operations`;
    const page = await client.read(get(path, { limit: 100, cursor }), trackedPage);
    const rows = page.operations.filter(({ created_at }) => created_at >= since);
    tracked.push(...rows.map(({ operation_id: id, ...row }) => ({ ...row, id })));
    watchedSince = page.watched_since;
    cursor = page.cursor;
    if (cursor === undefined || rows.length < page.operations.length) break;
  }
  return { tracked, watchedSince };
}

async function eventsOf({ client }: Reading, projectId: string, operationId: string) {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/operations/${encodeURIComponent(operationId)}`;
  const { operation } = await client.read(get(path, {}), history);
  return operation.history
    .filter(({ detail_type }) => detail_type === 'Operation State Changed')
    .map(({ detail }) => stateChanged.parse(detail));
}

function get(path: string, query: Readonly<Record<string, string | number | undefined>>) {
  return { method: 'GET', path, query };
}
