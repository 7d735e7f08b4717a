/** Adds the route of connection strings. */

import type { Hono } from 'hono';
import * as z from 'zod';
import { findDatabase } from '../../world/databases/database-commands.ts';
import { findRole } from '../../world/databases/role-commands.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import { inProject } from '../find-project.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { connectionUri, hostOf } from './connection.ts';

const query = z.object({
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  database_name: z.string({ error: 'field required' }),
  role_name: z.string({ error: 'field required' }),
  pooled: z.enum(['true', 'false']).optional(),
});

export function addConnectionRoutes(app: Hono<UpstreamEnv>): void {
  app.get('/api/v2/projects/:project_id/connection_uri', (c) =>
    inProject(c, (project, nowMs) => {
      const parsed = query.safeParse(c.req.query());
      if (parsed.success) return connect(c, { project, nowMs }, parsed.data);
      const [issue] = parsed.error.issues;
      return refusal(c, 400, `invalid request: ${issue?.path.join('.')}: ${issue?.message}`);
    }),
  );
}

/** The default branch and its read-write compute stand in for what the query leaves out (public contract). */
function connect(
  c: UpstreamContext,
  { project, nowMs }: { readonly project: ProjectState; readonly nowMs: number },
  named: z.output<typeof query>,
): Response {
  const byId = project.computes.find(({ endpoint_id }) => endpoint_id === named.endpoint_id);
  const branchId = named.branch_id ?? byId?.branch_id ?? project.defaultBranchId;
  const branch = project.branches.get(branchId);
  if (branch === undefined) return refusal(c, 404, 'branch not found');
  const compute = project.computes.find(
    ({ branch_id, endpoint_id, config }) =>
      branch_id === branchId &&
      (named.endpoint_id === undefined ? config.type === 'read_write' : endpoint_id === named.endpoint_id),
  );
  if (compute === undefined) return refusal(c, 404, 'endpoint not found');
  const place = { project, branch, nowMs };
  const role = findRole(place, named.role_name);
  if (role === undefined) return refusal(c, 404, 'role not found');
  if (findDatabase(place, named.database_name) === undefined) return refusal(c, 404, 'database not found');
  const host = hostOf(project, compute, named.pooled === 'true');
  return c.json({ uri: connectionUri(host, role, named.database_name) });
}
