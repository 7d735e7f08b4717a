/** Adds the routes of the branches that computes stand on: list and create. */

import type { Hono } from 'hono';
import * as z from 'zod';
import type { Random } from '../../../../shared/runtime/random.ts';
import * as commands from '../../world/computes/compute-commands.ts';
import { drawBranchId } from '../../world/state/names.ts';
import type { ProjectState } from '../../world/state/project-state.ts';
import { endpointRow } from '../computes/endpoint-row.ts';
import { inProject } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { startedRows, wholeSeconds } from '../rows.ts';
import { refusal, type UpstreamEnv } from '../upstream-context.ts';

const branchBody = z.object({
  branch: z.object({ name: z.string().max(100).optional(), parent_id: z.string().optional() }).optional(),
  endpoints: z
    .array(z.object({ type: z.literal('read_write') }))
    .max(1)
    .optional(),
});

export function addBranchRoutes(app: Hono<UpstreamEnv>, { idDice }: { readonly idDice: Random }): void {
  app.get('/api/v2/projects/:project_id/branches', (c) =>
    inProject(c, (project) =>
      c.json({ branches: [...project.branchIds].map((id) => branchRow(project, id)) }),
    ),
  );
  app.post('/api/v2/projects/:project_id/branches', async (c) => {
    const parsed = await parseBody(c, branchBody);
    if (parsed.kind === 'refused') return parsed.response;
    return inProject(c, (project, nowMs) => {
      const branch_id = drawBranchId(idDice);
      const withCompute = (parsed.body.endpoints ?? []).length > 0;
      const outcome = commands.createBranch(project, { branch_id, withCompute }, nowMs);
      if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
      const { compute, operations } = outcome.value;
      return c.json(
        {
          branch: branchRow(project, branch_id, parsed.body.branch?.name),
          endpoints: compute === undefined ? [] : [endpointRow(compute, project.id, nowMs)],
          operations: startedRows(operations, nowMs),
        },
        201,
      );
    });
  });
}

/** Shows only those fields of the public contract's branch that a caller needs to place a compute. */
function branchRow(project: ProjectState, id: string, name = id): object {
  const [first] = project.branchIds;
  const createdMs = project.computes.find(({ branch_id }) => branch_id === id)?.createdAtMs;
  const created_at = wholeSeconds(createdMs ?? project.created_at_ms);
  return { id, project_id: project.id, name, default: id === first, created_at, updated_at: created_at };
}
