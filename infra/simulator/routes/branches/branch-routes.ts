/** Adds the routes of branches: list, count, get, create, update, restore, set as default, delete. */

import type { Hono } from 'hono';
import { createBranch } from '../../world/branches/create-branch.ts';
import { type DeletedBranch, deleteBranch } from '../../world/branches/delete-branch.ts';
import { restoreBranch } from '../../world/branches/restore-branch.ts';
import { setDefaultBranch, updateBranch } from '../../world/branches/update-branch.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import { endpointRow } from '../computes/endpoint-row.ts';
import { contentRows } from '../databases/content-rows.ts';
import { inBranch, inProject } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { startedRows } from '../rows.ts';
import { refusal, refuse, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { createBranchBody, msOf, newBranchOf, restoreBranchBody, updateBranchBody } from './branch-body.ts';
import { branchPage, filterBranches } from './branch-page.ts';
import { annotationRow, branchRow } from './branch-row.ts';

const BRANCHES_PATH = '/api/v2/projects/:project_id/branches';
const BRANCH_PATH = `${BRANCHES_PATH}/:branch_id`;

export function addBranchRoutes(app: Hono<UpstreamEnv>): void {
  addReadingRoutes(app);
  app.post(BRANCHES_PATH, (c) => create(c));
  app.patch(BRANCH_PATH, (c) => update(c));
  app.post(`${BRANCH_PATH}/restore`, (c) => restore(c));
  app.post(`${BRANCH_PATH}/set_as_default`, (c) =>
    inProject(c, (project, nowMs) => {
      const outcome = setDefaultBranch(project, branchIdOf(c), nowMs);
      if (outcome.kind === 'refused') return refuse(c, outcome);
      return c.json(branchAnswer(project, { branch: outcome.value, operations: [] }, nowMs));
    }),
  );
  app.delete(BRANCH_PATH, (c) =>
    inProject(c, (project, nowMs) => {
      const outcome = deleteBranch(project, branchIdOf(c), nowMs);
      if (outcome.kind === 'refused') return refuse(c, outcome);
      if (outcome.value === 'already_deleted') return c.body(null, 204);
      return c.json(branchAnswer(project, outcome.value, nowMs));
    }),
  );
}

function addReadingRoutes(app: Hono<UpstreamEnv>): void {
  app.get(BRANCHES_PATH, (c) =>
    inProject(c, (project, nowMs) => {
      const page = branchPage(project.branches.values(), c.req.query());
      if (page.kind === 'invalid') return refusal(c, 400, page.message);
      const annotated = page.branches.filter(({ annotation }) => Object.keys(annotation).length > 0);
      return c.json({
        branches: page.branches.map((branch) => branchRow(project, branch, nowMs)),
        annotations: Object.fromEntries(annotated.map((branch) => [branch.id, annotationRow(branch)])),
        pagination: page.pagination,
      });
    }),
  );
  app.get(`${BRANCHES_PATH}/count`, (c) =>
    inProject(c, ({ branches }) =>
      c.json({ count: filterBranches(branches.values(), c.req.query('search')).length }),
    ),
  );
  app.get(BRANCH_PATH, (c) =>
    inBranch(c, ({ project, branch, nowMs }) =>
      c.json({ branch: branchRow(project, branch, nowMs), annotation: annotationRow(branch) }),
    ),
  );
  app.get(`${BRANCH_PATH}/endpoints`, (c) =>
    inBranch(c, ({ project, branch, nowMs }) => {
      const computes = project.computes.filter(({ branch_id }) => branch_id === branch.id);
      return c.json({ endpoints: computes.map((compute) => endpointRow(compute, project, nowMs)) });
    }),
  );
}

async function create(c: UpstreamContext): Promise<Response> {
  const parsed = await parseBody(c, createBranchBody);
  if (parsed.kind === 'refused') return parsed.response;
  return inProject(c, (project, nowMs) => {
    const outcome = createBranch(project, newBranchOf(parsed.body, project), nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    const { branch, computes, operations } = outcome.value;
    return c.json(
      {
        branch: branchRow(project, branch, nowMs),
        endpoints: computes.map((compute) => endpointRow(compute, project, nowMs)),
        operations: startedRows(operations, nowMs),
        ...contentRows(project, branch, nowMs),
      },
      201,
    );
  });
}

async function update(c: UpstreamContext): Promise<Response> {
  const parsed = await parseBody(c, updateBranchBody);
  if (parsed.kind === 'refused') return parsed.response;
  const { name, protected: isProtected, expires_at } = parsed.body.branch;
  const expiresAtMs = expires_at === null ? null : msOf(expires_at);
  return inProject(c, (project, nowMs) => {
    const change = { name, isProtected, expiresAtMs };
    const outcome = updateBranch(project, { branchId: branchIdOf(c), change }, nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json(branchAnswer(project, { branch: outcome.value, operations: [] }, nowMs));
  });
}

async function restore(c: UpstreamContext): Promise<Response> {
  const parsed = await parseBody(c, restoreBranchBody);
  if (parsed.kind === 'refused') return parsed.response;
  const { source_branch_id, source_lsn, source_timestamp, preserve_under_name } = parsed.body;
  return inProject(c, (project, nowMs) => {
    const request = {
      branchId: branchIdOf(c),
      sourceId: source_branch_id,
      point: { lsn: source_lsn, timeMs: msOf(source_timestamp) },
      preserveUnderName: preserve_under_name,
    };
    const outcome = restoreBranch(project, request, nowMs);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    return c.json(branchAnswer(project, outcome.value, nowMs));
  });
}

function branchAnswer(project: ProjectState, { branch, operations }: DeletedBranch, nowMs: number): object {
  return { branch: branchRow(project, branch, nowMs), operations: startedRows(operations, nowMs) };
}

function branchIdOf(c: UpstreamContext): string {
  return c.req.param('branch_id') ?? '';
}
