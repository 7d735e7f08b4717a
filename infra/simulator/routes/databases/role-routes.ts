/** Adds the routes of roles: list, create, get, delete, and the two calls of a password. */

import type { Hono } from 'hono';
import * as z from 'zod';
import type { ContentChange, ContentPlace } from '../../world/databases/change-content.ts';
import * as commands from '../../world/databases/role-commands.ts';
import { contentAt, type Role } from '../../world/state/branch-content.ts';
import type { Outcome } from '../../world/state/outcome.ts';
import { inBranch } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { startedRows } from '../rows.ts';
import { refusal, refuse, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { roleRow } from './content-rows.ts';
import { postgresName } from './postgres-name.ts';

const ROLES_PATH = '/api/v2/projects/:project_id/branches/:branch_id/roles';
const ROLE_PATH = `${ROLES_PATH}/:role_name`;
const createBody = z.object({ role: z.object({ name: postgresName, no_login: z.boolean().optional() }) });

export function addRoleRoutes(app: Hono<UpstreamEnv>): void {
  addReadingRoutes(app);
  app.post(ROLES_PATH, async (c) => {
    const parsed = await parseBody(c, createBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { name, no_login = false } = parsed.body.role;
    return act(c, (place) => commands.createRole(place, { name, canLogIn: !no_login }), {
      status: 201,
      showsPassword: true,
    });
  });
  app.post(`${ROLE_PATH}/reset_password`, (c) =>
    act(c, (place) => commands.resetPassword(place, roleNameOf(c)), { status: 200, showsPassword: true }),
  );
  app.delete(ROLE_PATH, (c) =>
    act(c, (place) => commands.deleteRole(place, roleNameOf(c)), { status: 200, showsPassword: false }),
  );
}

function addReadingRoutes(app: Hono<UpstreamEnv>): void {
  app.get(ROLES_PATH, (c) =>
    inBranch(c, ({ branch, nowMs }) => {
      const { roles } = contentAt(branch.contents, nowMs);
      return c.json({ roles: roles.map((role) => roleRow(branch.id, role)) });
    }),
  );
  app.get(ROLE_PATH, (c) =>
    inBranch(c, (place) => {
      const role = commands.findRole(place, roleNameOf(c));
      if (role === undefined) return refusal(c, 404, 'role not found');
      return c.json({ role: roleRow(place.branch.id, role) });
    }),
  );
  app.get(`${ROLE_PATH}/reveal_password`, (c) =>
    inBranch(c, (place) => {
      const outcome = commands.revealPassword(place, roleNameOf(c));
      return outcome.kind === 'refused' ? refuse(c, outcome) : c.json({ password: outcome.value });
    }),
  );
}

function act(
  c: UpstreamContext,
  command: (place: ContentPlace) => Outcome<ContentChange<Role> | 'already_deleted'>,
  { status, showsPassword }: { readonly status: 200 | 201; readonly showsPassword: boolean },
): Response {
  return inBranch(c, (place) => {
    const outcome = command(place);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    if (outcome.value === 'already_deleted') return c.body(null, 204);
    const { item, operations } = outcome.value;
    const role = roleRow(place.branch.id, item, showsPassword);
    return c.json({ role, operations: startedRows(operations, place.nowMs) }, status);
  });
}

function roleNameOf(c: UpstreamContext): string {
  return c.req.param('role_name') ?? '';
}
