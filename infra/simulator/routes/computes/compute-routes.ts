/** Adds the routes of computes (specification "Computes"). */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/computes/compute-commands.ts';
import { DEFAULT_SETTINGS } from '../../world/state/compute.ts';
import type { Outcome } from '../../world/state/outcome.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import { inProject } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { startedRows } from '../rows.ts';
import { refusal, refuse, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { changeOf, newComputeSettings, settable } from './compute-body.ts';
import { endpointRow } from './endpoint-row.ts';

const createBody = z.object({
  endpoint: z.object({ ...settable, branch_id: z.string(), type: z.enum(['read_write', 'read_only']) }),
});
const updateBody = z.object({ endpoint: z.object({ ...settable, branch_id: z.string().optional() }) });
const ENDPOINTS_PATH = '/api/v2/projects/:project_id/endpoints';

export function addComputeRoutes(app: Hono<UpstreamEnv>): void {
  addReadingRoutes(app);
  addChangingRoutes(app);
  addLifecycleRoutes(app);
}

function addReadingRoutes(app: Hono<UpstreamEnv>): void {
  app.get(ENDPOINTS_PATH, (c) =>
    inProject(c, (project, nowMs) =>
      c.json({ endpoints: project.computes.map((compute) => endpointRow(compute, project, nowMs)) }),
    ),
  );
  app.get(`${ENDPOINTS_PATH}/:endpoint_id`, (c) =>
    inProject(c, (project, nowMs) => {
      const compute = commands.findCompute(project, endpointIdOf(c));
      if (compute === undefined) return refusal(c, 404, 'endpoint not found');
      return c.json({ endpoint: endpointRow(compute, project, nowMs) });
    }),
  );
}

function addChangingRoutes(app: Hono<UpstreamEnv>): void {
  app.post(ENDPOINTS_PATH, async (c) => {
    const parsed = await parseBody(c, createBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { branch_id, ...fields } = parsed.body.endpoint;
    return act(
      c,
      (project, nowMs) => {
        const config = newComputeSettings(fields, project);
        return commands.createEndpoint(project, { branch_id, config }, nowMs);
      },
      201,
    );
  });
  app.patch(`${ENDPOINTS_PATH}/:endpoint_id`, async (c) => {
    const parsed = await parseBody(c, updateBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { branch_id, ...fields } = parsed.body.endpoint;
    const endpointId = endpointIdOf(c);
    return act(c, (project, nowMs) => {
      const before = commands.findCompute(project, endpointId)?.config ?? DEFAULT_SETTINGS;
      const change = { branch_id, config: changeOf(fields, before) };
      return commands.updateEndpoint(project, { endpointId, change }, nowMs);
    });
  });
  app.delete(`${ENDPOINTS_PATH}/:endpoint_id`, (c) =>
    inProject(c, (project, nowMs) => {
      const outcome = commands.deleteEndpoint(project, endpointIdOf(c), nowMs);
      if (outcome.kind === 'refused') return refuse(c, outcome);
      if (outcome.value === 'already_deleted') return c.body(null, 204);
      return c.json(startedRow(outcome.value, project, nowMs));
    }),
  );
}

/** Restart, start and suspend each answer with the operations that they started. */
function addLifecycleRoutes(app: Hono<UpstreamEnv>): void {
  app.post(`${ENDPOINTS_PATH}/:endpoint_id/restart`, (c) =>
    act(c, (project, nowMs) => commands.restartEndpoint(project, endpointIdOf(c), nowMs)),
  );
  app.post(`${ENDPOINTS_PATH}/:endpoint_id/start`, (c) =>
    act(c, (project, nowMs) => commands.startEndpoint(project, endpointIdOf(c), nowMs)),
  );
  app.post(`${ENDPOINTS_PATH}/:endpoint_id/suspend`, (c) =>
    act(c, (project, nowMs) => commands.suspendEndpoint(project, endpointIdOf(c), nowMs)),
  );
}

function act(
  c: UpstreamContext,
  command: (project: ProjectState, nowMs: number) => Outcome<commands.Started>,
  status: 200 | 201 = 200,
): Response {
  return inProject(c, (project, nowMs) => {
    const outcome = command(project, nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json(startedRow(outcome.value, project, nowMs), status);
  });
}

function startedRow({ compute, operations }: commands.Started, project: ProjectState, nowMs: number) {
  return { endpoint: endpointRow(compute, project, nowMs), operations: startedRows(operations, nowMs) };
}

function endpointIdOf(c: UpstreamContext): string {
  return c.req.param('endpoint_id') ?? '';
}
