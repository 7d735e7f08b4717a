/** Reads the simulated service's world without HTTP, with the form and the order of its own lists. */

import type { WorldOperation } from '../../infra/simulator/world/project-state.ts';
import type { World } from '../../infra/simulator/world/world.ts';
import type { Operation } from '../../shared/records/operation-record.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { cursorOf, microsecondsOf } from './upstream-model.ts';

export function createServiceClient(service: World, now: () => number): UpstreamClient {
  const projectOf = (projectId: string) => {
    service.advanceTo(now());
    const project = service.project(projectId);
    if (project === undefined) throw notFound();
    return project;
  };
  return {
    async listProjects() {
      service.advanceTo(now());
      const projects = service.projects();
      return {
        projects: projects.map(({ id, created_at_ms }) => ({ id, created_at: wholeSeconds(created_at_ms) })),
        malformedRowCount: 0,
        cursor: projects.at(-1)?.id,
        unavailableProjectIds: [],
        serverDateMs: now(),
      };
    },
    async listOperations({ projectId, limit = 1_000, cursor }) {
      const belowUs = cursor === undefined ? Number.POSITIVE_INFINITY : microsecondsOf(cursor);
      const rows = projectOf(projectId)
        .operations.filter(({ created_us }) => created_us / 1_000 <= now() && created_us < belowUs)
        .toSorted((a, b) => b.created_us - a.created_us)
        .slice(0, limit);
      const last = rows.at(-1);
      return {
        operations: rows.map((row) => rowOf(row, now())),
        malformedRowCount: 0,
        cursor: last && cursorOf(last.created_us),
        serverDateMs: now(),
      };
    },
    listRunningComputes: async () => [],
    async getOperation({ projectId, operationId }) {
      const found = projectOf(projectId).operations.find(({ id }) => id === operationId);
      if (found === undefined) throw notFound();
      return rowOf(found, now());
    },
  };
}

function rowOf({ states, created_us, ...row }: WorldOperation, nowMs: number): Operation {
  const state = states.findLast(({ at_ms }) => at_ms <= nowMs) ?? states[0];
  return {
    id: row.id,
    project_id: row.project_id,
    action: row.action,
    ...(row.branch_id !== undefined && { branch_id: row.branch_id }),
    ...(row.endpoint_id !== undefined && { endpoint_id: row.endpoint_id }),
    status: state?.status ?? '',
    failures_count: state?.failures_count ?? 0,
    created_at: wholeSeconds(created_us / 1_000),
    updated_at: wholeSeconds(state?.at_ms ?? 0),
  };
}

export function wholeSeconds(epochMs: number): string {
  return `${new Date(Math.floor(epochMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}

function notFound(): UpstreamError {
  return new UpstreamError({ kind: 'not_found', method: 'GET', path: '/simulated', message: 'not found' });
}
