/** Adds the routes that share a project with people of other organizations (public contract). */

import type { Hono } from 'hono';
import * as z from 'zod';
import type { Random } from '../../../../shared/runtime/random.ts';
import { grantPermission, revokePermission } from '../../world/projects/permissions.ts';
import { drawUuid } from '../../world/state/names.ts';
import type { Permission, ProjectState } from '../../world/state/project-state.ts';
import { inProject, outsideScope } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { wholeSeconds } from '../rows.ts';
import { refuse, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';

const PERMISSIONS_PATH = '/api/v2/projects/:project_id/permissions';
const grantBody = z.object({ email: z.email() });

export function addPermissionRoutes(app: Hono<UpstreamEnv>, deps: { readonly idDice: Random }): void {
  app.get(PERMISSIONS_PATH, (c) =>
    inOwnProject(c, ({ permissions }) =>
      c.json({ project_permissions: permissions.map((permission) => permissionRow(permission)) }),
    ),
  );
  app.post(PERMISSIONS_PATH, async (c) => {
    const parsed = await parseBody(c, grantBody);
    if (parsed.kind === 'refused') return parsed.response;
    return inOwnProject(c, (project, nowMs) => {
      const permission = { id: drawUuid(deps.idDice), email: parsed.body.email };
      const outcome = grantPermission(project, permission, nowMs);
      return outcome.kind === 'refused' ? refuse(c, outcome) : c.json(permissionRow(outcome.value));
    });
  });
  app.delete(`${PERMISSIONS_PATH}/:permission_id`, (c) =>
    inOwnProject(c, (project, nowMs) => {
      const outcome = revokePermission(project, c.req.param('permission_id'), nowMs);
      return outcome.kind === 'refused' ? refuse(c, outcome) : c.json(permissionRow(outcome.value));
    }),
  );
}

/** A key that is scoped to a project does not decide who reaches it. */
function inOwnProject(c: UpstreamContext, act: (project: ProjectState, nowMs: number) => Response): Response {
  const { projectId: scope } = c.get('principal');
  return scope === undefined ? inProject(c, act) : outsideScope(c, scope);
}

function permissionRow({ id, email, grantedAtMs, revokedAtMs }: Permission): object {
  return {
    id,
    granted_to_email: email,
    granted_at: wholeSeconds(grantedAtMs),
    ...(revokedAtMs !== undefined && { revoked_at: wholeSeconds(revokedAtMs) }),
  };
}
