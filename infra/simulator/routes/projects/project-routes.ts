/** Adds the routes of projects: list, list shared ones, create, get, update, delete. */

import type { Hono } from 'hono';
import type { Random } from '../../../../shared/runtime/random.ts';
import type { FaultDials } from '../../faults/faults.ts';
import { deleteProject, updateProject } from '../../world/projects/change-project.ts';
import { createProject } from '../../world/projects/create-project.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import type { World } from '../../world/world.ts';
import { branchRow } from '../branches/branch-row.ts';
import { endpointRow } from '../computes/endpoint-row.ts';
import { contentRows } from '../databases/content-rows.ts';
import {
  findOrganizationId,
  findProject,
  inProject,
  isOwn,
  isVisible,
  outsideScope,
} from '../find-project.ts';
import { projectPage } from '../pages.ts';
import { parseBody } from '../request-body.ts';
import { projectDetailRow, projectRow, startedRows } from '../rows.ts';
import { refusal, refuse, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { createProjectBody, newProjectOf, projectChangeOf, updateProjectBody } from './project-body.ts';

const PROJECTS_PATH = '/api/v2/projects';
const PROJECT_PATH = `${PROJECTS_PATH}/:project_id`;

export interface ProjectRouteDeps {
  readonly world: World;
  readonly faults: FaultDials;
  /** Draws faults only. */
  readonly random: Random;
}

export function addProjectRoutes(app: Hono<UpstreamEnv>, deps: ProjectRouteDeps): void {
  app.get(PROJECTS_PATH, (c) => list(deps, c));
  app.get(`${PROJECTS_PATH}/shared`, (c) => listShared(deps, c));
  app.post(PROJECTS_PATH, (c) => create(deps, c));
  app.get(PROJECT_PATH, (c) =>
    inProject(c, (project, nowMs) => c.json({ project: projectDetailRow(project, nowMs) })),
  );
  app.patch(PROJECT_PATH, (c) => update(c));
  app.delete(PROJECT_PATH, (c) => remove(deps, c));
}

function list({ world, faults, random }: ProjectRouteDeps, c: UpstreamContext): Response {
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  const organizationId = c.req.query('org_id');
  if (organizationId !== undefined) {
    const found = findOrganizationId(c, organizationId);
    if (found instanceof Response) return found;
  }
  const visible = world
    .projects()
    .filter(
      (project) =>
        isOwn(c, project) &&
        (organizationId === undefined || project.settings.organizationId === organizationId),
    );
  const page = projectPage(visible, c.req.query());
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const { items, cursor } = page;
  // After the service's time-out a list is incomplete and names the projects that it lacks (public contract).
  const isPartial = items.length > 1 && random.next() < faults.partialProjects;
  const shown = isPartial ? items.slice(1) : items;
  return c.json({
    projects: shown.map((project) => projectRow(project, world.nowMs)),
    ...(isPartial && { unavailable_project_ids: items.slice(0, 1).map(({ id }) => id) }),
    ...(cursor !== undefined && { pagination: { cursor } }),
    applications: {},
    integrations: {},
  });
}

/** Lists the projects of other organizations that were shared with the caller. */
function listShared({ world }: ProjectRouteDeps, c: UpstreamContext): Response {
  const { kind, projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  if (kind !== 'personal') return refusal(c, 404, 'not allowed for organization API keys');
  const shared = world.projects().filter((project) => isVisible(c, project) && !isOwn(c, project));
  const page = projectPage(shared, c.req.query());
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const { items, cursor } = page;
  return c.json({
    projects: items.map((project) => projectRow(project, world.nowMs)),
    ...(cursor !== undefined && { pagination: { cursor } }),
  });
}

async function create({ world }: ProjectRouteDeps, c: UpstreamContext): Promise<Response> {
  const parsed = await parseBody(c, createProjectBody);
  if (parsed.kind === 'refused') return parsed.response;
  const { projectId: scope } = c.get('principal');
  if (scope !== undefined) return outsideScope(c, scope);
  const organizationId = findOrganizationId(c, parsed.body.project.org_id);
  if (organizationId instanceof Response) return organizationId;
  const { nowMs } = world;
  const outcome = createProject(newProjectOf(parsed.body, organizationId), nowMs, world);
  if (outcome.kind === 'refused') return refuse(c, outcome);
  const { project, operations } = outcome.value;
  return c.json(
    {
      project: projectDetailRow(project, nowMs),
      operations: startedRows(operations, nowMs),
      ...firstBranchRows(project, nowMs),
    },
    201,
  );
}

function firstBranchRows(project: ProjectState, nowMs: number): object {
  const branch = project.branches.get(project.defaultBranchId);
  if (branch === undefined) return {};
  return {
    connection_uris: [],
    ...contentRows(project, branch, nowMs),
    branch: branchRow(project, branch, nowMs),
    endpoints: project.computes.map((compute) => endpointRow(compute, project, nowMs)),
  };
}

async function update(c: UpstreamContext): Promise<Response> {
  const parsed = await parseBody(c, updateProjectBody);
  if (parsed.kind === 'refused') return parsed.response;
  return inProject(c, (project, nowMs) => {
    const outcome = updateProject(project, projectChangeOf(parsed.body, project.settings), nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json({
      project: projectDetailRow(project, nowMs),
      operations: startedRows(outcome.value, nowMs),
    });
  });
}

/** A project that was deleted before answers 200 again (observed). */
function remove({ world }: ProjectRouteDeps, c: UpstreamContext): Response {
  const projectId = c.req.param('project_id') ?? '';
  const { projectId: scope } = c.get('principal');
  if (scope === projectId) return refusal(c, 403, 'project-scoped API keys cannot delete the project');
  const project = findProject(c, projectId, world.projectEvenDeleted);
  if (project instanceof Response) return project;
  const outcome = deleteProject(project, world.nowMs);
  if (outcome.kind === 'refused') return refuse(c, outcome);
  return c.json({ project: projectDetailRow(project, world.nowMs) });
}
